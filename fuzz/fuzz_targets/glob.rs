//! A pattern and a path, apart by a line end: parsing and matching neither panic nor run away, and a literal pattern
//! matches its own text.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plumbago_model::glob::Glob;

fuzz_target!(|text: &str| {
    let (pattern, path) = text.split_once('\n').unwrap_or((text, "servers.dc1.host1.cpu.load1"));
    if let Ok(glob) = Glob::parse(pattern) {
        glob.matches(path);
        if let Some(literal) = glob.literal() {
            assert!(glob.matches(literal), "{pattern:?} does not match {literal:?}");
        }
    }
});
