//! Data for targets that evaluate.

use std::sync::Arc;
use std::time::{Duration, Instant};

use plumbago_model::{Cancel, QueryError};
use graphite_render::Request;
use graphite_render::render;
use graphite_render::{FetchRequest, Fetched, Source};

/// Two short series for every pattern, on different steps and with nulls.
struct Everything;

impl Source for Everything {
    fn fetch(&self, requests: &[FetchRequest], _: &Cancel) -> Result<Vec<Vec<Fetched>>, QueryError> {
        let series = |request: &FetchRequest, step: i64| {
            let start = request.from - request.from.rem_euclid(step) + step;
            let values: Arc<[f64]> = (0..16).map(|i| if i % 5 == 3 { f64::NAN } else { f64::from(i) }).collect();
            Fetched { name: format!("{};step={step}", request.pattern), start, end: start + 16 * step, step, values }
        };
        Ok(requests.iter().map(|request| vec![series(request, 10), series(request, 60)]).collect())
    }
}

/// Evaluates a target as a server does: with bounds on points and time.
pub(crate) fn evaluate(target: &str) {
    let mut request = Request::new(1_000_000_000, 1_000_000_600, 1_000_000_600);
    request.max_points = 100_000;
    let deadline = Cancel::at(Instant::now() + Duration::from_secs(5));
    let _ = render(&[target.to_owned()], &request, &Everything, &deadline);
}
