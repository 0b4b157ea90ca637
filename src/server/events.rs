//! Events, between the API and the store: limits and counters.

use std::ops::ControlFlow;

use super::engine::Engine;
use crate::http::EventLog;
use plumbago_model::{Cancel, Event, EventFilter, EventId, QueryError};

/// Events read between two checks of the deadline.
const CHECK_EVERY: usize = 256;

/// Bytes that an event takes beside its text.
const EVENT_BYTES: usize = 160;

impl EventLog for Engine {
    fn max_event_bytes(&self) -> usize {
        self.config.ingest.max_event_bytes
    }

    fn add_event(&self, event: &Event) -> Result<EventId, QueryError> {
        Ok(self.store.events.add(event)?)
    }

    fn event(&self, id: EventId) -> Result<Option<Event>, QueryError> {
        Ok(self.store.events.get(id)?)
    }

    fn events(&self, filter: &EventFilter, cancel: &Cancel) -> Result<Vec<(EventId, Event)>, QueryError> {
        self.events_that(&|event| filter.takes(event), filter, cancel)
    }
}

impl Engine {
    /// The events in the time of a filter that `takes` accepts.
    pub(super) fn events_that(
        &self,
        takes: &dyn Fn(&Event) -> bool,
        filter: &EventFilter,
        cancel: &Cancel,
    ) -> Result<Vec<(EventId, Event)>, QueryError> {
        let limit = self.config.query.max_events;
        let mut found = Vec::new();
        let mut outcome = Ok(());
        let mut seen = 0_usize;
        let mut visit = |id: EventId, event: Event| {
            let mut memory = Ok(());
            if takes(&event) {
                memory = cancel.take(event.bytes() + EVENT_BYTES);
                found.push((id, event));
            }
            seen += 1;
            outcome = match found.len() {
                _ if memory.is_err() => memory,
                count if count > limit => Err(QueryError::Limit(format!(
                    "more than {limit} events match; ask for a shorter time or more tags, or raise query.max_events"
                ))),
                _ if seen.is_multiple_of(CHECK_EVERY) => cancel.check().map_err(QueryError::from),
                _ => Ok(()),
            };
            if outcome.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        };
        self.store.events.scan(filter.seconds.clone(), &mut visit)?;
        outcome.map(|()| found)
    }
}
