//! Another Graphite as a source of metrics: graphite-web, carbonapi, or a Plumbago on another machine. Names come from
//! `/metrics/index.json` or `/metrics/find`, points from `/render`.

use std::collections::BTreeMap;
use std::collections::HashMap;

use anyhow::{Context as _, Result, bail};
use serde_json::Value;

use super::super::answer::{Series, series};
use super::super::remote::{Answered, Server};
use super::ladder::{Rung, rungs};
use crate::bundle::{Archive, Bundle};
use crate::server::now;
use crate::store::Column;
use plumbago_model::Policy;
use plumbago_model::glob::Glob;

/// Metrics that one request asks for.
const ASKED: usize = 100;

/// See the module documentation.
pub(super) struct Graphite {
    server: Server,
    /// Nobody says how a Graphite keeps its metrics: this goes with all of them.
    policy: Policy,
    /// Metrics it refused to answer for, and why.
    pub(super) refused: Vec<(String, String)>,
}

/// The slots of a metric by their step, and how old the oldest window is that was answered with that step.
type Steps = BTreeMap<u32, (u32, BTreeMap<u32, f64>)>;

/// What is known of one metric so far.
#[derive(Default)]
struct Gathered {
    steps: Steps,
    /// The step of the last answer that showed it.
    step: Option<u32>,
}

impl Graphite {
    /// The server that is asked.
    pub(super) fn new(server: Server, policy: Policy) -> Self {
        Self { server, policy, refused: Vec::new() }
    }

    /// The names of all metrics that match.
    pub(super) fn names(&self, glob: &Glob) -> Result<Vec<String>> {
        let mut names = if glob.as_str().contains("**") {
            // carbonapi has no index, and some others take it off because it is large.
            match self.server.get("/metrics/index.json", &[]) {
                Ok(body) => serde_json::from_slice(&body).context("its answer to /metrics/index.json")?,
                Err(error) if error.is::<Answered>() => self.walk(glob.as_str())?,
                Err(error) => return Err(error),
            }
        } else {
            self.find(glob.as_str())?.0
        };
        names.retain(|name| glob.matches(name));
        names.sort_unstable();
        names.dedup();
        Ok(names)
    }

    /// Directory by directory.
    fn walk(&self, glob: &str) -> Result<Vec<String>> {
        let above: Vec<&str> =
            glob.split('.').take_while(|part| !part.contains(['{', '}']) && *part != "**").collect();
        let mut queries = vec![[&above[..], &["*"]].concat().join(".")];
        let mut names = Vec::new();
        while let Some(query) = queries.pop() {
            let (leaves, directories) = self.find(&query)?;
            names.extend(leaves);
            queries.extend(directories.iter().map(|directory| format!("{directory}.*")));
        }
        Ok(names)
    }

    /// Metrics and directories. The completer gives whole paths; it may give more than was asked for.
    fn find(&self, query: &str) -> Result<(Vec<String>, Vec<String>)> {
        let body = self.server.get("/metrics/find", &[("query", query), ("format", "completer")])?;
        let answer: Value =
            serde_json::from_slice(&body).context("its answer to /metrics/find is not JSON")?;
        let nodes = answer["metrics"].as_array().context("its answer to /metrics/find has no `metrics`")?;
        let (mut leaves, mut directories) = (Vec::new(), Vec::new());
        for node in nodes {
            let path = node["path"].as_str().context("an entry of /metrics/find has no `path`")?;
            let leaf = &node["is_leaf"];
            if leaf == "1" || leaf == 1 || leaf == true {
                leaves.push(path.to_owned());
            } else {
                directories.push(path.trim_end_matches('.').to_owned());
            }
        }
        Ok((leaves, directories))
    }

    /// Visits metrics with all points it has of a stretch of time.
    pub(super) fn export(
        &mut self,
        names: &[String],
        window: (u32, u32),
        mut visit: impl FnMut(Bundle) -> Result<()>,
    ) -> Result<()> {
        for asked in names.chunks(ASKED) {
            let at = now();
            let mut gathered: HashMap<String, Gathered> = HashMap::new();
            for rung in rungs(window, at) {
                for series in self.render(asked, rung.window)? {
                    gathered.entry(series.name.clone()).or_default().add(&series, rung);
                }
            }
            for name in asked {
                let gathered = gathered.remove(name).unwrap_or_default();
                visit(self.bundle(name, gathered.steps))?;
            }
        }
        Ok(())
    }

    /// A name that it refuses would take the others of its request with it, so they are asked for one by one then.
    fn render(&mut self, names: &[String], window: (u32, u32)) -> Result<Vec<Series>> {
        let error = match self.render_at_once(names, window) {
            Err(error) if error.is::<Answered>() => error,
            other => return other,
        };
        let [name] = names else {
            let mut all = Vec::new();
            for name in names {
                all.extend(self.render(std::slice::from_ref(name), window)?);
            }
            return Ok(all);
        };
        if !self.refused.iter().any(|(refused, _)| refused == name) {
            self.refused.push((name.clone(), super::super::answer::start(&error.to_string())));
        }
        if self.refused.len() > ASKED {
            bail!(error.context("it refuses one metric after another, the last with"));
        }
        Ok(Vec::new())
    }

    fn render_at_once(&self, names: &[String], (from, until): (u32, u32)) -> Result<Vec<Series>> {
        let (from, until) = (from.to_string(), until.to_string());
        let mut params = vec![("from", &*from), ("until", &*until), ("format", "json"), ("noCache", "1")];
        params.extend(names.iter().map(|name| ("target", &**name)));
        series(&self.server.post_form("/render", &params)?)
            .with_context(|| format!("asking {}", self.server.name()))
    }

    fn bundle(&self, name: &str, steps: Steps) -> Bundle {
        let archive = |(step_secs, (age, slots)): (u32, (u32, BTreeMap<u32, f64>))| {
            let (times, values) = slots.into_iter().unzip();
            Archive {
                step_secs,
                points: age.div_ceil(step_secs),
                column: Column { times, values, counts: Vec::new() },
            }
        };
        let archives = steps.into_iter().map(archive).collect();
        Bundle { name: name.to_owned(), policy: self.policy.clone(), archives }
    }
}

impl Gathered {
    /// Adds one answer. Windows come from the oldest to the latest, so the step never grows; a window with a single point has the
    /// step of the one before.
    fn add(&mut self, series: &Series, rung: Rung) {
        let seen = match series.points[..] {
            [(first, _), (second, _), ..] => u32::try_from(second - first).ok(),
            _ => self.step,
        };
        let Some(step) = seen.filter(|&step| step > 0) else { return };
        self.step = Some(step);
        let (age, slots) = self.steps.entry(step).or_default();
        *age = rung.age.max(*age);
        let point = |&(time, value): &(i64, Option<f64>)| Some((u32::try_from(time).ok()?, value?));
        slots.extend(series.points.iter().filter_map(point).filter(|(time, _)| time.is_multiple_of(step)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(times: &[i64]) -> Series {
        Series { name: "a".to_owned(), points: times.iter().map(|&time| (time, Some(1.0))).collect() }
    }

    #[test]
    fn answers_become_archives_by_their_step() {
        let rung = |age| Rung { window: (0, 0), age };
        let mut gathered = Gathered::default();
        gathered.add(&answer(&[]), rung(900_000));
        gathered.add(&answer(&[3600, 7200]), rung(90_000));
        gathered.add(&answer(&[10_800]), rung(7200));
        gathered.add(&answer(&[11_000]), rung(7200));
        gathered.add(&answer(&[10_800, 10_860, 10_920]), rung(3600));
        let found: Vec<_> =
            gathered.steps.iter().map(|(step, (age, slots))| (*step, *age, slots.len())).collect();
        assert_eq!(found, [(60, 3600, 3), (3600, 90_000, 3)]);
    }
}
