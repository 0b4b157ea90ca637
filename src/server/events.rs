//! Events, between the API and the store: limits, and what became of a request.

use std::ops::ControlFlow;

use super::engine::Engine;
use crate::http::EventFailure;
use crate::store::StoreError;
use plumbago_model::{Cancel, Cancelled, Event, EventFilter, EventId};

/// Events looked at between two looks at the clock.
const CHECK_EVERY: usize = 256;

impl Engine {
    /// Records an event.
    pub(super) fn record_event(&self, event: &Event) -> Result<EventId, EventFailure> {
        let (bytes, limit) = (event.bytes(), self.config.ingest.max_event_bytes);
        if bytes > limit {
            return Err(EventFailure::TooLong(format!(
                "the event has {bytes} bytes of text; ingest.max_event_bytes allows {limit}"
            )));
        }
        self.store.events.add(event).map_err(failure)
    }

    /// An event by its id.
    pub(super) fn find_event(&self, id: EventId) -> Result<Option<Event>, EventFailure> {
        self.store.events.get(id).map_err(failure)
    }

    /// The events that a filter takes, unless there are too many.
    pub(super) fn find_events(
        &self,
        filter: &EventFilter,
        cancel: &Cancel,
    ) -> Result<Vec<(EventId, Event)>, EventFailure> {
        let limit = self.config.query.max_events;
        let mut found = Vec::new();
        let mut outcome = Ok(());
        let mut seen = 0_usize;
        let mut visit = |id: EventId, event: Event| {
            if filter.takes(&event) {
                found.push((id, event));
            }
            seen += 1;
            outcome = match found.len() {
                count if count > limit => Err(EventFailure::Limit(format!(
                    "more than {limit} events match; ask for a shorter time or more tags, or raise query.max_events"
                ))),
                _ if seen.is_multiple_of(CHECK_EVERY) => cancel.check().map_err(cancelled),
                _ => Ok(()),
            };
            if outcome.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        };
        self.store.events.scan(filter.seconds.clone(), &mut visit).map_err(failure)?;
        outcome.map(|()| found)
    }
}

fn cancelled(cancelled: Cancelled) -> EventFailure {
    if cancelled.deadline { EventFailure::Deadline } else { EventFailure::Abandoned }
}

fn failure(error: StoreError) -> EventFailure {
    match &error {
        StoreError::Cluster(error) if error.is_retryable() => EventFailure::Away(error.to_string()),
        StoreError::SecondFull { .. } => EventFailure::Limit(error.to_string()),
        _ => EventFailure::Store(error.to_string()),
    }
}
