//! Calls to a server over HTTP.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use serde_json::Value;

/// Makes calls that give up after a while.
#[derive(Clone, Debug)]
pub(crate) struct Client {
    agent: ureq::Agent,
}

/// The points of one series: value and time, without nulls.
pub(crate) type Points = Vec<(f64, u64)>;

impl Client {
    pub(crate) fn new(patience: Duration) -> Self {
        let config =
            ureq::Agent::config_builder().http_status_as_error(false).timeout_global(Some(patience)).build();
        Self { agent: config.into() }
    }

    /// GET that must answer 200.
    pub(crate) fn get(&self, to: SocketAddr, path: &str) -> Result<String> {
        read(path, self.agent.get(format!("http://{to}{path}")).call()?)
    }

    /// POST of a form that must answer 200.
    pub(crate) fn post(&self, to: SocketAddr, path: &str, form: &[(&str, &str)]) -> Result<String> {
        let request = self.agent.post(format!("http://{to}{path}"));
        read(path, request.send_form(form.iter().copied())?)
    }

    /// POST of lines, all of which must be stored.
    pub(crate) fn write(&self, to: SocketAddr, lines: &str) -> Result<()> {
        let request = self.agent.post(format!("http://{to}/internal/write")).content_type("text/plain");
        let answer: Value = serde_json::from_str(&read("/internal/write", request.send(lines)?)?)?;
        let count = lines.lines().count() as u64;
        if answer["stored"].as_u64() != Some(count) {
            bail!("not all of {count} lines were stored: {answer}");
        }
        Ok(())
    }

    /// Name and points of each series of a target, over `from` to `until`, both included.
    pub(crate) fn render(
        &self,
        to: SocketAddr,
        target: &str,
        (from, until): (u64, u64),
    ) -> Result<Vec<(String, Points)>> {
        let (from, until) = ((from - 1).to_string(), until.to_string());
        let form = [
            ("target", target),
            ("from", &from),
            ("until", &until),
            ("format", "json"),
            ("noNullPoints", "1"),
        ];
        let answer: Vec<Value> = serde_json::from_str(&self.post(to, "/render", &form)?)?;
        answer.iter().map(series).collect()
    }
}

fn series(series: &Value) -> Result<(String, Points)> {
    let name = series["target"].as_str().context("a series without a name")?;
    let points = series["datapoints"].as_array().context("a series without points")?;
    let point = |point: &Value| Some((point[0].as_f64()?, point[1].as_u64()?));
    Ok((name.to_owned(), points.iter().filter_map(point).collect()))
}

fn read(path: &str, mut response: ureq::http::Response<ureq::Body>) -> Result<String> {
    let body = response.body_mut().with_config().limit(1 << 30).read_to_string()?;
    if response.status().as_u16() != 200 {
        bail!("{path} answered {}: {}", response.status(), body.chars().take(300).collect::<String>());
    }
    Ok(body)
}
