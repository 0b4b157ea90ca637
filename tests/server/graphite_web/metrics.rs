//! The metrics of these tests, and questions about them that graphite-web and Plumbago must answer alike.

use serde_json::{Value, json};

use super::web::Web;
use crate::harness::{self, Server, Setup};

/// A server with a few metrics.
pub(crate) struct Metrics {
    pub(crate) server: Server,
    /// The time of the last points, on a whole minute: everything is asked relative to it.
    last: u64,
}

impl Metrics {
    /// Ten minutes of points every ten seconds.
    pub(crate) fn store() -> Self {
        Self::store_in(Setup::new())
    }

    /// The same, in a server with these settings.
    pub(crate) fn store_in(setup: Setup) -> Self {
        let server = setup.start();
        let last = harness::now() / 60 * 60;
        let mut lines = String::new();
        for (number, name) in [
            "app.web1.cpu",
            "app.web1.mem",
            "app.web2.cpu",
            "app.web2",
            "disk.used;dc=a;host=web1",
            "disk.used;dc=b;host=web2",
        ]
        .iter()
        .enumerate()
        {
            for step in (0..60).filter(|step| (step + number) % 7 != 0) {
                lines.push_str(&format!("{name} {}.25 {}\n", number * 100 + step, last - 10 * step as u64));
            }
        }
        server.store(&lines);
        Self { server, last }
    }

    /// The parameters of a render over the last five minutes.
    pub(crate) fn window(&self) -> String {
        format!("from={}&until={}&now={}&format=json", self.last - 300, self.last, self.last)
    }

    /// Asks both for what people see when they look around.
    pub(crate) fn browse(&self, web: &Web) {
        let tree = web.json("/metrics/find?query=app.*");
        assert_eq!(tree.as_array().unwrap().len(), 2, "{tree}");
        for question in [
            "/metrics/find?query=*",
            "/metrics/find?query=app.*",
            "/metrics/find?query=app.*.{cpu,mem}",
            "/metrics/find?query=app.web[0-1].c&format=completer",
            "/metrics/find?query=nothing.*",
            "/metrics/expand?query=app.*.*",
            "/metrics/expand?query=app.*&leavesOnly=1",
            "/metrics/index.json",
        ] {
            assert_eq!(web.json(question), self.server.json(question), "{question}");
        }
        // With a window that nothing has data in, only directories are left.
        let old = web.json("/metrics/find?query=app.web1.*&from=1000&until=2000");
        assert_eq!(old, json!([]));
        let leaf = web.json("/metrics/find?query=app.web1.cpu&format=json");
        let end = leaf[0]["intervals"][0]["end"].as_u64().unwrap_or_else(|| panic!("{leaf}"));
        assert!(
            (self.last - 600..=self.last).contains(&(end / 10 * 10)),
            "{leaf}, last point at {}",
            self.last
        );
    }

    /// Asks both for series, with functions that graphite-web runs on what it fetched.
    pub(crate) fn render(&self, web: &Web) {
        for (targets, series) in [
            (&["app.web1.cpu"][..], 1),
            (&["app.*.cpu"], 2),
            (&["app.web1.cpu", "app.*.{cpu,mem}", "app.web1.cpu"], 5),
            (&["sumSeries(app.*.cpu)"], 1),
            (&["alias(movingAverage(app.web1.cpu, 3), 'smooth')"], 1),
            (&["timeShift(app.web2.cpu, '2min')", "scale(app.web2.cpu, 10)"], 2),
            (&["summarize(app.web1.mem, '1min', 'max')"], 1),
            (&["aliasByNode(keepLastValue(app.*.cpu), 1)"], 2),
            (&["nothing.here"], 0),
        ] {
            self.alike(web, targets, series);
        }
    }

    /// Asks both for tagged series by `seriesByTag`.
    pub(crate) fn render_by_tag(&self, web: &Web) {
        self.alike(web, &["seriesByTag('name=disk.used', 'host=~web')"], 2);
        self.alike(web, &["aliasByTags(seriesByTag('dc=b'), 'host')", "app.web1.cpu"], 2);
        self.alike(web, &["seriesByTag('dc=nowhere')"], 0);
    }

    fn alike(&self, web: &Web, targets: &[&str], series: usize) {
        let query: String = targets.iter().map(|target| format!("&target={}", escape(target))).collect();
        let question = format!("/render?{}{query}", self.window());
        let (theirs, ours) = (web.json(&question), self.server.json(&question));
        assert_eq!(theirs.as_array().map(Vec::len), Some(series), "{question}: {theirs}");
        assert_eq!(theirs, ours, "{question}");
        let has_values = |one: &Value| one["datapoints"].as_array().unwrap().iter().any(|p| !p[0].is_null());
        assert!(theirs.as_array().unwrap().iter().all(has_values), "{question}: {theirs}");
    }
}

fn escape(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}
