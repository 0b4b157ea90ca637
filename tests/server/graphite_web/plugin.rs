//! The plug-in, in a real graphite-web.

use serde_json::json;

use super::metrics::Metrics;
use super::page;
use super::web::Web;
use crate::harness::Setup;

fn settings(metrics: &Metrics) -> String {
    page::settings("The plug-in", metrics.server.http)
}

#[test]
fn the_plug_in_browses_and_renders() {
    let metrics = Metrics::store();
    let Some(web) = Web::start("the_plug_in_browses_and_renders", &settings(&metrics)) else { return };
    metrics.browse(&web);
    metrics.render(&web);
    metrics.render_by_tag(&web);
}

#[test]
fn the_plug_in_fetches_all_targets_in_one_request() {
    let metrics = Metrics::store();
    let test = "the_plug_in_fetches_all_targets_in_one_request";
    let Some(web) = Web::start(test, &settings(&metrics)) else { return };
    let requests = |targets: &str| {
        let before = metrics.server.counter("plumbago_http_requests_total");
        web.json(&format!("/render?{}{targets}", metrics.window()));
        // One of them is the question for the counter.
        metrics.server.counter("plumbago_http_requests_total") - before - 1
    };
    assert_eq!(requests("&target=app.web1.cpu"), 1);
    assert_eq!(requests("&target=app.*.cpu&target=sumSeries(app.web1.*)&target=seriesByTag('dc=a')"), 1);
}

#[test]
fn the_plug_in_says_when_plumbago_is_away_and_goes_on_when_it_is_back() {
    let metrics = Metrics::store();
    let test = "the_plug_in_says_when_plumbago_is_away_and_goes_on_when_it_is_back";
    let Some(web) = Web::start(test, &settings(&metrics)) else { return };
    let (window, address) = (metrics.window(), metrics.server.http);
    let question = format!("/render?{window}&target=app.*.cpu");
    let answer = web.json(&question);
    let setup = metrics.server.kill();
    for path in [&question[..], "/metrics/find?query=*"] {
        let reply = web.get(path);
        assert_eq!(reply.status, 500, "{path}: {}", reply.body);
        let text = format!("Plumbago at http://{address}");
        assert!(reply.body.contains(&text) && reply.body.contains("is away"), "{path}: {}", reply.body);
    }
    let _server = setup.set("listen.http", &address.to_string()).start();
    assert_eq!(web.json(&question), answer);
}

#[test]
fn the_plug_in_hands_on_what_plumbago_says_of_a_limit() {
    let metrics = Metrics::store_in(Setup::new().set("query.max_series", "2"));
    let test = "the_plug_in_hands_on_what_plumbago_says_of_a_limit";
    let Some(web) = Web::start(test, &settings(&metrics)) else { return };
    let reply = web.get(&format!("/render?{}&target=app.*.*", metrics.window()));
    assert_eq!(reply.status, 500);
    assert!(reply.body.contains("answers 422") && reply.body.contains("query.max_series"), "{}", reply.body);
}

/// What people ask of tags; the same of Plumbago, of graphite-web, and of one through the other.
const TAG_QUESTIONS: [&str; 13] = [
    "/tags",
    "/tags?filter=^h",
    "/tags?limit=1",
    "/tags/host",
    "/tags/host?filter=web1",
    "/tags/nothing",
    "/tags/findSeries?expr=host=web1",
    "/tags/findSeries?expr=name=disk.used&expr=dc!=a",
    "/tags/findSeries?expr=host=~web.*&expr=dc!=~b",
    "/tags/autoComplete/tags",
    "/tags/autoComplete/tags?expr=dc=a&tagPrefix=h",
    "/tags/autoComplete/values?tag=host",
    "/tags/autoComplete/values?tag=host&valuePrefix=web&expr=dc=b&limit=1",
];

#[test]
fn the_plug_in_serves_tags() {
    let test = "the_plug_in_serves_tags";
    let metrics = Metrics::store();
    let Some(web) = Web::start(test, &settings(&metrics)) else { return };
    for question in TAG_QUESTIONS {
        assert_eq!(web.json(question), metrics.server.json(question), "{question}");
    }
    check_tags(&web);
    let entered = web.post("/tags/tagSeries", &[("path", "disk.used;host=web1;dc=a")]);
    assert_eq!((entered.status, entered.body.as_str()), (200, "\"disk.used;dc=a;host=web1\""));
}

/// The API of tags is graphite-web's own, so another graphite-web can be asked in place of Plumbago.
#[test]
fn the_plug_in_speaks_the_tags_api_of_graphite_web() {
    let test = "the_plug_in_speaks_the_tags_api_of_graphite_web";
    let Some(asked) = Web::start(test, "STORAGE_FINDERS = ['graphite.finders.standard.StandardFinder']")
    else {
        return;
    };
    let settings = page::settings("The plug-in", asked.address);
    let Some(web) = Web::start(test, &settings) else { return };
    for (path, canonical) in [
        ("disk.used;host=web1;dc=a", "disk.used;dc=a;host=web1"),
        ("disk.used;dc=b;host=web2", "disk.used;dc=b;host=web2"),
        ("gone;host=web3", "gone;host=web3"),
    ] {
        let entered = web.post("/tags/tagSeries", &[("path", path)]);
        assert_eq!((entered.status, entered.body), (200, format!("\"{canonical}\"")));
    }
    let taken_out = web.post("/tags/delSeries", &[("path", "gone;host=web3")]);
    assert_eq!((taken_out.status, taken_out.body.as_str()), (200, "true"));
    for question in TAG_QUESTIONS {
        assert_eq!(web.json(question), asked.json(question), "{question}");
    }
    check_tags(&web);
}

fn check_tags(web: &Web) {
    assert_eq!(web.json("/tags/findSeries?expr=host=web1"), json!(["disk.used;dc=a;host=web1"]));
    assert_eq!(web.json("/tags/autoComplete/values?tag=host"), json!(["web1", "web2"]));
    let mistake = web.get("/tags/findSeries?expr=host!=web1");
    assert_eq!(mistake.status, 400, "{}", mistake.body);
}
