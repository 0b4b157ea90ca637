//! Blocking work for requests: a limited number at once, each with a deadline, and cancelled when its client leaves.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::spawn_blocking;
use tracing::Span;

use super::error::Failure;
use plumbago_model::Cancel;

/// A request waits at most this long for its turn. Then it is better to tell the client.
const MAX_QUEUE_WAIT: Duration = Duration::from_secs(10);

/// Runs queries on threads that may block.
#[derive(Clone, Debug)]
pub(super) struct Workers {
    permits: Arc<Semaphore>,
}

impl Workers {
    /// At most `limit` queries at once.
    pub(super) fn new(limit: usize) -> Self {
        Self { permits: Arc::new(Semaphore::new(limit.clamp(1, Semaphore::MAX_PERMITS))) }
    }

    /// Runs `work` with `timeout` to its deadline. Dropping the future, as the server does when the client disconnects, cancels
    /// the work. Its place is free again only when it has really stopped.
    pub(super) async fn run<T, F>(&self, timeout: Duration, work: F) -> Result<T, Failure>
    where
        T: Send + 'static,
        F: FnOnce(&Cancel) -> Result<T, Failure> + Send + 'static,
    {
        let permit = self.permit(timeout).await?;
        let cancel = Cancel::at(Instant::now() + timeout);
        let _left = CancelOnDrop(cancel.clone());
        let span = Span::current();
        let task = spawn_blocking(move || {
            let _permit = permit;
            span.in_scope(|| work(&cancel))
        });
        task.await.unwrap_or(Err(Failure::Internal))
    }

    async fn permit(&self, timeout: Duration) -> Result<OwnedSemaphorePermit, Failure> {
        if let Ok(permit) = Arc::clone(&self.permits).try_acquire_owned() {
            return Ok(permit);
        }
        let turn = Arc::clone(&self.permits).acquire_owned();
        match tokio::time::timeout(timeout.min(MAX_QUEUE_WAIT), turn).await {
            Ok(Ok(permit)) => Ok(permit),
            _ => Err(Failure::Busy),
        }
    }
}

/// Cancels when the request's future goes, whether it was answered or abandoned.
struct CancelOnDrop(Cancel);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.cancel();
    }
}
