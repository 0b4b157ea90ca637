//! Step 9: the Graphite HTTP API.
//!
//! A request is read into a [`call::Call`] (query string and form body are one), its blocking part runs on
//! [`workers::Workers`] with a deadline, and [`error::Failure`] alone knows the status codes. There is one file per endpoint. A
//! request goes through the [`gate::Gate`], and its handler sees what the gate gives it. The API reaches the server only through [`Backend`], so tests run it over real sockets with a fake one.

mod answer;
mod backend;
mod backup;
pub mod browser;
mod bundles;
mod call;
mod carbonapi;
mod cardinality;
mod care;
mod catalog;
mod ceres;
mod clock;
mod connections;
mod copying;
mod document;
mod endpoints;
mod erase;
mod error;
mod events;
mod expand;
mod find;
mod fsck;
mod functions;
mod gate;
mod guards;
mod index;
mod info;
mod intake;
mod kairosdb;
mod labelled;
mod local;
mod memos;
mod opentsdb;
pub mod outside;
mod params;
mod pieces;
mod queries;
mod quotas;
mod reference;
mod render;
mod reply;
mod request_line;
mod retention;
mod router;
mod serve;
mod session;
mod tab;
mod tags;
mod tenancy;
mod top;
mod trace;
mod transfer;
mod turns;
mod unpacked;
mod wire;
mod workers;
mod write;

#[cfg(test)]
mod tests;

pub use backend::{Backend, EventLog, NameStream, Node, TaggedSeries, Visitor};
pub use backup::{BackedUp, BackupError, BackupState, Backups};
pub use bundles::{ImportOptions, Imported, Moving};
pub use care::{Care, Cleaned, Deleted, Description, Renamed, Repaired, Stats, Usage};
pub use catalog::{Catalog, CatalogQuery, months};
pub use copying::CopiedMetric;
pub use erase::{DeletedRange, DeletedSlots};
pub use fsck::Checked;
pub use labelled::{Labelled, Wanted};
pub use memos::Memos;
pub use reference::endpoint_tables;
pub use retention::{PolicyMove, Reloaded, RetentionPlan};
pub use serve::{Listeners, Service, serve};

use std::sync::Arc;

use jiff::tz::TimeZone;

use crate::auth::Sender;
use crate::config;
use crate::telemetry::Telemetry;
use workers::Workers;

/// The last component of a path.
fn last_component(path: &str) -> &str {
    let begin = memchr::memrchr(b'.', path.as_bytes()).map_or(0, |dot| dot + 1);
    path.get(begin..).unwrap_or(path)
}

/// What all handlers share.
struct Api {
    backend: Arc<dyn Backend>,
    config: Arc<config::Query>,
    kairosdb: Arc<config::Kairosdb>,
    ceres: Arc<config::Ceres>,
    telemetry: Arc<Telemetry>,
    workers: Workers,
    timezone: TimeZone,
}

impl Api {
    /// The same for one caller.
    fn of(&self, sender: &Sender) -> Self {
        Self {
            backend: Arc::clone(&self.backend).of(sender),
            config: Arc::clone(&self.config),
            kairosdb: Arc::clone(&self.kairosdb),
            ceres: Arc::clone(&self.ceres),
            telemetry: Arc::clone(&self.telemetry),
            workers: self.workers.clone(),
            timezone: self.timezone.clone(),
        }
    }
}
