//! The table of endpoints says what the server does.

use super::super::endpoints::{Endpoint, endpoints};
use super::Server;

const METHODS: [&str; 5] = ["GET", "POST", "PUT", "DELETE", "PATCH"];

/// A path that leads to an endpoint, or would if it had the method.
fn example(path: &str) -> String {
    path.replace("{id}", "1").replace("{name}", "x").replace("{*tag}", "x")
}

/// Does the table have a row for this?
fn is_listed(method: &str, path: &str) -> bool {
    endpoints().any(|row| row.path == path && row.methods.iter().any(|listed| listed == method))
}

#[test]
fn every_path_takes_the_methods_of_its_rows_and_no_others() {
    let server = Server::start();
    for Endpoint { path, .. } in endpoints() {
        for method in METHODS {
            for path in [example(path), format!("{}/", example(path).trim_end_matches('/'))] {
                // A body that no endpoint likes: nothing is done, but the route is reached.
                let reply = server.request(method, &path, &[("content-type", "x/y")], "x");
                let taken = reply.status != 405;
                let listed = endpoints().any(|row| {
                    example(row.path).trim_end_matches('/') == path.trim_end_matches('/')
                        && is_listed(method, row.path)
                });
                assert_eq!(taken, listed, "{method} {path}: {} {}", reply.status, reply.body);
            }
        }
    }
}

#[test]
fn a_wrong_path_is_answered_with_all_endpoints() {
    let reply = Server::start().get("/nowhere");
    for Endpoint { path, .. } in endpoints() {
        assert!(reply.body.lines().any(|line| line.split(' ').next() == Some(path)), "{path}");
    }
}
