//! Two servers at once: their answers are compared, one fills the gaps of the other, and metrics are copied.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener};
use std::process::Output;
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use crate::graphite_web::web::Web;
use crate::harness::{Server, Setup, now};

/// Runs a command beside the server, which it finds by its configuration.
fn ask(server: &Server, arguments: &[&str]) -> Output {
    let http = format!("listen.http={}", server.http);
    server.setup().run(&[&["--set", http.as_str()], arguments].concat())
}

fn url(server: &Server) -> String {
    format!("http://{}", server.http)
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[track_caller]
fn ended_with(output: &Output, code: i32) {
    let (out, said) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(code), "{said}\n{out}");
}

/// What a command printed with `--output json`.
#[track_caller]
fn report(output: &Output, code: i32) -> Value {
    ended_with(output, code);
    serde_json::from_slice(&output.stdout).unwrap()
}

/// An address at which nobody listens: the port was free a moment ago.
fn nobody() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap()
}

/// A server that answers everything with 200 and the same body.
fn parrot(body: &'static str) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            let mut buffer = [0; 65_536];
            if stream.read(&mut buffer).is_ok_and(|read| read > 0) {
                let head = format!("HTTP/1.0 200 OK\r\nContent-Length: {}\r\n\r\n", body.len());
                // A client that has enough may be gone.
                let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body.as_bytes()));
                // What of the request has not been read when the connection is closed would reset it, and the answer with it.
                let _ = stream.shutdown(Shutdown::Write);
                let _ = stream.set_read_timeout(Some(Duration::from_secs(5)));
                while stream.read(&mut buffer).is_ok_and(|read| read > 0) {}
            }
        }
    });
    address
}

/// Points of one metric every ten seconds, the last of them ten minutes ago.
fn lines(name: &str, at: u64, points: u64, value: impl Fn(u64) -> f64) -> String {
    let begin = (at - 600) / 60 * 60 - points * 10;
    (0..points).map(|nth| format!("{name} {} {}\n", value(nth), begin + nth * 10)).collect()
}

#[test]
fn servers_with_the_same_points_are_equal_and_differences_are_shown() {
    let (here, there) = (Server::start(), Server::start());
    let at = now();
    let same = lines("same.a", at, 60, |nth| nth as f64 / 7.0) + &lines("same.b", at, 60, |nth| nth as f64);
    let ours =
        lines("other.x", at, 10, |nth| if nth == 4 { 1.0 } else { 2.0 }) + &lines("mine", at, 3, |_| 1.0);
    let theirs =
        lines("other.x", at, 10, |nth| if nth == 4 { 4.0 } else { 2.0 }) + &lines("yours", at, 3, |_| 1.0);
    here.store(&(same.clone() + &ours));
    there.store(&(same + &theirs));
    let with = url(&there);
    let compare = |more: &[&str]| ask(&here, &[&["compare", "--with", &with], more].concat());

    let equal = compare(&["same.*", "sumSeries(same.*)", "--output", "json"]);
    let told = report(&equal, 0);
    assert_eq!(
        (&told["equal"], &told["different"], &told["series"]),
        (&2.into(), &0.into(), &3.into()),
        "{told}"
    );
    assert_eq!(told["points"], 180, "{told}");

    let differs = compare(&["same.a", "other.x", "{mine,yours}"]);
    ended_with(&differs, 1);
    let out = text(&differs.stdout);
    assert!(out.contains("1 of 10 points differ, first at ") && out.contains(": 1 here, 4 there"), "{out}");
    assert!(out.contains("largest relative difference 0.75"), "{out}");
    assert!(out.contains("only here: mine") && out.contains("only there: yours"), "{out}");
    assert!(out.contains("3 targets: 1 equal, 2 different") && !out.contains("\nsame.a"), "{out}");
    ended_with(&compare(&["other.x", "--tolerance", "0.75"]), 0);
    ended_with(&compare(&["other.x", "--tolerance", "0.74"]), 1);
    // The one point that differs lies outside.
    let from = ((at - 600) / 60 * 60 - 50).to_string();
    ended_with(&compare(&["other.x", "--from", &from]), 0);

    // The same from a store without a server.
    let (_, setup) = here.stop("TERM");
    ended_with(&setup.run(&["compare", "--with", &with, "same.*"]), 0);
    ended_with(&setup.run(&["compare", "--with", &with, "other.x"]), 1);
}

#[test]
fn targets_come_from_files_and_dashboards() {
    let (here, there) = (Server::start(), Server::start());
    let at = now();
    for server in [&here, &there] {
        server.store(
            &(lines("servers.web1.cpu", at, 10, |_| 1.0) + &lines("servers.web2.cpu", at, 10, |_| 2.0)),
        );
    }
    let folder = here.setup().directory().to_owned();
    fs::write(folder.join("targets.txt"), "# of the web servers\nservers.web1.cpu\n\nservers.web2.cpu\n")
        .unwrap();
    let panel = json!({ "datasource": { "type": "graphite" }, "targets": [
        { "refId": "A", "target": "servers.$host.cpu" },
        { "refId": "B", "target": "sumSeries(#A)", "targetFull": "sumSeries(servers.$host.cpu)" } ] });
    let variable = json!({ "name": "host", "current": { "value": "$__all" } });
    let dashboard = json!({ "panels": [panel], "templating": { "list": [variable] } });
    fs::write(folder.join("dashboard.json"), dashboard.to_string()).unwrap();
    let with = url(&there);
    let compare = |more: &[&str]| ask(&here, &[&["compare", "--with", &with], more].concat());
    let asked = |told: &Value| -> Vec<String> {
        told["targets"].as_array().unwrap().iter().map(|t| t["target"].as_str().unwrap().to_owned()).collect()
    };

    let told = report(&compare(&["--targets", "targets.txt", "servers.web1.cpu", "--output", "json"]), 0);
    assert_eq!(asked(&told), ["servers.web1.cpu", "servers.web2.cpu"]);
    let told = report(&compare(&["--output", "json", "--dashboards", "dashboard.json"]), 0);
    assert_eq!(asked(&told), ["servers.*.cpu", "sumSeries(servers.*.cpu)"]);
    assert_eq!(told["series"], 3);
    let told = report(
        &compare(&["--output", "json", "--variable", "host=web2", "--dashboards", "dashboard.json"]),
        0,
    );
    assert_eq!(asked(&told), ["servers.web2.cpu", "sumSeries(servers.web2.cpu)"]);

    ended_with(&compare(&[]), 2);
    ended_with(&compare(&["a", "--variable", "host"]), 2);
    ended_with(&compare(&["a", "--from", "-1h", "--until", "-2h"]), 2);
    let missing = compare(&["--targets", "nowhere.txt"]);
    ended_with(&missing, 1);
    assert!(text(&missing.stderr).contains("nowhere.txt"), "{}", text(&missing.stderr));
    let broken = compare(&["--dashboards", "targets.txt"]);
    ended_with(&broken, 1);
    assert!(text(&broken.stderr).contains("targets.txt (--dashboards)"), "{}", text(&broken.stderr));
}

#[test]
fn servers_that_are_away_or_answer_nonsense_are_named() {
    let here = Server::start();
    here.store(&lines("a.b", now(), 3, |_| 1.0));
    let away = nobody().to_string();
    let gone = ask(&here, &["compare", "--with", &format!("http://{away}"), "a.b"]);
    ended_with(&gone, 1);
    let said = text(&gone.stderr);
    assert!(said.contains(&away) && said.contains("(--with)"), "{said}");
    ended_with(&ask(&here, &["compare", "--with", "ftp://graphite.example", "a.b"]), 2);

    let page = parrot("<html>hello</html>");
    let told =
        report(&ask(&here, &["compare", "--with", &format!("http://{page}"), "a.b", "--output", "json"]), 1);
    let said = told["targets"][0]["said_there"].as_str().unwrap();
    assert!(said.contains("not the JSON of /render") && said.contains("<html>"), "{told}");
    assert_eq!(told["targets"][0]["said_here"], "(answered with 1 series)", "{told}");
}

#[test]
fn a_target_that_one_side_refuses_differs() {
    let (here, there) = (Server::start(), Setup::new().set("query.max_series", "1").start());
    let at = now();
    for server in [&here, &there] {
        server.store(&(lines("s.a", at, 10, |_| 1.0) + &lines("s.b", at, 10, |_| 2.0)));
    }
    let with = url(&there);
    let told = report(&ask(&here, &["compare", "--with", &with, "s.*", "s.a", "--output", "json"]), 1);
    assert_eq!((&told["equal"], &told["different"]), (&1.into(), &1.into()), "{told}");
    let refused = &told["targets"][0];
    assert_eq!(refused["said_here"], "(answered with 2 series)", "{told}");
    assert!(refused["said_there"].as_str().unwrap().contains(&there.http.to_string()), "{told}");
    let out = text(&ask(&here, &["compare", "--with", &with, "s.*"]).stdout);
    assert!(out.contains("  here: (answered") && out.contains("  there: the server at"), "{out}");
    // Both refuse it: nothing was compared, so nothing is equal.
    ended_with(&ask(&here, &["compare", "--with", &with, "noSuchFunction(s.a)"]), 1);
}

/// A graphite-web on whisper files that the server has exported.
fn graphite_web(test: &str, server: &Server) -> Option<Web> {
    let dir = server.setup().directory().join("whisper");
    let dir = dir.to_str().unwrap();
    ended_with(&ask(server, &["export", "whisper", dir]), 0);
    Web::start(test, &format!("WHISPER_DIR = '{dir}'\nSTANDARD_DIRS = [WHISPER_DIR]\n"))
}

#[test]
fn graphite_web_is_compared_with() {
    let here = Server::start();
    let at = now();
    here.store(&(lines("w.a", at, 90, |nth| nth as f64 / 3.0) + &lines("w.b", at, 90, |nth| nth as f64)));
    let Some(web) = graphite_web("graphite_web_is_compared_with", &here) else { return };
    let with = format!("http://{}", web.address);
    let compare = |more: &[&str]| ask(&here, &[&["compare", "--with", &with], more].concat());
    let told = report(
        &compare(&["w.*", "sumSeries(w.*)", "scale(w.a, 1.7)", "--from", "-6h", "--output", "json"]),
        0,
    );
    assert_eq!((&told["series"], &told["points"]), (&4.into(), &360.into()), "{told}");
    here.store(&lines("w.a", at, 1, |_| 4711.0));
    let told = report(&compare(&["w.*", "--output", "json"]), 1);
    assert_eq!(told["targets"][0]["differing"][0]["differing"], 1, "{told}");
    // graphite-web answers with a page of HTML, of which one line is enough.
    let refused = text(&compare(&["noSuchFunction(w.a)"]).stdout);
    assert!(refused.contains("  there: the server at ") && refused.lines().count() < 6, "{refused}");
}

#[test]
fn gaps_are_filled_and_what_is_there_stays() {
    let (here, there) = (Server::start(), Server::start());
    let at = now();
    let whole = lines("f.a", at, 120, |nth| nth as f64) + &lines("f.b", at, 30, |nth| nth as f64);
    there.store(&(whole + &lines("g.a", at, 5, |_| 1.0)));
    // Every third point is here, with another value.
    let own = lines("f.a", at, 120, |nth| 1000.0 + nth as f64);
    let own: Vec<&str> = own.lines().step_by(3).collect();
    here.store(&(own.join("\n") + "\n"));
    let from = url(&there);
    let fill = |more: &[&str]| ask(&here, &[&["fill", "--from", &from, "--output", "json"], more].concat());

    let told = report(&fill(&["f.*"]), 0);
    assert_eq!(
        (&told["from"], &told["metrics"], &told["metrics_created"]),
        (&"plumbago".into(), &2.into(), &1.into())
    );
    assert_eq!(told["points"], 80 + 30, "{told}");
    let filled = here.points("f.a", at - 7200, at);
    let expected = there.points("f.a", at - 7200, at).into_iter().enumerate();
    let expected: Vec<_> = expected
        .map(|(nth, (value, time))| (if nth % 3 == 0 { 1000.0 + value } else { value }, time))
        .collect();
    assert_eq!((filled.len(), &filled), (120, &expected));
    assert_eq!(here.points("f.b", at - 7200, at), there.points("f.b", at - 7200, at));
    assert!(here.points("g.a", at - 7200, at).is_empty(), "the glob does not match it");

    let again = report(&fill(&["f.*"]), 0);
    assert_eq!((&again["points"], &again["metrics_created"]), (&0.into(), &0.into()), "{again}");
    // A part of the time, into a store without a server.
    let (_, setup) = here.stop("TERM");
    let begin = (at - 600) / 60 * 60 - 50;
    let (since, until) = ((begin + 10).to_string(), (begin + 30).to_string());
    let part = ["fill", "--from", &from, "g.*", "--since", &since, "--until", &until, "--output", "json"];
    assert_eq!(report(&setup.run(&part), 0)["points"], 2);
    let here = setup.start();
    let points = here.points("g.a", at - 7200, at);
    assert_eq!(points, [(1.0, begin + 10), (1.0, begin + 20)]);
}

#[test]
fn a_server_is_filled_from_graphite_web() {
    let source = Server::start();
    let at = now();
    let recent = lines("w.a.x", at, 90, |nth| nth as f64 / 3.0) + &lines("w.b", at, 90, |nth| nth as f64);
    // Older than the finest stage: these are kept in minutes.
    let minute = at / 60 * 60 - 3 * 86_400;
    let old: String = (0..30).map(|nth| format!("w.b {nth} {}\n", minute + nth * 60)).collect();
    source.store(&(recent + &old));
    let Some(web) = graphite_web("a_server_is_filled_from_graphite_web", &source) else { return };
    let here = Server::start();
    here.store(&lines("w.b", at, 1, |_| 4711.0));
    let from = format!("http://{}", web.address);
    let told = report(&ask(&here, &["fill", "--from", &from, "w.**", "--output", "json"]), 0);
    assert_eq!((&told["from"], &told["metrics"]), (&"graphite".into(), &2.into()), "{told}");
    let compare =
        |more: &[&str]| ask(&here, &[&["compare", "--with", &from, "--output", "json"], more].concat());
    let told = report(&compare(&["w.a.x", "--from", "-6h"]), 0);
    assert_eq!(told["points"], 90, "{told}");
    let old = (minute - 60).to_string();
    let told = report(&compare(&["w.b", "--from", &old, "--until", &(minute + 3600).to_string()]), 0);
    assert_eq!(told["points"], 30, "{told}");
    // What a sender sent stays.
    let kept = report(&compare(&["w.b", "--from", "-6h"]), 1);
    let differing = &kept["targets"][0]["differing"][0];
    assert_eq!((&differing["differing"], &differing["first"]["here"]), (&1.into(), &4711.0.into()), "{kept}");
    let again = report(&ask(&here, &["fill", "--from", &from, "w.**", "--output", "json"]), 0);
    assert_eq!(again["points"], 0, "{again}");
    let one = report(&ask(&here, &["fill", "--from", &from, "w.*.x", "--output", "json"]), 0);
    assert_eq!(one["metrics"], 1, "{one}");
    let tags = ask(&here, &["fill", "--from", &from, "w.*;dc=ams"]);
    ended_with(&tags, 1);
    assert!(text(&tags.stderr).contains("by their tags only"), "{}", text(&tags.stderr));
}

#[test]
fn a_server_that_cannot_fill_is_named() {
    let here = Server::start();
    here.store(&lines("a.b", now(), 3, |_| 1.0));
    let away = nobody().to_string();
    let said = |output: &Output| text(&output.stderr);
    let gone = ask(&here, &["fill", "--from", &format!("http://{away}")]);
    ended_with(&gone, 1);
    assert!(said(&gone).contains(&away) && said(&gone).contains("(--from)"), "{}", said(&gone));
    let page = format!("http://{}", parrot("<html>hello</html>"));
    let nonsense = ask(&here, &["fill", "--from", &page]);
    ended_with(&nonsense, 1);
    assert!(said(&nonsense).contains(&page) && said(&nonsense).contains("index.json"), "{}", said(&nonsense));
    let itself = ask(&here, &["fill", "--from", &url(&here)]);
    ended_with(&itself, 2);
    assert!(said(&itself).contains("from itself"), "{}", said(&itself));
    ended_with(&ask(&here, &["fill", "--from", &page, "--since", "-1h", "--until", "-2h"]), 2);
    let nothing = ask(&here, &["fill", "--from", &url(&Server::start()), "no.*"]);
    ended_with(&nothing, 1);
    assert!(said(&nothing).contains("nothing matches `no.*`"), "{}", said(&nothing));
}

/// Metrics with points in the finest stage and older ones.
fn with_history(at: u64) -> String {
    let minute = at / 60 * 60 - 3 * 86_400;
    let old: String = (0..30).map(|nth| format!("c.b {nth} {}\n", minute + nth * 60)).collect();
    lines("c.a", at, 120, |nth| nth as f64 / 3.0)
        + &lines("c.b", at, 120, |nth| nth as f64)
        + &old
        + &lines("disk;host=web1", at, 10, |_| 5.0)
}

#[test]
fn metrics_are_copied_to_another_server_and_read_back() {
    let (here, there) = (Server::start(), Setup::new().set("retention.default", "1m:2d").start());
    let at = now();
    here.store(&with_history(at));
    let to = url(&there);
    let copy = |more: &[&str]| ask(&here, &[&["copy", "--to", &to, "--output", "json"], more].concat());
    let trial = report(&copy(&["c.*", "--dry-run"]), 0);
    assert_eq!(trial["metrics"], json!(["c.a", "c.b"]));
    assert!(there.json("/metrics/index.json").as_array().unwrap().is_empty());

    let told = report(&copy(&["c.*"]), 0);
    assert_eq!((&told["metrics_created"], &told["verified"]), (&2.into(), &2.into()), "{told}");
    assert_eq!((&told["points"], &told["different"]), (&240.into(), &json!([])), "{told}");
    let tagged = report(&copy(&["disk;host=web*"]), 0);
    assert_eq!(tagged["verified"], 1, "{tagged}");
    let compare =
        |more: &[&str]| ask(&here, &[&["compare", "--with", &to, "--output", "json"], more].concat());
    assert_eq!(report(&compare(&["c.*", "--from", "-6h"]), 0)["points"], 240);
    let old = (at / 60 * 60 - 3 * 86_400 - 60).to_string();
    let told = report(&compare(&["c.b", "--from", &old, "--until", "-2d"]), 0);
    assert_eq!(told["points"], 30, "{told}");
    assert!(!here.setup().directory().join("plumbago-copy.journal").exists());

    let again = report(&copy(&["c.*"]), 0);
    assert_eq!((&again["points"], &again["merged"]), (&0.into(), &2.into()), "{again}");
    let ruled = Setup::new().set("retention.default", "1m:2d").start();
    let ruled_url = url(&ruled);
    let told = report(&ask(&here, &["copy", "--to", &ruled_url, "--by-rules", "c.*", "--output", "json"]), 0);
    assert_eq!((&told["kept_by_other_rules"], &told["verified"]), (&2.into(), &0.into()), "{told}");
}

#[test]
fn metrics_are_copied_into_the_store_of_another_configuration_and_a_copy_goes_on_where_it_was() {
    let here = Server::start();
    let at = now();
    here.store(&with_history(at));
    let folder = here.setup().directory().to_owned();
    let (config, data) = (folder.join("other.toml"), folder.join("other"));
    fs::write(&config, "[store]\npath = 'other'\nreserve_bytes = 0\n").unwrap();
    let config = config.to_str().unwrap();
    let journal = folder.join("plumbago-copy.journal");
    // A copy that was killed when it was done with one metric.
    let head = format!(
        "plumbago copy c.* of the server at {} to the store at {}, 0 to {}",
        here.http,
        data.display(),
        u32::MAX
    );
    fs::write(&journal, format!("{head}\nc.a\n")).unwrap();
    let told = report(&ask(&here, &["copy", "--to", config, "c.*", "--output", "json"]), 0);
    assert_eq!((&told["copied_earlier"], &told["verified"]), (&1.into(), &1.into()), "{told}");
    assert!(!journal.exists());
    // Without a server, and into its own store.
    let points = here.points("c.b", at - 7200, at);
    let (_, setup) = here.stop("TERM");
    let itself = folder.join("itself.toml");
    fs::write(&itself, "[store]\npath = 'data'\n").unwrap();
    ended_with(&setup.run(&["copy", "--to", itself.to_str().unwrap(), "c.*"]), 2);
    let told = report(&setup.run(&["copy", "--to", config, "c.a", "--output", "json"]), 0);
    assert_eq!(told["verified"], 1, "{told}");
    let there = Setup::new().data(&data).start();
    assert_eq!(there.points("c.b", at - 7200, at), points);
    assert_eq!(there.points("c.a", at - 7200, at).len(), 120);
}

#[test]
fn a_place_that_cannot_be_copied_to_is_named() {
    let here = Server::start();
    here.store(&lines("a.b", now(), 3, |_| 1.0));
    let copy = |more: &[&str]| ask(&here, &[&["copy"], more].concat());
    let said = |output: &Output| text(&output.stderr);
    let away = format!("http://{}", nobody());
    let gone = copy(&["--to", &away, "a.*"]);
    ended_with(&gone, 1);
    assert!(
        said(&gone).contains(away.trim_start_matches("http://")) && said(&gone).contains("(--to)"),
        "{}",
        said(&gone)
    );
    let missing = copy(&["--to", "nowhere.toml", "a.*"]);
    ended_with(&missing, 2);
    assert!(said(&missing).contains("`nowhere.toml`"), "{}", said(&missing));
    ended_with(&copy(&["--to", &url(&here), "a.*"]), 2);
    ended_with(&copy(&["--to", &away, "a.b", "c.d"]), 2);
    ended_with(&copy(&["a.b"]), 2);
    ended_with(&copy(&["a.b", "c.d", "--by-rules"]), 2);
    let page = format!("http://{}", parrot("<html>hello</html>"));
    ended_with(&copy(&["--to", &page, "a.*"]), 1);
    let nothing = copy(&["--to", &page, "no.*"]);
    assert!(said(&nothing).contains("nothing matches `no.*`"), "{}", said(&nothing));
}
