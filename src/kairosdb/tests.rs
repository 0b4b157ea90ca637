//! What KairosDB documents, and its aggregators compared with plain, slow ones.

mod model;
mod reading;
mod results;
