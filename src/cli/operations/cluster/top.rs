//! `top` on a cluster: the tables say what is new and what is read, and a running server what it receives.

use anyhow::Result;

use super::super::remote::Server;
use super::super::{meter, top as ranked};
use super::names;
use crate::config::Config;
use crate::index::{Ranking, Survey, Top};

/// Reads all names.
pub(in crate::cli::operations) fn top(config: &Config, survey: &Survey) -> Result<Top> {
    let names = names(config)?;
    let mut ranking = Ranking::new(survey);
    names.dates(&mut meter::ring, &mut |name, dates| ranking.visit(&name, dates, 0))?;
    meter::clear();
    let received = match Server::of(config).and_then(|server| ranked::ask(&server, survey)) {
        Ok(top) => top.received,
        Err(error) => {
            eprintln!("no server says how many points it receives: {error:#}");
            None
        }
    };
    Ok(Top {
        metrics: ranking.metrics(),
        received,
        created: Some(ranking.created()),
        never_read: Some(ranking.never_read(None)),
    })
}
