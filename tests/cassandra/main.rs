//! The Cassandra store against a real node.
//!
//! The node is the one that `TEST_CASSANDRA` names (`host:port`), else the one of `scripts/cassandra`, which is started when
//! it does not run. Every test has keyspaces of its own.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should say where and stop")]

#[path = "../server/dice.rs"]
mod dice;
#[path = "../server/harness.rs"]
mod harness;
#[path = "../server/proxy.rs"]
mod proxy;

mod backup;
mod clock;
mod commands;
mod conformance;
mod connect;
mod doors;
mod ecosystem;
mod faults;
mod kairosdb;
mod lease;
#[path = "../server/meeting.rs"]
mod meeting;
mod names;
mod network;
mod node;
mod odd_rows;
mod older;
mod operate;
mod policies;
#[path = "../server/protobuf.rs"]
mod protobuf;
mod quotas;
mod ranges;
mod replicas;
mod running;
mod schema;
mod secure;
mod servers;
#[path = "../server/skip.rs"]
mod skip;
mod tables;
