//! Events, shared by all servers of a cluster: the table `plumbago_events`.
//!
//! A partition is a week. The partition [`WEEKS`] lists the weeks that have events, so that a query for all of them
//! need not read every week since 1970.

use std::collections::HashSet;
use std::ops::{ControlFlow, RangeInclusive};
use std::sync::Arc;

use parking_lot::Mutex;
use scylla::response::query_result::QueryRowsResult;
use scylla::response::{PagingState, PagingStateResponse};
use scylla::serialize::row::SerializeRow;
use scylla::value::{CqlValue, Row};
use uuid::Uuid;

use super::{Cluster, ClusterError, Fault, Purpose};
use crate::store::{EventStore, EventVisitor, StoreError};
use plumbago_model::{Event, EventId};

const WEEK_SECS: u32 = 7 * 86_400;
/// The partition whose ids are the weeks that have events.
const WEEKS: i32 = -1;
/// How many ids to try for an event. Even if half of a second's ids are taken, one of these is free.
const ATTEMPTS: usize = 64;

/// The events of a cluster.
#[derive(Debug)]
pub struct Events {
    cluster: Arc<Cluster>,
    statements: Statements,
    /// Weeks that are known to be listed.
    listed: Mutex<HashSet<i32>>,
}

#[derive(Debug)]
struct Statements {
    list: String,
    insert: String,
    get: String,
    weeks: String,
    scan: String,
}

/// Id, what, tags, data.
type EventRow<'f> = (i64, Option<&'f str>, Option<&'f str>, Option<&'f str>);

impl Events {
    /// The events of a cluster, which need not be reachable yet.
    pub fn new(cluster: Arc<Cluster>) -> Self {
        let table = format!("{}.plumbago_events", cluster.settings().keyspace_metadata);
        let statements = Statements {
            list: format!("INSERT INTO {table} (week, id) VALUES (?, ?)"),
            insert: format!(
                "INSERT INTO {table} (week, id, what, tags, data) VALUES (?, ?, ?, ?, ?) IF NOT EXISTS"
            ),
            get: format!("SELECT id, what, tags, data FROM {table} WHERE week = ? AND id = ?"),
            weeks: format!("SELECT id FROM {table} WHERE week = ? AND id >= ? AND id <= ?"),
            scan: format!("SELECT id, what, tags, data FROM {table} WHERE week = ? AND id >= ? AND id <= ?"),
        };
        Self { cluster, statements, listed: Mutex::default() }
    }

    /// The list comes first: a listed week without events is harmless.
    async fn list(&self, week: i32) -> Result<(), ClusterError> {
        if self.listed.lock().contains(&week) {
            return Ok(());
        }
        let statement = self.cluster.prepare(Purpose::Naming, &self.statements.list).await?;
        let session = self.cluster.session().await?;
        let done = session.execute_unpaged(&statement, (WEEKS, i64::from(week))).await;
        done.map_err(|error| ClusterError::of("list a week with events", &error))?;
        self.listed.lock().insert(week);
        Ok(())
    }

    /// True when the event now has that id. If an answer was lost and the statement repeated, an identical row is the one
    /// that the first attempt wrote.
    async fn insert(&self, id: EventId, event: &Event) -> Result<bool, ClusterError> {
        let statement = self.cluster.prepare(Purpose::Naming, &self.statements.insert).await?;
        let session = self.cluster.session().await?;
        let tags = event.tags_text();
        let values = (week(event.when), signed(id.0), &event.what, &tags, &event.data);
        let result = session.execute_unpaged(&statement, values).await;
        let result = result.map_err(|error| ClusterError::of("store an event", &error))?;
        let result = result.into_rows_result().map_err(|error| unreadable(&error))?;
        let names: Vec<String> = result.column_specs().iter().map(|spec| spec.name().to_owned()).collect();
        let row = result.first_row::<Row>().map_err(|error| unreadable(&error))?;
        let mut same = true;
        for (name, value) in names.iter().zip(row.columns) {
            let ours = match (name.as_str(), &value) {
                ("[applied]", Some(CqlValue::Boolean(true))) => return Ok(true),
                ("what", _) => &event.what,
                ("tags", _) => &tags,
                ("data", _) => &event.data,
                _ => continue,
            };
            same &= matches!(value, Some(CqlValue::Text(theirs)) if theirs == *ours);
        }
        Ok(same)
    }

    /// Visits every row of a statement, a page at a time, until `visit` has enough.
    async fn pages(
        &self,
        text: &str,
        values: &(impl SerializeRow + Sync),
        mut visit: impl FnMut(&QueryRowsResult) -> Result<ControlFlow<()>, ClusterError>,
    ) -> Result<ControlFlow<()>, ClusterError> {
        let statement = self.cluster.prepare(Purpose::Metadata, text).await?;
        let session = self.cluster.session().await?;
        let mut state = PagingState::start();
        loop {
            let page = session.execute_single_page(&statement, values, state).await;
            let (page, next) = page.map_err(|error| ClusterError::of("read events", &error))?;
            let page = page.into_rows_result().map_err(|error| unreadable(&error))?;
            if visit(&page)?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
            match next {
                PagingStateResponse::HasMorePages { state: more } => state = more,
                PagingStateResponse::NoMorePages => return Ok(ControlFlow::Continue(())),
            }
        }
    }

    /// The weeks among these that have events, in order.
    async fn weeks(&self, weeks: RangeInclusive<i32>) -> Result<Vec<i32>, ClusterError> {
        let mut found = Vec::new();
        let values = (WEEKS, i64::from(*weeks.start()), i64::from(*weeks.end()));
        let _: ControlFlow<()> = self
            .pages(&self.statements.weeks, &values, |page| {
                for row in page.rows::<(i64,)>().map_err(|error| unreadable(&error))? {
                    let (week,) = row.map_err(|error| unreadable(&error))?;
                    found.extend(i32::try_from(week));
                }
                Ok(ControlFlow::Continue(()))
            })
            .await?;
        Ok(found)
    }
}

impl EventStore for Events {
    fn add(&self, event: &Event) -> Result<EventId, StoreError> {
        self.cluster.block_on(async {
            self.list(week(event.when)).await?;
            for _ in 0..ATTEMPTS {
                // Random, so that servers need not coordinate; the conditional insert resolves collisions.
                let id = EventId::new(event.when, Uuid::new_v4().as_u128() as u32);
                if self.insert(id, event).await? {
                    return Ok(id);
                }
            }
            Err(StoreError::SecondFull { when: event.when })
        })
    }

    fn get(&self, id: EventId) -> Result<Option<Event>, StoreError> {
        let Some(when) = id.when() else { return Ok(None) };
        let mut found = None;
        let values = (week(when), signed(id.0));
        let got = self.cluster.block_on(self.pages(&self.statements.get, &values, |page| {
            for row in page.rows::<EventRow<'_>>().map_err(|error| unreadable(&error))? {
                found = event(row.map_err(|error| unreadable(&error))?).map(|(_, event)| event);
            }
            Ok(ControlFlow::Continue(()))
        }));
        let _: ControlFlow<()> = got?;
        Ok(found)
    }

    fn scan(&self, seconds: RangeInclusive<u32>, visit: &mut EventVisitor<'_>) -> Result<(), StoreError> {
        if seconds.is_empty() {
            return Ok(());
        }
        self.cluster.block_on(async {
            let ids = EventId::range(&seconds);
            for week in self.weeks(week(*seconds.start())..=week(*seconds.end())).await? {
                let values = (week, signed(*ids.start()), signed(*ids.end()));
                let seen = self.pages(&self.statements.scan, &values, |page| {
                    for row in page.rows::<EventRow<'_>>().map_err(|error| unreadable(&error))? {
                        let found = event(row.map_err(|error| unreadable(&error))?);
                        if found.is_some_and(|(id, event)| visit(id, event).is_break()) {
                            return Ok(ControlFlow::Break(()));
                        }
                    }
                    Ok(ControlFlow::Continue(()))
                });
                if seen.await?.is_break() {
                    break;
                }
            }
            Ok(())
        })
    }
}

fn week(when: u32) -> i32 {
    // 7101 at most.
    i32::try_from(when / WEEK_SECS).unwrap_or(i32::MAX)
}

/// An id as Cassandra holds it. Event ids have 52 bits; any other id matches nothing.
fn signed(id: u64) -> i64 {
    i64::try_from(id).unwrap_or(i64::MAX)
}

fn event((id, what, tags, data): EventRow<'_>) -> Option<(EventId, Event)> {
    let id = EventId(u64::try_from(id).ok()?);
    let text = |text: Option<&str>| text.unwrap_or_default().to_owned();
    let tags = Event::tags_of(tags.unwrap_or_default());
    Some((id, Event { when: id.when()?, what: text(what), tags, data: text(data) }))
}

fn unreadable(error: &dyn std::fmt::Display) -> ClusterError {
    ClusterError::new(Fault::Schema, "read plumbago_events", error.to_string())
}
