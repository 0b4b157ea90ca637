//! Waiting until the cluster has the tables that are needed.
//!
//! A server starts without its cluster, so it also starts on a cluster that lacks tables. It then says what is missing and
//! which command makes it, keeps points and names on disk, and goes on by itself once the tables are there. Tables that
//! are there but cut their partitions in another way are worse than none: what is written to them is where no reader
//! looks. Nothing is ever written to those.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio::sync::watch;

use crate::store::cassandra::schema::{self, Difference, Indexes, Replication, Schema, Subject, Weight};
use crate::store::cassandra::{Cluster, ClusterError, Fault};
use plumbago_model::Retention;

/// How long after a look that found something missing the next one is worth it.
const PAUSE: Duration = Duration::from_secs(2);
/// Things named in one message.
const NAMED: usize = 6;

/// See the module documentation.
pub struct SchemaWatch {
    cluster: Arc<Cluster>,
    schema: Schema,
    /// Make what is missing.
    apply: bool,
    /// Once all tables were found nobody looks again: a table that is lost later fails its own statements.
    are_there: AtomicBool,
    /// One look at a time.
    looking: Mutex<()>,
    last: Mutex<Option<(Instant, ClusterError)>>,
    stopping: watch::Sender<bool>,
}

impl SchemaWatch {
    /// Watches for the tables of `schema`; with `apply` it makes those that are missing.
    pub fn new(cluster: Arc<Cluster>, schema: Schema, apply: bool) -> Self {
        Self {
            cluster,
            schema,
            apply,
            are_there: AtomicBool::new(false),
            looking: Mutex::default(),
            last: Mutex::default(),
            stopping: watch::Sender::new(false),
        }
    }

    /// Looks at the tables when a server starts. An error means that it must not: a table is there and is wrong. A cluster
    /// that does not answer does not hold up a start; [`SchemaWatch::pass`] looks again.
    pub fn inspect(&self) -> Result<(), ClusterError> {
        let connected = self.cluster.block_on(async {
            let limit = self.cluster.settings().connect_timeout;
            tokio::time::timeout(limit, self.cluster.session()).await.is_ok_and(|session| session.is_ok())
        });
        if !connected {
            return Ok(());
        }
        let _one_at_a_time = self.looking.lock();
        let Ok(found) = self.survey() else { return Ok(()) };
        if let Some(wrong) = found.wrong() {
            return Err(wrong);
        }
        if self.apply && found.lacks_something() {
            // Takes up to a minute, which senders need not wait for: the first `pass` makes them.
            *self.last.lock() = Some((long_ago(), being_made("it begins".to_owned())));
            return Ok(());
        }
        let _ = self.judge(&found).map_err(|error| self.shut(error));
        Ok(())
    }

    /// Are all tables there? Looks, now and then, as long as they are not. With `apply` the call that finds something
    /// missing makes it.
    pub fn pass(&self) -> Result<(), ClusterError> {
        if self.are_there.load(Ordering::Acquire) {
            return Ok(());
        }
        let last = self.last.lock().clone();
        let Some(_one_at_a_time) = self.looking.try_lock() else {
            return Err(last.map_or_else(|| being_made("they are looked at".to_owned()), |(_, error)| error));
        };
        if let Some((when, error)) = last
            && when.elapsed() < PAUSE
        {
            return Err(error);
        }
        self.look().inspect_err(|error| self.shut(error.clone()))
    }

    /// Are the tables of other retentions there? With `apply`, makes those that are missing.
    pub fn admit(&self, retentions: &[Retention], indexes: Indexes) -> Result<(), ClusterError> {
        let wanted = Schema::new(self.cluster.settings(), retentions, indexes);
        let _one_at_a_time = self.looking.lock();
        let mut found = Found(schema::check(&self.cluster, &wanted)?);
        if self.apply && found.wrong().is_none() && found.lacks_something() {
            self.make(&wanted)?;
            found = Found(schema::check(&self.cluster, &wanted)?);
        }
        found.wrong().or_else(|| found.missing()).map_or(Ok(()), Err)
    }

    /// What keeps points and names from being sent, if it is the tables.
    pub fn trouble(&self) -> Option<String> {
        self.last.lock().as_ref().map(|(_, error)| error.to_string())
    }

    /// Gives up making tables: the server stops.
    pub fn stop(&self) {
        self.stopping.send_replace(true);
    }

    fn look(&self) -> Result<(), ClusterError> {
        let found = self.survey()?;
        if self.apply && found.wrong().is_none() && found.lacks_something() {
            self.make(&self.schema)?;
            return self.judge(&self.survey()?);
        }
        self.judge(&found)
    }

    fn survey(&self) -> Result<Found, ClusterError> {
        Ok(Found(schema::check(&self.cluster, &self.schema)?))
    }

    /// Opens the way if nothing is wrong or missing that deliveries need.
    fn judge(&self, found: &Found) -> Result<(), ClusterError> {
        if let Some(error) = found.wrong().or_else(|| found.missing()) {
            return Err(error);
        }
        let indexes = found.of(|d| d.subject == Subject::Index && d.weight > Weight::Note);
        if !indexes.is_empty() {
            tracing::warn!(
                missing = indexes.len(),
                first = indexes[0].text,
                "indexes on the names are missing: lookups in the cluster are slow or fail; run plumbago schema apply"
            );
        }
        if let Some(unsaid) = found.of(|d| d.subject == Subject::Setting).first() {
            tracing::warn!(
                missing = unsaid.text,
                "the tables do not say how they are laid out, so another version could misread them; run plumbago schema apply"
            );
        }
        if self.last.lock().take().is_some() {
            tracing::info!("the cluster has all tables now; what waits on disk is sent");
        }
        self.are_there.store(true, Ordering::Release);
        Ok(())
    }

    /// Remembers what is in the way, and says each cause once.
    fn shut(&self, error: ClusterError) {
        let mut last = self.last.lock();
        let text = error.to_string();
        if last.as_ref().is_none_or(|(_, known)| known.to_string() != text) {
            tracing::error!(error = text, "nothing is sent to the cluster; points and names wait on disk");
        }
        *last = Some((Instant::now(), error));
    }

    fn make(&self, wanted: &Schema) -> Result<(), ClusterError> {
        let mut stopping = self.stopping.subscribe();
        let mut progress = |progress: &schema::Progress| {
            let now = progress.now.as_deref().unwrap_or("all are made");
            let text = format!("{} of {}, {now}", progress.done, progress.total);
            *self.last.lock() = Some((Instant::now(), being_made(text)));
        };
        let made = self.cluster.block_on(async {
            let replication = Replication::suitable(&self.cluster).await?;
            tracing::info!(
                %replication,
                "making missing tables; a keyspace that is missing gets this replication"
            );
            tokio::select! {
                made = schema::make_missing(&self.cluster, wanted, Some(&replication), &mut progress) => made,
                _ = stopping.wait_for(|stop| *stop) => Err(being_made("the server stops".to_owned())),
            }
        })?;
        tracing::info!(made, "missing tables and indexes were made");
        Ok(())
    }
}

#[cfg(test)]
impl SchemaWatch {
    /// One that has found all tables.
    pub(super) fn satisfied() -> Self {
        let watch = Self::unanswered();
        watch.are_there.store(true, Ordering::Release);
        watch
    }

    /// One whose cluster does not answer.
    pub(super) fn unanswered() -> Self {
        let settings = crate::store::cassandra::Settings {
            nodes: vec!["127.0.0.1:1".to_owned()],
            ..crate::store::cassandra::Settings::default()
        };
        let retention: Retention = "60*60s".parse().unwrap();
        let schema = Schema::new(&settings, [&retention], Indexes::Sasi);
        Self::new(Arc::new(Cluster::new(settings).unwrap()), schema, false)
    }
}

/// What differs.
struct Found(Vec<Difference>);

impl Found {
    fn of(&self, which: impl Fn(&Difference) -> bool) -> Vec<&Difference> {
        self.0.iter().filter(|difference| which(difference)).collect()
    }

    fn lacks_something(&self) -> bool {
        self.0.iter().any(|difference| difference.weight == Weight::Missing)
    }

    /// Tables that are not what this server would write to.
    fn wrong(&self) -> Option<ClusterError> {
        let is_layout = |d: &Difference| matches!(d.subject, Subject::Table | Subject::Setting);
        let wrong = self.of(|d| d.weight == Weight::Wrong && is_layout(d));
        let texts: Vec<&str> = wrong.iter().map(|difference| difference.text.as_str()).collect();
        (!texts.is_empty()).then(|| {
            ClusterError::new(Fault::Schema, "use the tables of the cluster", listed(&texts)).hint(
                "other readers would not find what this server writes there: use a retention whose table fits, or other \
                 keyspaces; plumbago schema check lists all differences",
            )
        })
    }

    /// Keyspaces and tables that are not there.
    fn missing(&self) -> Option<ClusterError> {
        let is_needed = |d: &Difference| matches!(d.subject, Subject::Keyspace | Subject::Table);
        let missing = self.of(|d| d.weight == Weight::Missing && is_needed(d));
        let is_keyspace = |difference: &&&Difference| difference.subject == Subject::Keyspace;
        let named = |difference: &&Difference| match difference.subject {
            Subject::Keyspace => format!("keyspace {}", difference.name),
            _ => format!("table {}", difference.name),
        };
        let names: Vec<String> = missing.iter().map(named).collect();
        let flag = if missing.iter().any(|d| is_keyspace(&d)) { " --create-keyspaces" } else { "" };
        (!names.is_empty()).then(|| {
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            ClusterError::new(
                Fault::Schema,
                "use the tables of the cluster",
                format!("not there: {}", listed(&names)),
            )
            .hint(format!(
                "run plumbago schema apply{flag}, or set store.cassandra.apply_schema = true; the server goes on by itself then"
            ))
        })
    }
}

fn listed(texts: &[&str]) -> String {
    let mut list = texts.iter().take(NAMED).copied().collect::<Vec<_>>().join(", ");
    if texts.len() > NAMED {
        list.push_str(&format!(", and {} more", texts.len() - NAMED));
    }
    list
}

fn being_made(text: String) -> ClusterError {
    ClusterError::new(
        Fault::Schema,
        "use the tables of the cluster yet",
        format!("they are being made: {text}"),
    )
    .hint("")
}

/// So that nobody waits for the first look.
fn long_ago() -> Instant {
    Instant::now().checked_sub(PAUSE).unwrap_or_else(Instant::now)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn difference(weight: Weight, subject: Subject, name: &str) -> Difference {
        Difference { weight, subject, name: name.to_owned(), text: format!("{name} differs") }
    }

    #[test]
    fn what_is_missing_is_named_with_the_command_that_makes_it() {
        let table = |name| difference(Weight::Missing, Subject::Table, name);
        let text = Found(vec![table("k.a"), table("k.b")]).missing().unwrap().to_string();
        assert!(text.contains("not there: table k.a, table k.b; run plumbago schema apply, or"), "{text}");
        let keyspace = difference(Weight::Missing, Subject::Keyspace, "k");
        let text = Found(vec![keyspace]).missing().unwrap().to_string();
        assert!(text.contains("keyspace k; run plumbago schema apply --create-keyspaces, or"), "{text}");
        let text = Found((0..9).map(|_| table("k.a")).collect()).missing().unwrap().to_string();
        assert!(text.contains("and 3 more"), "{text}");
    }

    #[test]
    fn indexes_and_tuned_options_keep_nothing_back() {
        let found = Found(vec![
            difference(Weight::Missing, Subject::Index, "i"),
            difference(Weight::Wrong, Subject::Index, "j"),
            difference(Weight::Note, Subject::Table, "k.a"),
            difference(Weight::Missing, Subject::Setting, "k.plumbago_settings"),
        ]);
        assert!(found.missing().is_none() && found.wrong().is_none());
        assert!(found.lacks_something(), "an index can be made");
        let wrong = Found(vec![difference(Weight::Wrong, Subject::Table, "k.a")]);
        assert!(wrong.wrong().unwrap().to_string().contains("k.a differs"));
        let newer = Found(vec![difference(Weight::Wrong, Subject::Setting, "schema_version")]);
        assert!(newer.wrong().unwrap().to_string().contains("schema_version differs"));
    }

    #[test]
    fn nothing_passes_before_the_cluster_was_asked() {
        let tables = SchemaWatch::unanswered();
        tables.inspect().unwrap();
        assert!(tables.trouble().is_none(), "a cluster that is away does not hold up a start");
        let error = tables.pass().unwrap_err();
        assert_eq!(error.fault, Fault::Unreachable);
        assert_eq!(tables.trouble().unwrap(), error.to_string());
    }
}
