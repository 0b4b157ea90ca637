//! Blocking work for requests: a limited number at once, each with a deadline, and cancelled when its client leaves.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::task::spawn_blocking;
use tracing::Span;

use super::answer::Running;
use super::error::Failure;
use super::queries::{Queries, Question};
use super::turns::Turns;
use crate::config;
use crate::telemetry::{Refusal, Telemetry};
use plumbago_model::{Cancel, Cancelled, Phase};

/// Runs queries on threads that may block.
#[derive(Clone, Debug)]
pub(super) struct Workers {
    turns: Arc<Turns>,
    renders: Arc<Turns>,
    render_timeout: Duration,
    queries: Arc<Queries>,
    telemetry: Arc<Telemetry>,
}

/// What a query came to. It runs until its answer has been sent.
#[derive(Debug)]
pub(super) struct Done<T> {
    pub(super) value: T,
    pub(super) running: Running,
}

impl Workers {
    /// As many at once as the configuration allows. They must be made within the runtime that serves requests.
    pub(super) fn new(config: &config::Query, telemetry: Arc<Telemetry>) -> Self {
        let queries = Arc::new(Queries::new(config, Arc::clone(&telemetry)));
        let turns = Arc::new(Turns::of_queries(config, Arc::clone(&telemetry)));
        let renders = Arc::new(Turns::of_renders(config, Arc::clone(&telemetry)));
        Self { turns, renders, render_timeout: config.render_timeout, queries, telemetry }
    }

    /// The register of what runs.
    pub(super) fn queries(&self) -> &Queries {
        &self.queries
    }

    /// Runs `work` with `timeout` to its deadline. Dropping the future, as the server does when the client disconnects, cancels
    /// the work. Its place is free again only when it has really stopped.
    pub(super) async fn run<T, F>(
        &self,
        question: &Arc<Question>,
        timeout: Duration,
        work: F,
    ) -> Result<Done<T>, Failure>
    where
        T: Send + 'static,
        F: FnOnce(&Cancel) -> Result<T, Failure> + Send + 'static,
    {
        self.run_in(None, question, timeout, work).await
    }

    /// The same for a query that reads series.
    pub(super) async fn render<T, F>(&self, question: &Arc<Question>, work: F) -> Result<Done<T>, Failure>
    where
        T: Send + 'static,
        F: FnOnce(&Cancel) -> Result<T, Failure> + Send + 'static,
    {
        self.run_in(Some(&self.renders), question, self.render_timeout, work).await
    }

    async fn run_in<T, F>(
        &self,
        turns: Option<&Arc<Turns>>,
        question: &Arc<Question>,
        timeout: Duration,
        work: F,
    ) -> Result<Done<T>, Failure>
    where
        T: Send + 'static,
        F: FnOnce(&Cancel) -> Result<T, Failure> + Send + 'static,
    {
        let running = Running::new(self.queries.enter(question));
        match self.work(&running, turns, timeout, work).await {
            Ok(value) => Ok(Done { value, running }),
            Err(Failure::Abandoned) if running.query().is_cancelled_by_call() => {
                Err(self.failed(&running, Failure::Cancelled))
            }
            Err(failure) => Err(self.failed(&running, failure)),
        }
    }

    async fn work<T, F>(
        &self,
        running: &Running,
        turns: Option<&Arc<Turns>>,
        timeout: Duration,
        work: F,
    ) -> Result<T, Failure>
    where
        T: Send + 'static,
        F: FnOnce(&Cancel) -> Result<T, Failure> + Send + 'static,
    {
        let asker = || running.query().asker();
        let own = match turns {
            Some(turns) => Some(turns.take(asker(), timeout).await?),
            None => None,
        };
        let turn = (own, self.turns.take(asker(), timeout).await?);
        let cancel = running.query().cancel_at(Instant::now() + timeout);
        let span = Span::current();
        // What runs tasks is compiled for each type of them: these are of one type for all with the same result.
        let task: Box<dyn FnOnce() -> Result<T, Failure> + Send> = Box::new(move || {
            let _turn = turn;
            // The phases are parts of the request.
            let _inside = span.enter();
            cancel.begin(Phase::Plan);
            // A deadline that has passed already is for the work to notice, which knows the key it comes from.
            let done = match cancel.check() {
                Err(Cancelled { deadline: false }) => Err(Failure::Abandoned),
                _ => work(&cancel),
            };
            cancel.begin(Phase::Send);
            done
        });
        spawn_blocking(task).await.unwrap_or(Err(Failure::Internal))
    }

    fn failed(&self, running: &Running, failure: Failure) -> Failure {
        let refusal = failure.refusal();
        // Those that are abandoned count when they end: usually nobody comes here for them.
        if let Some(refusal) = refusal.filter(|refusal| *refusal != Refusal::Abandoned) {
            self.telemetry.refuse(refusal);
        }
        running.query().ended(refusal.map_or("failed", |refusal| refusal.label()));
        failure
    }
}
