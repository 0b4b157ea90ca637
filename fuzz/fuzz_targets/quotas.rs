//! go-carbon's `storage-quotas.conf`: reading neither panics nor runs away, and what is read names its line.
#![no_main]

use std::path::Path;
use std::sync::Arc;

use libfuzzer_sys::fuzz_target;
use plumbago::config::read_storage_quotas;

fuzz_target!(|text: &str| {
    let mut warnings = Vec::new();
    let path: Arc<Path> = Arc::from(Path::new("q.conf"));
    if let Ok(quotas) = read_storage_quotas(&path, text, &mut warnings) {
        for quota in &quotas {
            assert!(quota.origin.starts_with("q.conf:") && !quota.name.is_empty());
            assert_eq!(quotas.iter().filter(|other| other.name == quota.name).count(), 1);
        }
    }
    assert!(warnings.iter().all(|warning| warning.starts_with("q.conf:")));
});
