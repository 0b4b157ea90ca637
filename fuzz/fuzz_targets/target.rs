//! Any text is read as a target or refused, and what is read can be evaluated without a panic.
#![no_main]

use std::sync::Arc;

use libfuzzer_sys::fuzz_target;
use plumbago::model::Cancel;
use plumbago::render::context::Request;
use plumbago::render::exec::render;
use plumbago::render::grammar;
use plumbago::render::source::{FetchRequest, Fetched, Source, SourceError};

/// Two short series for every pattern, on different steps and with nulls.
struct Everything;

impl Source for Everything {
    fn fetch(&self, requests: &[FetchRequest], _: &Cancel) -> Result<Vec<Vec<Fetched>>, SourceError> {
        let series = |request: &FetchRequest, step: i64| {
            let start = request.from - request.from.rem_euclid(step) + step;
            let values: Arc<[f64]> = (0..16).map(|i| if i % 5 == 3 { f64::NAN } else { f64::from(i) }).collect();
            Fetched { name: format!("{};step={step}", request.pattern), start, end: start + 16 * step, step, values }
        };
        Ok(requests.iter().map(|request| vec![series(request, 10), series(request, 60)]).collect())
    }
}

fuzz_target!(|text: &str| {
    let _ = grammar::first_path(text);
    if grammar::parse(text).is_ok() {
        let mut request = Request::new(1_000_000_000, 1_000_000_600, 1_000_000_600);
        request.max_points = 100_000;
        let _ = render(&[text.to_owned()], &request, &Everything, &Cancel::never());
    }
});
