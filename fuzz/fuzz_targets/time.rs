//! Any text is a time or is refused, in any time zone.
#![no_main]

use jiff::tz::TimeZone;
use libfuzzer_sys::fuzz_target;
use graphite_render::time::parse_offset_secs;
use graphite_render::time::parse_time;

fuzz_target!(|text: &str| {
    let _ = parse_offset_secs(text);
    for zone in ["UTC", "Europe/Berlin", "Asia/Kathmandu"] {
        let zone = TimeZone::get(zone).unwrap_or(TimeZone::UTC);
        let _ = parse_time(text, 1_794_789_000, &zone);
    }
});
