//! Changed retention rules on a running server: the plan, the reload, and what must not happen.

use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use serde_json::Value;

use super::harness::{Server, Setup, now, wait_until};

/// A server with a configuration file and carbon's two files beside it.
struct Ruled {
    server: Server,
    schemas: PathBuf,
    config: PathBuf,
}

fn start(retentions: &str) -> Ruled {
    let setup = Setup::new();
    let [config, schemas, aggregation] =
        ["plumbago.toml", "storage-schemas.conf", "storage-aggregation.conf"]
            .map(|name| setup.directory().join(name));
    fs::write(&config, "[query]\nmax_series = 5000\n").unwrap();
    fs::write(&schemas, rule(retentions)).unwrap();
    fs::write(&aggregation, "[sums]\npattern = .*\nxFilesFactor = 0\naggregationMethod = sum\n").unwrap();
    let server = setup.environment("PLUMBAGO_CONFIG", &config.display().to_string()).start();
    Ruled { server, schemas, config }
}

fn rule(retentions: &str) -> String {
    format!("[hosts]\npattern = ^hosts\\.\nretentions = {retentions}\n")
}

impl Ruled {
    /// Runs a command beside the server.
    fn run(&self, arguments: &[&str]) -> (bool, String) {
        let url = format!("http://{}", self.server.http);
        let done = self.server.setup().run(&[arguments, &["--url", &url]].concat());
        let text = [done.stdout, done.stderr].concat();
        (done.status.success(), String::from_utf8(text).unwrap())
    }

    fn policy(&self, name: &str) -> String {
        self.server.json(&format!("/internal/info?name={name}"))["policy"].as_str().unwrap().to_owned()
    }
}

#[test]
fn a_plan_shows_what_a_reload_then_does() {
    let ruled = start("1s:1h,10s:6h");
    let at = now() / 60 * 60 - 120;
    ruled.server.store(&format!("hosts.a 1 {at}\nhosts.a 2 {}\nother.b 5 {at}\n", at + 1));
    assert_eq!(ruled.run(&["retention", "plan"]), (true, "2 metrics unchanged\n".to_owned()));
    fs::write(&ruled.schemas, rule("5s:30min,1m:2h")).unwrap();
    let (done, text) = ruled.run(&["retention", "plan"]);
    assert!(done && text.contains("1 metric of ") && text.contains("such as hosts.a"), "{text}");
    assert!(text.contains("loses   points are kept for 7200 s instead of 21600 s"), "{text}");
    assert!(text.contains("loses   the finest step becomes 5 s instead of 1 s"), "{text}");
    assert!(text.contains("1 metric unchanged"), "{text}");
    assert_eq!(ruled.policy("hosts.a"), "3600*1s:2160*10s|sum|0", "a plan changes nothing");
    let (done, text) = ruled.run(&["reload"]);
    assert_eq!((done, &*text), (true, "rules reloaded; 1 metric moved to other policies\n"));
    assert_eq!(ruled.policy("hosts.a"), "360*5s:120*60s|sum|0");
    // What is stored stays readable, and new metrics get the new policy too.
    ruled.server.store(&format!("hosts.a 4 {}\nhosts.c 1 {at}\n", at + 10));
    let values: Vec<f64> = ruled.server.points("hosts.a", at - 1, at + 20).iter().map(|p| p.0).collect();
    assert_eq!(values.iter().sum::<f64>(), 7.0, "{values:?}");
    assert_eq!(ruled.policy("hosts.c"), "360*5s:120*60s|sum|0");
    assert_eq!(ruled.server.counter("plumbago_reloads_total"), 1);
    let again = ruled.server.stop("TERM").1.start();
    assert!(!again.errors().contains("metrics moved"), "the next start has nothing to move");
}

#[test]
fn a_bad_file_is_refused_with_its_line_and_the_old_rules_stay() {
    let ruled = start("1s:1h");
    fs::write(&ruled.schemas, "[hosts]\npattern = ^hosts\nretentions = soon:1h\n").unwrap();
    let answer = ruled.server.post("/internal/reload", &[]);
    assert_eq!(answer.status, 400);
    assert!(answer.body.contains("storage-schemas.conf:3"), "{}", answer.body);
    let (done, text) = ruled.run(&["reload"]);
    assert!(!done && text.contains("storage-schemas.conf:3"), "{text}");
    ruled.server.signal("HUP");
    wait_until("the second failure", || ruled.server.counter("plumbago_reload_failures_total") == 2);
    ruled.server.store(&format!("hosts.a 1 {}\n", now() - 5));
    assert_eq!(ruled.policy("hosts.a"), "3600*1s|sum|0");
}

#[test]
fn a_hang_up_reloads_and_other_keys_wait_for_a_restart() {
    let ruled = start("1s:1h");
    ruled.server.store(&format!("hosts.a 1 {}\n", now() - 5));
    fs::write(&ruled.schemas, rule("1s:2h")).unwrap();
    ruled.server.signal("HUP");
    wait_until("the new policy", || ruled.policy("hosts.a") == "7200*1s|sum|0");
    fs::write(&ruled.config, "[query]\nmax_series = 4000\n").unwrap();
    let answer: Value = serde_json::from_str(&ruled.server.post("/internal/reload", &[]).body).unwrap();
    assert_eq!(answer["needs_restart"][0], "query.max_series", "{answer}");
    assert_eq!(answer["moved"], 0);
}

#[test]
fn no_point_is_lost_or_counted_twice_while_rules_change() {
    let ruled = start("1s:1h,10s:6h");
    let (base, sent, over) = (now() - 3000, AtomicU64::new(0), AtomicBool::new(false));
    let policies = ["1s:2h,10s:8h", "1s:3h,1m:8h", "1s:90min,10s:1d,1m:2d", "1s:1h,1m:1d"];
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(Ordering::Acquire) {
                let at = sent.load(Ordering::Acquire);
                // A point a second, and one that is too old for the finest stage.
                ruled.server.store(&format!(
                    "hosts.fine 1 {}\nhosts.old 1 {}\n",
                    base + at,
                    base + at - 12_000
                ));
                sent.store(at + 1, Ordering::Release);
            }
        });
        for (nth, policy) in policies.iter().enumerate() {
            let until = sent.load(Ordering::Acquire) + 20;
            wait_until("more points", || sent.load(Ordering::Acquire) >= until);
            fs::write(&ruled.schemas, rule(policy)).unwrap();
            let answer = ruled.server.post("/internal/reload", &[]);
            assert_eq!(answer.status, 200, "{}", answer.body);
            assert!(answer.body.contains("\"moved\":2"), "{nth}: {}", answer.body);
        }
        over.store(true, Ordering::Release);
    });
    let sent = sent.load(Ordering::Acquire);
    let fine = ruled.server.points("hosts.fine", base - 1, base + sent);
    let expected: Vec<(f64, u64)> = (base..base + sent).map(|time| (1.0, time)).collect();
    assert_eq!(fine.len(), expected.len());
    assert_eq!(fine, expected);
}
