//! Any bytes as what a Ceres client sends: each item is taken or refused, and what is taken keeps the rules.
#![no_main]

use std::ops::ControlFlow;

use libfuzzer_sys::fuzz_target;
use plumbago::parse::{Limits, ceres};
use plumbago_model::name;

const LIMITS: Limits = Limits {
    now: 1_700_000_000,
    max_future_secs: 86_400,
    keep_infinite: false,
    max_line_bytes: 256,
    max_name_bytes: 128,
};

fuzz_target!(|bytes: &[u8]| {
    let mut places = 0;
    ceres::read(bytes, &LIMITS, &mut |place, item| {
        assert_eq!(place, places);
        places += 1;
        let Ok(item) = item else { return ControlFlow::Continue(()) };
        assert!(item.point.value.is_finite() && !item.tags.is_empty());
        assert!(item.point.timestamp <= LIMITS.now + LIMITS.max_future_secs);
        for suffix in ["", "_min"] {
            if let Ok(series) = item.series(suffix, &LIMITS) {
                assert!(name::is_tagged(&series));
                assert_eq!(name::canonical(&series, LIMITS.max_name_bytes).as_deref(), Ok(&*series));
            }
        }
        ControlFlow::Continue(())
    });
});
