//! The comparison at the end: every point of every feed, in the first stage and in the second, on every server, and in the backup.

use std::collections::HashMap;
use std::time::Duration;

use anyhow::{Context as _, Result};

use super::World;
use super::backups::Backup;
use super::client::{Client, Points};
use super::cluster::Nodes;
use super::feed::{Feed, number};
use super::ledger::{Expected, Place};
use super::now;
use super::page::Page;
use super::server::{FIRST_STAGE, Places, SECOND_STEP, Server};

/// Metrics in one question.
const AT_ONCE: u64 = 50;
/// Seconds in one question.
const STRETCH: u64 = 1800;

/// Compares everything.
pub(crate) fn all(
    world: &World,
    places: &Places,
    nodes: Option<&Nodes>,
    backup: Option<&Backup>,
    page: &mut Page,
) -> Result<()> {
    let client = Client::new(Duration::from_secs(120));
    for server in &world.servers {
        client.post(server.http, "/internal/flush", &[("settle", "1")])?;
    }
    for server in &world.servers {
        let found = compare(server, &world.feeds, &client, page)?;
        page.row(&format!("points found on `{}`", server.name), found);
    }
    churn(world, page)?;
    if nodes.is_some() {
        // It has never seen any of this: what it shows has been delivered.
        let reader = places.server("reader", world.servers[0].binary())?;
        reader.start()?;
        reader.wait_ready()?;
        reader.wait("know all names", || has_all_names(&reader, &world.feeds, &client))?;
        let found = compare(&reader, &world.feeds, &client, page)?;
        page.row("points delivered: found by a third server, with an empty directory", found);
    } else {
        let server = &world.servers[0];
        fsck(server, page)?;
        // Once more after a kill: the log has what is in no block.
        server.signal("KILL")?;
        server.wait_for_end()?;
        server.start()?;
        server.wait_ready()?;
        let found = compare(server, &world.feeds, &client, page)?;
        page.row("points found after one more kill", found);
    }
    if let Some(backup) = backup {
        restored(world, places, backup, &client, page)?;
    }
    Ok(())
}

fn has_all_names(server: &Server, feeds: &[Feed], client: &Client) -> bool {
    feeds.iter().all(|feed| {
        let path = format!("/metrics/find?query=soak.{}.*", feed.name);
        let Ok(answer) = client.get(server.http, &path) else { return false };
        answer.matches("\"id\"").count() as u64 >= feed.metrics
    })
}

fn churn(world: &World, page: &mut Page) -> Result<()> {
    for server in &world.servers {
        let found = world.churn.check(server)?;
        page.row(
            &format!("metrics that came and went, as they should be on `{}`", server.name),
            found.metrics - found.wrong.len() as u64,
        );
        found.wrong.into_iter().for_each(|text| page.find_wrong(|| text));
    }
    Ok(())
}

fn fsck(server: &Server, page: &mut Page) -> Result<()> {
    let client = Client::new(Duration::from_secs(600));
    let report: serde_json::Value =
        serde_json::from_str(&client.post(server.http, "/internal/fsck", &[])?)?;
    let problems = report["problems"].as_array().context("a report without problems")?;
    page.row("problems that `fsck` found", problems.len());
    problems.iter().for_each(|problem| page.find_wrong(|| format!("fsck: {problem}")));
    Ok(())
}

/// Restores the backup, and compares it with what was sure when it began.
fn restored(world: &World, places: &Places, backup: &Backup, client: &Client, page: &mut Page) -> Result<()> {
    let server = places.server("restored", world.servers[0].binary())?;
    let dir = backup.dir.display().to_string();
    server.run(&["restore", "--check", &dir])?;
    server.run(&["restore", &dir])?;
    server.start()?;
    server.wait_ready()?;
    let mut found = 0;
    for (feed, then) in world.feeds.iter().zip(&backup.ledgers) {
        walk(&server, feed, client, |metric, range, points| {
            found += points.len() as u64;
            let name = format!("in the backup: {}", feed.metric(metric));
            let expected = |place| feed.ledger.expected_in_backup(then, place);
            judge(page, &name, (metric, range), points, expected);
        })?;
    }
    page.row("backups, and points found in the last one", format!("{}, {found}", backup.number));
    Ok(())
}

/// Compares every point of every feed, and every slot of the second stage. Gives how many points there are.
fn compare(server: &Server, feeds: &[Feed], client: &Client, page: &mut Page) -> Result<u64> {
    let mut count = 0;
    for feed in feeds {
        let mut there: HashMap<u64, Points> = HashMap::new();
        walk(server, feed, client, |metric, range, points| {
            count += points.len() as u64;
            let name = format!("{}: {}", server.name, feed.metric(metric));
            judge(page, &name, (metric, range), points, |place| feed.ledger.expected(place));
            there.entry(metric).or_default().extend_from_slice(points);
        })?;
        rollups(server, feed, client, &there, page)?;
    }
    Ok(count)
}

/// Reads all points of a feed, piece by piece.
fn walk(
    server: &Server,
    feed: &Feed,
    client: &Client,
    mut piece: impl FnMut(u64, (u64, u64), &Points),
) -> Result<()> {
    let Some((first, last)) = feed.ledger.range() else { return Ok(()) };
    for begin in (first..=last).step_by(STRETCH as usize) {
        let range = (begin, last.min(begin + STRETCH - 1));
        for metrics in (0..feed.metrics).step_by(AT_ONCE as usize) {
            let metrics = metrics..feed.metrics.min(metrics + AT_ONCE);
            let mut found = read(server, feed, client, metrics.clone(), range)?;
            for metric in metrics {
                piece(metric, range, &found.remove(&metric).unwrap_or_default());
            }
        }
    }
    Ok(())
}

fn read(
    server: &Server,
    feed: &Feed,
    client: &Client,
    metrics: std::ops::Range<u64>,
    range: (u64, u64),
) -> Result<HashMap<u64, Points>> {
    let numbers: Vec<String> = metrics.map(|metric| format!("m{metric}")).collect();
    let target = format!("soak.{}.{{{}}}", feed.name, numbers.join(","));
    let series = client.render(server.http, &target, range)?;
    Ok(series.into_iter().filter_map(|(name, points)| Some((number(&name)?, points))).collect())
}

/// Compares the points of a metric over a range with what must be there and what may.
fn judge(
    page: &mut Page,
    name: &str,
    (metric, (first, last)): (u64, (u64, u64)),
    points: &Points,
    expected: impl Fn(Place) -> Expected,
) {
    let found: HashMap<u64, f64> = points.iter().map(|&(value, second)| (second, value)).collect();
    for second in first..=last {
        let place = Place { metric, second };
        let expected = expected(place);
        match found.get(&second) {
            Some(&value) if !expected.allows(value) => {
                page.find_wrong(|| format!("{name} has {value} at {second}, not {expected:?}"));
            }
            None if expected.is_sure => {
                page.lose(1, || format!("{name} has nothing at {second}, not {expected:?}"));
            }
            _ => {}
        }
    }
}

/// The second stage must be what the first one makes of it.
fn rollups(
    server: &Server,
    feed: &Feed,
    client: &Client,
    there: &HashMap<u64, Points>,
    page: &mut Page,
) -> Result<()> {
    let Some((first, last)) = feed.ledger.range() else { return Ok(()) };
    // Beyond the reach of the first stage.
    let from = now() - FIRST_STAGE - 600;
    for metrics in (0..feed.metrics).step_by(AT_ONCE as usize) {
        let metrics = metrics..feed.metrics.min(metrics + AT_ONCE);
        let found = read(server, feed, client, metrics.clone(), (from, last + SECOND_STEP))?;
        for metric in metrics {
            let slots = slots(there.get(&metric).map_or(&[], Vec::as_slice));
            let found: HashMap<u64, f64> =
                found.get(&metric).into_iter().flatten().map(|&(value, time)| (time, value)).collect();
            // The last slot may not be over.
            let ends = (last / SECOND_STEP - 2) * SECOND_STEP;
            for slot in (first / SECOND_STEP * SECOND_STEP..ends).step_by(SECOND_STEP as usize) {
                let wanted = slots.get(&slot).copied();
                let is_same = match (wanted, found.get(&slot)) {
                    (Some(wanted), Some(found)) => (wanted - found).abs() <= wanted.abs() * 1e-9,
                    (None, None) => true,
                    _ => false,
                };
                if !is_same {
                    let name = feed.metric(metric);
                    let found = found.get(&slot);
                    page.find_wrong(|| {
                        format!(
                            "{}: {name}: the slot {slot} of the second stage has {found:?}, not {wanted:?}",
                            server.name
                        )
                    });
                }
            }
        }
    }
    Ok(())
}

/// Averages of the slots of which at least half is known.
fn slots(points: &[(f64, u64)]) -> HashMap<u64, f64> {
    let mut sums: HashMap<u64, (f64, u64)> = HashMap::new();
    for &(value, time) in points {
        let slot = sums.entry(time / SECOND_STEP * SECOND_STEP).or_default();
        *slot = (slot.0 + value, slot.1 + 1);
    }
    let is_shown = |count: u64| count * 2 >= SECOND_STEP;
    sums.into_iter()
        .filter(|(_, (_, count))| is_shown(*count))
        .map(|(t, (sum, n))| (t, sum / n as f64))
        .collect()
}
