//! What KairosDB documents, and its aggregators compared with plain, slow ones.

mod features;
mod model;
mod reading;
mod results;
