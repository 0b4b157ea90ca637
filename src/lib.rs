//! Plumbago: a Graphite-compatible metrics server with a hierarchical metric index.
//!
//! # Layout
//!
//! The folders are the pipeline, in the order a point and then a query pass through them:
//!
//! | step | module      | what happens                                                        |
//! |------|-------------|---------------------------------------------------------------------|
//! | –    | [`config`]  | TOML, flags, environment and carbon's own files become one `Config` |
//! | –    | [`auth`]    | who calls, what they may do, and to which metrics                   |
//! | 1    | [`receive`] | sockets: bytes arrive, limits and back-pressure, no meaning         |
//! | 2    | [`parse`]   | bytes become points: carbon plaintext and pickle, no I/O            |
//! | 2½   | [`rules`]   | names are refused, renamed and gathered, where somebody asks for it |
//! | 3    | [`resolve`] | a name becomes a metric id, created at first sight                  |
//! | 3½   | [`quotas`]  | what is over a quota is refused, where somebody asks for it         |
//! | 4    | [`rollup`]  | points go through the log into memory, are cut into stages, and aggregated |
//! | 5    | [`log`]     | its write-ahead log: what was accepted survives a crash             |
//! | –    | [`disk`]    | the file layer below log and store                                  |
//! | 6    | [`store`]   | the seam, and behind it the embedded store and a cluster            |
//! | 7    | [`index`]   | globs become metrics                                                |
//! | 8    | [`graphite_render`] | targets become series: grammar, functions, output formats, in a crate of its own |
//! | 9    | [`kairosdb`]| KairosDB's queries as values: aggregators and groups, no I/O        |
//! | 10   | [`http`]    | the HTTP APIs of Graphite and its neighbours                        |
//!
//! [`bundle`] is everything kept of one metric, on its way between stores, servers and files. [`whisper`] reads and writes Graphite's files, [`kairosdb`] knows KairosDB's. [`plumbago_model`] has the nouns all of them speak in. [`planted`] has the bugs that tests put in on purpose. [`server`] wires all of it; [`cli`] is the command line. `tests/architecture.rs` checks who may use whom.

pub mod config;

pub mod certificate;

pub mod auth;

pub mod receive;

pub mod parse;

pub mod rules;

pub mod quotas;

pub mod resolve;

pub mod rollup;

pub mod log;

pub mod disk;

pub mod store;

pub mod index;

pub mod bundle;

pub mod kairosdb;

pub mod http;

pub mod server;

pub mod telemetry;

pub mod planted;

pub mod pem;

pub mod whisper;

pub mod cli;
