//! Where metrics come from or go to: the store itself, or a server that has it open.

use std::ops::ControlFlow;

use anyhow::{Context as _, Result, anyhow};
use serde_json::Value;

use super::remote::Server;
use super::{open, open_or_make};
use crate::bundle::{Bundle, Bundles, encode};
use crate::config::Config;
use crate::http::{Care, ImportOptions, Imported, Moving as _};
use crate::server::Engine;
use plumbago_model::Cancel;

/// An open store, or the server in front of one.
pub(super) enum Door {
    /// The store of the configuration, which no server uses.
    Store(Box<Engine>),
    /// A running server.
    Server(Server),
}

impl Door {
    /// For reading: a store that is not there is not made.
    pub(super) fn out(config: &Config, url: Option<&str>) -> Result<Self> {
        Self::through(config, url, open)
    }

    /// For writing: a store that is not there is made.
    pub(super) fn into(config: &Config, url: Option<&str>) -> Result<Self> {
        Self::through(config, url, open_or_make)
    }

    fn through(
        config: &Config,
        url: Option<&str>,
        open: impl FnOnce(&Config) -> Result<Option<Engine>>,
    ) -> Result<Self> {
        if let Some(url) = url {
            return Ok(Self::Server(Server::at(url)?));
        }
        Ok(match open(config)? {
            Some(engine) => Self::Store(Box::new(engine)),
            None => Self::Server(Server::of(config)?),
        })
    }

    /// For messages and the journal.
    pub(super) fn name(&self) -> String {
        match self {
            Self::Store(engine) => format!("the store at {}", engine.config.store.path.display()),
            Self::Server(server) => format!("the server at {}", server.name()),
        }
    }

    /// Takes metrics. What it says is taken is durable.
    pub(super) fn import(&self, bundles: Vec<Bundle>, options: ImportOptions) -> Result<Imported> {
        let server = match self {
            Self::Store(engine) => return Ok(engine.import(bundles, options)?),
            Self::Server(server) => server,
        };
        let mut body = Vec::new();
        bundles.iter().for_each(|bundle| encode(bundle, &mut body));
        drop(bundles);
        let (from, until) = (options.window.0.to_string(), options.window.1.to_string());
        let keep = if options.keep_policy { "1" } else { "0" };
        let params = [("keep_policy", keep), ("from", &*from), ("until", &*until)];
        let answer = server.post("/internal/import", &params, &body)?;
        imported(&answer).context("the server's answer says nothing of what it took")
    }

    /// All is imported: a store on a cluster delivers it now, as its server would in the background.
    pub(super) fn hand_over(&self) -> Result<()> {
        match self {
            Self::Store(engine) => engine.hand_over().map_err(|why| anyhow!("{}: {why}", self.name())),
            Self::Server(_) => Ok(()),
        }
    }

    /// The names of all metrics that a glob matches; `;tag=GLOB` behind it means tagged ones.
    pub(super) fn names(&self, query: &str) -> Result<Vec<String>> {
        match self {
            Self::Store(engine) => Ok(Care::names(&**engine, query, &Cancel::never())?),
            Self::Server(server) => {
                let answer = server.get("/internal/names", &[("query", query)])?;
                serde_json::from_slice(&answer).context("the server's list of names")
            }
        }
    }

    /// Visits metrics with all they have.
    pub(super) fn export(
        &self,
        names: &[String],
        window: (u32, u32),
        mut visit: impl FnMut(Bundle) -> Result<()>,
    ) -> Result<()> {
        match self {
            Self::Store(engine) => {
                let names: Vec<&str> = names.iter().map(String::as_str).collect();
                let mut outcome = Ok(());
                engine.export(&names, window, &mut |bundle| {
                    outcome = visit(bundle);
                    if outcome.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
                })?;
                outcome
            }
            Self::Server(server) => export_from(server, names, window, &mut visit),
        }
    }
}

/// Asks for some names at a time. The server answers for as many of them as fit into one answer.
fn export_from(
    server: &Server,
    names: &[String],
    (from, until): (u32, u32),
    visit: &mut dyn FnMut(Bundle) -> Result<()>,
) -> Result<()> {
    const ASKED: usize = 2000;
    let (from, until) = (from.to_string(), until.to_string());
    let mut left = names;
    while !left.is_empty() {
        let asked = left.get(..ASKED).unwrap_or(left);
        let params = [("from", &*from), ("until", &*until)];
        let answer = server.post("/internal/export", &params, asked.join("\n").as_bytes())?;
        let mut last = None;
        for bundle in Bundles::new(&*answer) {
            let bundle = bundle?;
            last = Some(bundle.name.clone());
            visit(bundle)?;
        }
        // What comes before the last answered name is answered or gone. Without an answer all that were asked for are gone.
        let done = last.and_then(|last| asked.iter().position(|name| *name == last));
        left = left.get(done.map_or(asked.len(), |at| at + 1)..).unwrap_or_default();
    }
    Ok(())
}

fn imported(answer: &[u8]) -> Option<Imported> {
    let answer: Value = serde_json::from_slice(answer).ok()?;
    let number = |key: &str| answer[key].as_u64();
    let text = |value: &Value| Some(value.as_str()?.to_owned());
    let refused = answer["refused"].as_array()?.iter();
    Some(Imported {
        metrics: number("metrics")?,
        created: number("created")?,
        points: number("points")?,
        aggregates: number("aggregates")?,
        there: number("there")?,
        refused: refused.filter_map(|item| Some((text(&item["name"])?, text(&item["why"])?))).collect(),
    })
}
