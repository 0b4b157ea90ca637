//! The doors of KairosDB, OpenTSDB and Ceres in front of a cluster.

use plumbago::store::cassandra::Settings;

use crate::harness::Setup;
use crate::meeting;
use crate::servers::{schema, setup};

/// A server that keeps what comes through these doors in tables that are there.
fn with_doors(settings: &Settings) -> Setup {
    setup(settings, "memory").set("kairosdb.retention", crate::servers::RETENTIONS)
}

#[test]
fn metadata_is_shared_by_the_servers_of_a_cluster() {
    let Some(settings) = schema("metadata_is_shared_by_the_servers_of_a_cluster") else { return };
    let (one, two) = (with_doors(settings).start(), with_doors(settings).start());
    meeting::metadata_comes_and_goes(&one);
    let name = crate::servers::fresh("service");
    let at = |rest: &str| format!("/api/v1/metadata/{name}/{rest}");
    assert_eq!(one.post_text(&at("disk/unit"), "MB").status, 204);
    assert_eq!(two.get(&at("disk/unit")).body, "MB");
    assert_eq!(two.delete(&at("disk/unit")).status, 204);
    assert_eq!(one.get(&at("disk/unit")).status, 404);
}
