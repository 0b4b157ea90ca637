//! Watches the long-lived threads and listeners. If one of them panics or ends by itself, the whole server has failed.
//!
//! Without its cut thread a server accepts points until memory is full; without its sync thread it promises durability that it
//! does not give. Neither repairs itself. So a failure is logged, counted and shown by `/health/ready`, and the process ends after
//! `server.failure_grace`, so that systemd or Kubernetes starts it again. Everything accepted is in the log.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::task;

use crate::telemetry::Telemetry;

/// The state of all threads of one server.
pub(super) struct Supervisor {
    telemetry: Arc<Telemetry>,
    /// Set when a stop has begun: threads may end from then on.
    stopping: AtomicBool,
    /// The first failure, as a sentence.
    failure: Mutex<Option<String>>,
    failed: Notify,
}

impl Supervisor {
    pub(super) fn new(telemetry: Arc<Telemetry>) -> Self {
        Self { telemetry, stopping: AtomicBool::new(false), failure: Mutex::default(), failed: Notify::new() }
    }

    /// The first failure of a thread, if there was one.
    pub(super) fn failure(&self) -> Option<String> {
        self.failure.lock().clone()
    }

    /// Waits for a failure.
    pub(super) async fn failed(&self) {
        while self.failure.lock().is_none() {
            // A failure between the check and the wait leaves a permit, so the wait ends at once.
            self.failed.notified().await;
        }
    }

    /// A stop has begun: it is not a failure any more if a thread ends, but still if one panics.
    pub(super) fn expect_ends(&self) {
        self.stopping.store(true, Ordering::SeqCst);
    }

    /// Runs `body` on its own thread. It must not end before the stop.
    pub(super) fn spawn(
        self: &Arc<Self>,
        name: &'static str,
        body: impl FnOnce() + Send + 'static,
    ) -> std::io::Result<JoinHandle<()>> {
        self.telemetry.thread_started(name);
        let supervisor = Arc::clone(self);
        let supervised = move || {
            let body = || {
                #[cfg(debug_assertions)]
                if fault::is_to_end(name) {
                    return;
                }
                body();
            };
            // A panic may leave shared state half changed behind locks that are free again. The process ends soon, so that is fine.
            let ended = catch_unwind(AssertUnwindSafe(body));
            supervisor.note_end(name, ended.map_err(|panic| panic_message(&*panic)));
        };
        std::thread::Builder::new().name(name.to_owned()).spawn(supervised)
    }

    /// Watches a running task, on the current runtime. Returns what the task returns, or `None` after a panic.
    pub(super) fn watch<T: Send + 'static>(
        self: &Arc<Self>,
        name: &'static str,
        task: task::JoinHandle<T>,
    ) -> task::JoinHandle<Option<T>> {
        self.telemetry.thread_started(name);
        let supervisor = Arc::clone(self);
        tokio::spawn(async move {
            let ended = task.await.map_err(|error| match error.try_into_panic() {
                Ok(panic) => panic_message(&*panic),
                Err(error) => error.to_string(),
            });
            supervisor.note_end(name, ended.as_ref().map(drop).map_err(Clone::clone));
            ended.ok()
        })
    }

    fn note_end(&self, thread: &'static str, ended: Result<(), String>) {
        let message = match ended {
            Ok(()) if self.stopping.load(Ordering::SeqCst) => return,
            Ok(()) => "it ended though nobody asked for a stop".to_owned(),
            Err(panic) => format!("it panicked: {panic}"),
        };
        tracing::error!(thread, message, "a thread of the server failed");
        self.telemetry.thread_failed(thread);
        self.failure.lock().get_or_insert_with(|| format!("the thread `{thread}` failed: {message}"));
        self.failed.notify_one();
    }
}

/// The message of a panic.
fn panic_message(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied().map(str::to_owned);
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "no message".to_owned())
}

/// Failures on request, for tests of the real program. A release build does not contain this.
#[cfg(debug_assertions)]
mod fault {
    /// `cut` makes that thread panic when it starts, `cut:end` makes it end.
    const VARIABLE: &str = "PLUMBAGO_TEST_THREAD_FAULT";

    pub(super) fn is_to_end(thread: &str) -> bool {
        let fault = std::env::var(VARIABLE).unwrap_or_default();
        assert!(fault != thread, "{VARIABLE} asks for a panic");
        fault.strip_suffix(":end") == Some(thread)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn supervisor() -> Arc<Supervisor> {
        Arc::new(Supervisor::new(Arc::new(Telemetry::default())))
    }

    #[test]
    fn a_panic_is_reported_with_its_message_and_counted() {
        let supervisor = supervisor();
        supervisor.spawn("merge", || panic!("block {} is odd", 7)).unwrap().join().unwrap();
        supervisor.spawn("disk", || panic!("later")).unwrap().join().unwrap();
        let failure = supervisor.failure().unwrap();
        assert_eq!(failure, "the thread `merge` failed: it panicked: block 7 is odd");
        let text = supervisor.telemetry.prometheus();
        assert!(text.contains("plumbago_thread_failures_total{thread=\"merge\"} 1\n"), "{text}");
        assert!(text.contains("plumbago_thread_failures_total{thread=\"disk\"} 1\n"), "{text}");
    }

    #[test]
    fn an_end_is_a_failure_until_a_stop_and_a_panic_ever_after() {
        let supervisor = supervisor();
        supervisor.expect_ends();
        supervisor.spawn("sync", || ()).unwrap().join().unwrap();
        assert_eq!(supervisor.failure(), None);
        assert!(supervisor.telemetry.prometheus().contains("{thread=\"sync\"} 0\n"));
        supervisor.spawn("sync", || panic!("late")).unwrap().join().unwrap();
        assert!(supervisor.failure().unwrap().contains("late"));

        let supervisor = self::supervisor();
        supervisor.spawn("sync", || ()).unwrap().join().unwrap();
        assert!(supervisor.failure().unwrap().contains("nobody asked for a stop"));
    }

    #[tokio::test]
    async fn a_listener_that_ends_wakes_those_waiting_for_a_failure() {
        let supervisor = supervisor();
        let watched = supervisor.watch("carbon", tokio::spawn(async { panic!("no more") }));
        supervisor.failed().await;
        assert!(supervisor.failure().unwrap().contains("`carbon` failed: it panicked: no more"));
        let nothing: Option<()> = watched.await.unwrap();
        assert_eq!(nothing, None);
    }
}
