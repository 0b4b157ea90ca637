//! Imports and exports: what is taken, what is refused, and from whom.

use serde_json::json;

use super::Server;
use crate::bundle::{Archive, Bundle, Bundles, encode};
use crate::store::Column;

fn bundle(name: &str, slots: u32) -> Bundle {
    let times: Vec<u32> = (1..=slots).map(|nth| nth * 60).collect();
    let column = Column { values: vec![1.5; times.len()], times, counts: Vec::new() };
    let archives = vec![Archive { step_secs: 60, points: slots, column }];
    Bundle { name: name.to_owned(), policy: "1440*60s|average|0.5".parse().unwrap(), archives }
}

fn encoded(bundles: &[Bundle]) -> Vec<u8> {
    let mut bytes = Vec::new();
    bundles.iter().for_each(|bundle| encode(bundle, &mut bytes));
    bytes
}

#[test]
fn what_goes_in_comes_out() {
    let server = Server::start();
    let sent = [bundle("a.b", 10), bundle("c", 5)];
    let reply = server.request("POST", "/internal/import?keep_policy=1&from=60", &[], encoded(&sent));
    assert_eq!(reply.status, 200, "{}", reply.body);
    let answer: serde_json::Value = serde_json::from_str(&reply.body).unwrap();
    assert_eq!((&answer["metrics"], &answer["points"]), (&json!(2), &json!(15)));
    let (_, options) = server.backend.imported.lock()[0].clone();
    assert_eq!((options.keep_policy, options.window), (true, (60, u32::MAX)));
    let reply = server.request("POST", "/internal/export", &[], "c\nnot.there\na.b\n");
    let back: Vec<Bundle> = Bundles::new(&*reply.bytes).collect::<Result<_, _>>().unwrap();
    assert_eq!(back, sent);
}

#[test]
fn an_answer_holds_as_many_bundles_as_fit() {
    let server = Server::start();
    let sent: Vec<Bundle> = (0..9).map(|nth| bundle(&format!("m{nth}"), 100)).collect();
    assert_eq!(server.request("POST", "/internal/import", &[], encoded(&sent)).status, 200);
    let names: String = sent.iter().map(|bundle| format!("{}\n", bundle.name)).collect();
    let reply = server.request("POST", "/internal/export", &[], names);
    let back = Bundles::new(&*reply.bytes).count();
    assert!((1..9).contains(&back), "{back}");
}

#[test]
fn what_cannot_be_read_is_refused_with_the_reason() {
    let server = Server::start();
    let mut broken = encoded(&[bundle("a", 3)]);
    *broken.last_mut().unwrap() ^= 1;
    for (body, status, reason) in [
        (broken, 400, "checksum"),
        (b"PLBUNDL9 and more".to_vec(), 400, "another version"),
        (encoded(&[bundle("a", 2000)]), 413, "10000 bytes"),
    ] {
        let reply = server.request("POST", "/internal/import", &[], body);
        assert_eq!(reply.status, status);
        assert!(reply.body.contains(reason), "{}", reply.body);
    }
    assert!(server.backend.imported.lock().is_empty());
}

#[test]
fn what_a_proxy_or_another_site_sends_is_forbidden() {
    let server = Server::start();
    for header in [("x-forwarded-for", "192.0.2.1"), ("origin", "http://elsewhere.example")] {
        for path in ["/internal/import", "/internal/export/"] {
            let reply = server.request("POST", path, &[header], "");
            assert_eq!(reply.status, 403, "{path} {header:?}");
            assert!(reply.body.contains("same machine"), "{}", reply.body);
        }
    }
}
