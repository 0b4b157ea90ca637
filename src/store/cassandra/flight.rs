//! Requests in flight: many at once, but never more than a limit.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::task::{JoinError, JoinSet};

use super::{ClusterError, Fault};

/// A task on the heap: what runs tasks is compiled for each type of them, and this is one type for all with the same result.
pub(super) type Worker<R> = Pin<Box<dyn Future<Output = R> + Send>>;

/// Does `work` for every item, for at most `width` of them at a time, and returns the results in order. The first error
/// ends it. Call it inside the cluster's runtime.
pub(super) async fn map<T, R, F, W>(items: Vec<T>, width: usize, work: F) -> Result<Vec<R>, ClusterError>
where
    T: Send + 'static,
    R: Send + 'static,
    F: Fn(T) -> W + Clone + Send + 'static,
    W: Future<Output = Result<R, ClusterError>> + Send + 'static,
{
    let count = items.len();
    let queue = Arc::new(Mutex::new(items.into_iter().enumerate()));
    let mut workers = JoinSet::new();
    for _ in 0..count.min(width.max(1)) {
        let (queue, work) = (queue.clone(), work.clone());
        let worker: Worker<Result<Vec<(usize, R)>, ClusterError>> = Box::pin(async move {
            let mut done = Vec::new();
            loop {
                let next = queue.lock().next();
                let Some((nth, item)) = next else { return Ok(done) };
                done.push((nth, work(item).await?));
            }
        });
        workers.spawn(worker);
    }
    let mut results: Vec<(usize, R)> = Vec::with_capacity(count);
    // An early return drops the set, which cancels the others.
    while let Some(worker) = workers.join_next().await {
        results.extend(worker.map_err(lost)??);
    }
    results.sort_unstable_by_key(|(nth, _)| *nth);
    Ok(results.into_iter().map(|(_, result)| result).collect())
}

/// A worker did not return: it panicked, or the runtime is shutting down.
pub(super) fn lost(error: JoinError) -> ClusterError {
    ClusterError::new(Fault::Other, "finish a request", error.to_string())
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[tokio::test]
    async fn results_come_in_order_and_no_more_than_allowed_run_at_once() {
        let (now, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let (running, peak) = (now.clone(), most.clone());
        let results = map((0..100).collect(), 7, move |n: usize| {
            let (running, peak) = (running.clone(), peak.clone());
            async move {
                peak.fetch_max(running.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                tokio::task::yield_now().await;
                running.fetch_sub(1, Ordering::SeqCst);
                Ok(n * 2)
            }
        });
        assert_eq!(results.await.unwrap(), (0..100).map(|n| n * 2).collect::<Vec<_>>());
        assert!(most.load(Ordering::SeqCst) <= 7);
    }

    #[tokio::test]
    async fn the_first_error_ends_it() {
        let results = map(vec![1, 2, 3], 1, |n| async move {
            if n == 2 { Err(ClusterError::new(Fault::Other, "count", "two")) } else { Ok(n) }
        });
        assert_eq!(results.await.unwrap_err().detail, "two");
    }
}
