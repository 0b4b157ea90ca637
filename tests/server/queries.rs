//! Queries on the real server: the log of slow ones, and what an answer tells of itself.

use super::harness::{Server, Setup, now, wait_until};

fn filled(setup: Setup) -> Server {
    let (server, time) = (setup.start(), now() / 60 * 60 - 600);
    server.store(&(0..20).map(|i| format!("load.m{i} {i} {time}\n")).collect::<String>());
    server
}

#[test]
fn a_slow_query_is_logged_with_all_that_is_known_of_it() {
    let server = filled(Setup::new().set("query.slow", "1ms"));
    let slow = "/render?target=movingAverage(load.*,10)&from=-1d&format=json";
    wait_until("a slow query", || {
        assert_eq!(server.get(slow).status, 200);
        server.counter("plumbago_queries_slow_total") > 0
    });
    let errors = server.errors();
    let line = errors.lines().find(|line| line.contains("plumbago::slow")).expect("a line");
    for part in [
        "a query was slow",
        "endpoint=\"/render\"",
        "query=\"movingAverage(load.*,10)\"",
        "client=127.0.0.1",
        "outcome=\"answered\"",
        // Its own window, and one that begins earlier.
        "series=40",
        "fetch_ms=",
        "functions_ms=",
    ] {
        assert!(line.contains(part), "{part} is not in {line}");
    }
}

/// Without the target nobody finds the panel that a line of the log is about.
#[test]
fn the_log_names_the_targets_of_a_render_and_those_that_it_leaves_out() {
    let server = filled(Setup::new().environment("PLUMBAGO_LOG", "plumbago=debug"));
    let answer = server.get("/render?target=load.m1&target=sumSeries(load.m2&from=-1h&format=json");
    assert_eq!(answer.status, 200, "{}", answer.body);
    let id = answer.header("x-request-id").unwrap();
    let log = server.errors();
    for (about, parts) in [
        ("render", ["DEBUG", "targets=\"load.m1 sumSeries(load.m2\""]),
        ("is left out of the answer", ["WARN", "target_text=\"sumSeries(load.m2\""]),
    ] {
        let found = log.lines().any(|line| {
            let request = line.contains(&format!("id={id} ")) && line.contains(about);
            request && parts.iter().all(|part| line.contains(part))
        });
        assert!(found, "no line has {parts:?} of request {id}:\n{log}");
    }
}

#[test]
fn no_query_is_slow_when_the_log_of_them_is_off() {
    let server = filled(Setup::new().set("query.slow", "0s"));
    assert_eq!(server.get("/render?target=load.*&format=json").status, 200);
    assert_eq!(server.counter("plumbago_queries_slow_total"), 0);
}

#[test]
fn an_answer_tells_how_much_was_read() {
    let server = filled(Setup::new());
    let answer = server.get("/render?target=load.m1&target=load.m2&from=-1h&format=json");
    let number = |name: &str| answer.header(name).unwrap().parse::<u64>().unwrap();
    assert_eq!((number("x-plumbago-series"), number("x-plumbago-points")), (2, 720));
    assert!(number("x-plumbago-memory") > 720 * 8);
    wait_until("the end of the queries", || server.counter("plumbago_query_memory_bytes") == 0);
    let queries = server.json("/internal/queries");
    let last = &queries["most_frequent"][0]["last"];
    assert_eq!((&last["series"], &last["points"]), (&2.into(), &720.into()), "{queries}");
}
