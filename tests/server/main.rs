//! The real binary over real sockets: carbon protocols in, HTTP out.
//!
//! One test binary, a file per subject; each test starts a server of its own on free ports and an empty directory.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should say where and stop")]

mod agents;
mod auth;
mod backup;
mod bad_input;
mod between;
mod browse;
mod browser;
mod carbonapi;
mod ceres;
mod clients;
mod command;
mod counters;
mod damage;
mod dashboard;
mod described;
mod dice;
mod disk_full;
mod events;
mod examples;
mod expiry;
mod failure;
mod grafana;
mod grafana_kairosdb;
mod graphite_web;
mod harness;
mod image;
mod ingest;
mod kairosdb;
mod kairosdb_query;
mod kill9;
mod live;
mod logins;
mod manual;
mod meeting;
mod memory;
mod moving;
mod network;
mod notify;
mod old_data;
mod opentsdb;
mod operate;
mod outage;
mod overload;
mod package;
mod protobuf;
mod proxy;
mod queries;
mod quotas;
mod read;
mod relay;
mod reload;
mod rename;
mod restart;
mod rules;
mod scopes;
mod skip;
mod surface;
mod tags;
mod tenants;
mod terminal;
mod tls;
mod top;
