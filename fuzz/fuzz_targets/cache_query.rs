//! Any bytes as a cache query: read or refused, and in names never more than came.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plumbago::parse::pickle::Request;

fuzz_target!(|bytes: &[u8]| {
    let length = match Request::read(bytes) {
        Ok(Request::Points(metric)) => metric.len(),
        Ok(Request::PointsOf(metrics)) => metrics.iter().map(String::len).sum(),
        Ok(Request::Get { metric, key } | Request::Set { metric, key }) => metric.len().max(key.len()),
        _ => return,
    };
    // Old protocols have letters that take a byte there and two here.
    assert!(length <= 2 * bytes.len());
});
