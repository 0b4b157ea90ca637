//! graphite-web 1.1.10 in front of the real binary: by the plug-in of graphite-web-plugin/, and as the head of a cluster.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should say where and stop")]

mod cache_query;
mod cluster;
#[path = "../server/harness.rs"]
mod harness;
mod metrics;
mod page;
mod plugin;
mod python;
#[path = "../server/skip.rs"]
mod skip;
mod web;
