//! Any bytes as the JSON of KairosDB and OpenTSDB and as their lines: what is taken is a tagged name in its stored spelling, and goes
//! back into the metric and the tags that it was made of.
#![no_main]

use std::ops::ControlFlow;

use libfuzzer_sys::fuzz_target;
use plumbago::parse::Limits;
use plumbago::parse::labelled::{Faults, Gathered, datapoints, put, telnet};
use plumbago_model::{labelled, name};

const LIMITS: Limits = Limits {
    now: 1_700_000_000,
    max_future_secs: 86_400,
    keep_infinite: false,
    max_line_bytes: 256,
    max_name_bytes: 128,
};

fn check(gathered: &Gathered) {
    for (stored, point) in &gathered.batch().entries {
        assert_eq!(name::canonical(stored, LIMITS.max_name_bytes).as_deref(), Ok(*stored));
        assert!(name::is_tagged(stored));
        let (metric, tags) = labelled::parts(stored);
        let tags: Vec<(&str, &str)> = tags.iter().map(|(key, value)| (&**key, &**value)).collect();
        assert_eq!(labelled::series_name(&metric, &tags).as_deref(), Ok(*stored));
        assert!(point.value.is_finite() && point.timestamp <= LIMITS.now + LIMITS.max_future_secs);
    }
}

fuzz_target!(|bytes: &[u8]| {
    for read in [datapoints::read, put::read] {
        read(bytes, &LIMITS, &mut Faults::new(3), &mut |gathered, _| {
            check(gathered);
            ControlFlow::Continue(())
        });
    }
    let mut told = telnet::Told::default();
    let mut refused = 0;
    telnet::parse_lines(bytes, &LIMITS, &mut told, |_, _| refused += 1);
    assert_eq!(told.lines, refused + told.gathered.iter().map(|gathered| gathered.len() as u64).sum::<u64>());
    told.gathered.iter().for_each(check);
});
