//! Configuration and rule files: any text is read or refused, and a refusal names the file.
//!
//! The first byte says which file the rest of the text is: `plumbago.toml`, one of carbon's two, or one of the four with rules for names.
#![no_main]

use std::path::PathBuf;
use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use plumbago::config::{Loaded, Sources};
use plumbago::rules::Rules;

const FILES: [&str; 7] = [
    "plumbago.toml",
    "storage-schemas.conf",
    "storage-aggregation.conf",
    "blacklist.conf",
    "whitelist.conf",
    "rewrite-rules.conf",
    "aggregation-rules.conf",
];

static DIR: LazyLock<PathBuf> = LazyLock::new(|| {
    let dir = std::env::temp_dir().join(format!("plumbago-fuzz-config-{}", std::process::id()));
    std::fs::create_dir_all(&dir).expect("room for a directory");
    dir
});

fn load() -> Result<(), String> {
    let file = Some(DIR.join("plumbago.toml"));
    let loaded = Loaded::new(&Sources { file, ..Sources::default() }).map_err(|error| error.to_string())?;
    let rules = Rules::open(&loaded.config.rules, Default::default()).map_err(|error| error.to_string())?;
    drop(rules);
    Ok(())
}

fuzz_target!(|text: &str| {
    let which = text.bytes().next().map_or(0, usize::from) % FILES.len();
    let rest = text.get(1..).unwrap_or_default();
    for (at, name) in FILES.iter().enumerate() {
        let content = match at {
            _ if at == which => rest.to_owned(),
            0 => "[rules]\nblacklist = \"blacklist.conf\"\nwhitelist = \"whitelist.conf\"\nrewrite = \"rewrite-rules.conf\"\n\
                  aggregation = \"aggregation-rules.conf\"\n"
                .to_owned(),
            _ => String::new(),
        };
        std::fs::write(DIR.join(name), content).expect("room for a file");
    }
    if let Err(error) = load() {
        assert!(!error.is_empty());
        assert!(which == 0 || error.contains(FILES[which]), "{}: {error}", FILES[which]);
    }
});
