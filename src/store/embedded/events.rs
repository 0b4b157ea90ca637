//! Events, in a table of the catalogue.

use std::ops::RangeInclusive;

use redb::{ReadableTable, TableDefinition};

use super::catalogue::{Catalogue, failed};
use crate::store::{EventStore, EventVisitor, StoreError};
use plumbago_model::{Event, EventId};

/// What happened, its tags with blanks between them, and the data, by id.
pub(super) const EVENTS: TableDefinition<'_, u64, (&str, &str, &str)> = TableDefinition::new("events");

impl EventStore for Catalogue {
    fn add(&self, event: &Event) -> Result<EventId, StoreError> {
        self.write(|txn| {
            let mut table = txn.open_table(EVENTS).map_err(failed)?;
            let ids = EventId::range(&(event.when..=event.when));
            let last = table.range(ids.clone()).map_err(failed)?.next_back().transpose().map_err(failed)?;
            let id = last.map_or(*ids.start(), |(id, _)| id.value() + 1);
            if id > *ids.end() {
                return Err(StoreError::SecondFull { when: event.when });
            }
            let row = (event.what.as_str(), &*event.tags_text(), event.data.as_str());
            table.insert(id, row).map_err(failed)?;
            Ok(EventId(id))
        })
    }

    fn get(&self, id: EventId) -> Result<Option<Event>, StoreError> {
        let table = self.read()?.open_table(EVENTS).map_err(failed)?;
        let row = table.get(id.0).map_err(failed)?;
        Ok(row.and_then(|row| event(id, row.value())))
    }

    fn scan(&self, seconds: RangeInclusive<u32>, visit: &mut EventVisitor<'_>) -> Result<(), StoreError> {
        // redb rejects an empty range.
        if seconds.is_empty() {
            return Ok(());
        }
        let table = self.read()?.open_table(EVENTS).map_err(failed)?;
        for row in table.range(EventId::range(&seconds)).map_err(failed)? {
            let (id, row) = row.map_err(failed)?;
            let id = EventId(id.value());
            if let Some(event) = event(id, row.value())
                && visit(id, event).is_break()
            {
                break;
            }
        }
        Ok(())
    }
}

fn event(id: EventId, (what, tags, data): (&str, &str, &str)) -> Option<Event> {
    let (what, data) = (what.to_owned(), data.to_owned());
    Some(Event { when: id.when()?, what, tags: Event::tags_of(tags), data })
}
