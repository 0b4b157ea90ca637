//! Commands on the data directory of a server that is stopped.

use crate::harness::{Server, Setup, now, wait_until};

fn setup() -> Setup {
    let rule =
        "[{ name = 'sum', pattern = 'sum$', retentions = '1s:2h,10s:6h,60s:2d', aggregation = 'sum' }]";
    Setup::new().set("retention.rule", rule)
}

/// Runs a command. Gives its exit code and what it printed.
fn run(setup: &Setup, arguments: &[&str]) -> (Option<i32>, String, String) {
    let output = setup.run(arguments);
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

/// The points of a metric between two times, as the stage that reaches back so many seconds has them.
fn coarse(server: &Server, name: &str, reach: u64, from: u64, until: u64) -> Vec<(f64, u64)> {
    let mut points = server.points(name, now() - reach, now());
    points.retain(|&(_, time)| (from..until).contains(&time));
    points
}

#[test]
fn a_renamed_metric_has_every_point_once_in_every_stage() {
    let base = (now() - 5400) / 60 * 60;
    let long_ago = (now() - 5 * 3600) / 60 * 60;
    let lines = |name: &str, slots: std::ops::Range<u64>| -> String {
        slots.map(|i| format!("{name} 1 {}\n", base + i)).collect()
    };
    let server = setup().start();
    // The name changes in the middle of a slot of both aggregated stages. What is older than stage 0 is in the second one.
    server.store(&(lines("old.sum", 0..335) + &lines("new.sum", 335..600)));
    server.store(&format!("old.sum 3 {long_ago}\nold.sum 4 {}\nold.deep.sum 1 {base}\n", long_ago + 5));
    let (_, setup) = server.stop("TERM");
    let (code, out, said) = run(&setup, &["copy", "--dry-run", "--recursive", "old", "new"]);
    assert_eq!(
        (code, out.as_str()),
        (Some(0), "old.deep.sum -> new.deep.sum\nold.sum -> new.sum\n"),
        "{said}"
    );
    assert!(said.contains("2 metrics with 336 points and "), "{said}");
    assert_eq!(run(&setup, &["find", "new.*"]).1, "new.sum\n");

    let mut setup = setup;
    for round in ["once", "twice"] {
        let (code, _, said) = run(&setup, &["copy", "--recursive", "old", "new"]);
        assert_eq!(code, Some(0), "{said}");
        let server = setup.start();
        for (reach, step) in [(5500, 1), (3 * 3600, 10), (12 * 3600, 60)] {
            let expected: Vec<(f64, u64)> =
                (0..600 / step).map(|slot| (step as f64, base + slot * step)).collect();
            assert_eq!(coarse(&server, "new.sum", reach, base, base + 600), expected, "{round}, {step} s");
        }
        let old = coarse(&server, "new.sum", 5 * 3600 + 600, long_ago, long_ago + 60);
        assert_eq!(old, [(7.0, long_ago)], "{round}");
        assert_eq!(server.points("new.deep.sum", base - 1, base), [(1.0, base)]);
        setup = server.stop("TERM").1;
    }
    assert_eq!(run(&setup, &["find", "old.*"]).1, "old.deep.\nold.sum\n");
}

#[test]
fn a_copy_is_refused_where_it_would_mean_something_else() {
    let base = now() - 600;
    let server = setup().start();
    server.store(&format!("a.sum 1 {base}\na.average 1 {base}\n"));
    let (_, setup) = server.stop("TERM");
    let (code, _, said) = run(&setup, &["copy", "a.sum", "a.average"]);
    assert_eq!(code, Some(1));
    assert!(said.contains("`a.average` exists and keeps"), "{said}");
    for (arguments, wrong) in [
        (["copy", "a.*", "b"], "is a glob"),
        (["copy", "a.sum", "a.sum"], "into itself"),
        (["copy", "a.none", "b"], "there is no metric"),
    ] {
        let (code, _, said) = run(&setup, &arguments);
        assert!(code != Some(0) && said.contains(wrong), "{arguments:?}: {said}");
    }
    let (code, _, said) = run(&setup, &["copy", "a.sum", "b.sum", "--until", &(base - 60).to_string()]);
    assert!(code == Some(0) && said.contains("1 metric with 0 points"), "{said}");
}

#[test]
fn a_server_stores_its_own_numbers_under_the_names_of_carbon() {
    let server = Setup::new()
        .set("retention.default", "1s:1h")
        .set("telemetry.carbon_interval", "1s")
        .set("telemetry.carbon_prefix", "carbon.agents.here")
        .start();
    server.store(&format!("a.b 1 {}\na.b 2 {}\n", now() - 2, now() - 1));
    let told = |name: &str| server.points(&format!("carbon.agents.here.{name}"), now() - 60, now() + 5);
    let sum = |points: Vec<(f64, u64)>| points.iter().map(|(value, _)| value).sum::<f64>();
    wait_until("both points in the numbers", || sum(told("metricsReceived")) == 2.0);
    wait_until("both points in the numbers", || sum(told("committedPoints")) == 2.0);
    assert!(told("memUsage").iter().all(|&(bytes, _)| bytes > 1e6));
    wait_until("free space in the numbers", || told("disk.free").iter().any(|&(bytes, _)| bytes > 0.0));
    // Each look at the numbers is a render itself.
    wait_until("a latency in the numbers", || !told("http.render.p99").is_empty());
    assert!(told("http.render.mean").iter().all(|&(seconds, _)| (0.0..60.0).contains(&seconds)));
    // They are not points that came.
    assert_eq!(server.counter("plumbago_points_stored_total"), 2);
}
