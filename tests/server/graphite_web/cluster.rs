//! graphite-web as the head of a cluster, without a plug-in: Plumbago is one of its `CLUSTER_SERVERS`.

use serde_json::json;

use super::metrics::Metrics;
use super::page;
use super::web::Web;
use crate::harness;

fn settings(metrics: &Metrics) -> String {
    page::settings("A cluster", metrics.server.http)
}

/// The same with servers and whatever else by another line.
fn settings_with(metrics: &Metrics, more: &str) -> String {
    let address = metrics.server.http;
    format!("{}{}\n", settings(metrics), more.replace("PLUMBAGO", &address.to_string()))
}

/// Everything that works in a cluster: graphite-web finds and fetches, and runs the functions itself.
fn check(test: &str, more: &str) {
    let metrics = Metrics::store();
    let Some(web) = Web::start(test, &settings_with(&metrics, more)) else { return };
    metrics.browse(&web);
    metrics.render(&web);
    metrics.render_by_tag(&web);
}

#[test]
fn a_cluster_works_by_pickle() {
    check("a_cluster_works_by_pickle", "");
}

#[test]
fn a_cluster_works_by_msgpack() {
    check("a_cluster_works_by_msgpack", "CLUSTER_SERVERS = ['PLUMBAGO?format=msgpack']");
}

#[test]
fn a_cluster_works_by_post_and_without_buffers() {
    check(
        "a_cluster_works_by_post_and_without_buffers",
        "REMOTE_STORE_USE_POST, REMOTE_BUFFER_SIZE = True, 0",
    );
}

/// Two servers hold some of the same names: both are asked, and what they hold is put together.
#[test]
fn a_cluster_of_two_is_merged() {
    let (one, other) = (Metrics::store(), Metrics::store());
    other.server.store(&format!("only.here 7 {}\n", harness::now()));
    let settings = settings_with(&one, &format!("CLUSTER_SERVERS.append('{}')", other.server.http));
    let Some(web) = Web::start("a_cluster_of_two_is_merged", &settings) else { return };
    let names = web.json("/metrics/expand?query=*");
    assert_eq!(names["results"].as_array().unwrap().last(), Some(&json!("only")));
    // Leaves that both have are listed once, and are not lost.
    assert_eq!(web.json("/metrics/find?query=app.web1.*").as_array().unwrap().len(), 2);
    assert_eq!(web.json("/metrics/find?query=only.*").as_array().unwrap().len(), 1);
    let rendered = web.json(&format!("/render?{}&target=app.*.cpu", one.window()));
    assert_eq!(rendered.as_array().unwrap().len(), 2);
}

#[test]
fn a_cluster_completes_tags() {
    let test = "a_cluster_completes_tags";
    let metrics = Metrics::store();
    for post in ["False", "True"] {
        let settings = settings_with(&metrics, &format!("REMOTE_STORE_USE_POST = {post}"));
        let Some(web) = Web::start(test, &settings) else { return };
        assert_eq!(web.json("/tags/autoComplete/tags?tagPrefix=h"), json!(["host"]));
        assert_eq!(web.json("/tags/autoComplete/values?tag=host&expr=dc=a"), json!(["web1"]));
    }
}

/// graphite-web has a tag database of its own for the same API: it works, too.
#[test]
fn the_tag_database_over_http_works() {
    let test = "the_tag_database_over_http_works";
    let metrics = Metrics::store();
    let Some(web) = Web::start(test, &settings(&metrics)) else { return };
    for question in
        ["/tags", "/tags/host", "/tags/findSeries?expr=host=web1", "/tags/autoComplete/values?tag=host"]
    {
        assert_eq!(web.json(question), metrics.server.json(question), "{question}");
    }
}
