//! Whisper files of both formats: junk never panics or allocates without bound, every point that is read has a place, and what
//! can be read from carbon's format can be written again and comes back equal.
//!
//! A checksum keeps most junk out of compressed blocks, so the input is also taken as the inside of one.

#![no_main]

use libfuzzer_sys::fuzz_target;
use plumbago::whisper::{Format, compressed, encode, parse};
use plumbago_model::{Dialect, Policy};

/// The present time of the seeds.
const NOW: u32 = 1_700_000_990;

fuzz_target!(|bytes: &[u8]| {
    let mut points = 0;
    let _ = compressed::decode(bytes, 10, |_| points += 1);
    assert!(points <= bytes.len() * 4);

    let Ok(series) = parse(bytes, NOW) else { return };
    for archive in &series.archives {
        let times: Vec<u32> = archive.points.iter().map(|point| point.timestamp).collect();
        assert!(times.is_sorted_by(|a, b| a < b) && times.len() <= archive.stage.points as usize);
        let live = |&time: &u32| time % archive.stage.step_secs == 0 && (archive.oldest..=NOW).contains(&time);
        assert!(times.iter().all(live));
        assert!(archive.points.iter().all(|point| !point.value.is_nan()));
    }
    let finest = series.archives[0].points.len();
    let stretches = series.clone().stretches();
    assert_eq!(stretches[0].points.len() + stretches[0].covered.len(), finest);

    let (Format::Plain, Some(aggregator)) = (series.header.format, series.header.method.aggregator()) else { return };
    let retention = series.header.retention.clone();
    let policy = Policy { retention, aggregator, x_files_factor: series.header.x_files_factor, dialect: Dialect::Carbon };
    let archives: Vec<_> = series.archives.iter().map(|archive| archive.points.as_slice()).collect();
    let again = encode(&policy, &archives).expect("what was read can be written");
    let mut back = parse(&again, NOW).expect("what was written can be read");
    // Points of the future were counted and left out.
    back.archives.iter_mut().zip(&series.archives).for_each(|(back, archive)| back.ahead = archive.ahead);
    assert_eq!(back, series);
});
