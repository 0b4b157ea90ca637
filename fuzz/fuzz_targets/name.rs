//! Any text as a name: refused, or turned into a spelling that keeps the rules and does not change again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plumbago_model::name;

const MAX_BYTES: usize = 256;

fuzz_target!(|raw: &str| {
    let Ok(stored) = name::canonical(raw, MAX_BYTES) else { return };
    assert!(!stored.is_empty() && stored.len() <= raw.len() && stored.len() <= MAX_BYTES);
    assert!(!stored.contains(char::is_control));
    assert_eq!(name::canonical(&stored, MAX_BYTES).as_ref(), Ok(&stored));

    let tags = name::tags(&stored);
    let metric = if name::is_tagged(&stored) { tags["name"] } else { &stored };
    assert!(metric.split('.').all(|component| !component.is_empty()));
    assert!(metric.split('.').count() <= name::MAX_COMPONENTS);
    assert_eq!(name::is_tagged(&stored), tags.len() > 1);
    if name::is_tagged(&stored) {
        let mut listed: Vec<String> = tags
            .iter()
            .filter(|(key, _)| **key != "name")
            .map(|(key, value)| format!(";{key}={value}"))
            .collect();
        listed.sort();
        assert_eq!(format!("{metric}{}", listed.concat()), *stored);
    }
});
