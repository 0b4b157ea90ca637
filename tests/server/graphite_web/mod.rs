//! graphite-web 1.1.10 in front of the real binary: by the plug-in of graphite-web-plugin/, and as the head of a cluster.

mod answers;
mod cache_query;
mod cluster;
pub(crate) mod metrics;
pub(crate) mod page;
mod plugin;
mod python;
pub(crate) mod web;
