//! Connecting, and failing to.

use std::time::Duration;

use plumbago::store::StoreError;
use plumbago::store::cassandra::{Cluster, Fault, Settings};

use crate::node;

#[test]
fn a_session_is_opened() {
    let Some(settings) = node::shared("a_session_is_opened") else { return };
    let cluster = Cluster::connect(settings).unwrap();
    assert!(cluster.is_connected());
    let version = cluster.version().unwrap();
    assert!(version.starts_with(['4', '5']), "{version}");
}

/// The HTTP workers are such threads.
#[test]
fn a_blocking_thread_of_another_runtime_may_ask() {
    let Some(settings) = node::shared("a_blocking_thread_of_another_runtime_may_ask") else { return };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let version = runtime.block_on(async {
        let cluster = std::sync::Arc::new(Cluster::new(settings).unwrap());
        let asked = cluster.clone();
        // The last owner goes on a thread that must not block.
        let version = tokio::task::spawn_blocking(move || asked.version()).await.unwrap();
        drop(cluster);
        version
    });
    assert!(version.is_ok(), "{version:?}");
}

#[test]
fn an_unreachable_node_is_named_with_what_to_do() {
    let settings = Settings {
        nodes: vec!["127.0.0.1:1".to_owned()],
        connect_timeout: Duration::from_secs(2),
        ..Settings::default()
    };
    let cluster = Cluster::new(settings).unwrap();
    let error = cluster.version().unwrap_err();
    assert_eq!(error.fault, Fault::Unreachable);
    let text = error.to_string();
    assert!(text.starts_with("cannot connect to Cassandra at 127.0.0.1:1: "), "{text}");
    assert!(text.contains("store.cassandra.nodes"), "{text}");
    assert!(StoreError::from(error).is_retryable());
    assert!(!cluster.is_connected());
}
