//! The connection: one session, one runtime, statements prepared once.

use std::collections::HashMap;
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use scylla::client::execution_profile::ExecutionProfileHandle;
use scylla::client::session::Session;
use scylla::client::session_builder::SessionBuilder;
use scylla::response::query_result::QueryResult;
use scylla::serialize::row::SerializeRow;
use scylla::statement::prepared::PreparedStatement;
use scylla::statement::unprepared::Statement;
use tokio::runtime::Runtime;
use tokio::sync::OnceCell;

use super::purpose::Profiles;
use super::{ClusterError, Purpose, Settings, tls};

/// After a failed attempt others within this time get its error, so that a cluster that is away costs one wait, not one
/// for each caller.
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// How often an idle connection is asked for a sign of life. A node that hangs without closing its connections is given up
/// after this time and [`Settings::connect_timeout`]: until then statements cannot be prepared, which all nodes are asked to do.
const PING_INTERVAL: Duration = Duration::from_secs(5);

/// Longest time for the nodes to agree on a schema: indexes on a node just started take long.
const AGREEMENT_TIMEOUT: Duration = Duration::from_secs(120);

/// A Cassandra cluster. It is connected to when it is first needed, so that a server can start without it.
///
/// Callers block: [`Cluster::block_on`] runs their futures, on any thread that is not itself a worker of an asynchronous
/// runtime.
#[derive(Debug)]
pub struct Cluster {
    settings: Settings,
    tls: Option<Arc<rustls::ClientConfig>>,
    profiles: Profiles,
    session: OnceCell<Session>,
    last_failure: Mutex<Option<(Instant, ClusterError)>>,
    prepared: Mutex<HashMap<(Purpose, String), Arc<PreparedStatement>>>,
    /// Creations of metrics under way.
    naming: AtomicUsize,
    /// `None` only while this is dropped.
    runtime: Option<Runtime>,
}

/// See [`Cluster::naming`].
pub(super) struct Naming<'a>(&'a AtomicUsize);

impl Drop for Naming<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Cluster {
    /// Checks the settings and reads certificates; nothing is sent yet.
    pub fn new(settings: Settings) -> Result<Self, ClusterError> {
        let tls = settings.tls.as_ref().map(tls::client_config).transpose()?;
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .thread_name("cassandra")
            .enable_all()
            .build()
            .map_err(|error| {
                ClusterError::new(super::Fault::Other, "start threads for Cassandra", error.to_string())
            })?;
        Ok(Self {
            profiles: Profiles::new(&settings),
            settings,
            tls,
            session: OnceCell::new(),
            last_failure: Mutex::new(None),
            prepared: Mutex::new(HashMap::new()),
            naming: AtomicUsize::new(0),
            runtime: Some(runtime),
        })
    }

    /// [`Cluster::new`], and connects at once.
    pub fn connect(settings: Settings) -> Result<Self, ClusterError> {
        let cluster = Self::new(settings)?;
        cluster.block_on(cluster.session())?;
        Ok(cluster)
    }

    /// What it was made from.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Was a connection made? It may be lost again; the driver then goes on trying.
    pub fn is_connected(&self) -> bool {
        self.session.initialized()
    }

    /// Says, as long as the answer lives, that metrics are being created.
    pub(super) fn naming(&self) -> Naming<'_> {
        self.naming.fetch_add(1, Ordering::Relaxed);
        Naming(&self.naming)
    }

    /// Are metrics being created?
    pub(super) fn is_naming(&self) -> bool {
        self.naming.load(Ordering::Relaxed) > 0
    }

    /// Runs a future to its end on this thread, which must not be a worker of an asynchronous runtime.
    pub fn block_on<F: Future>(&self, future: F) -> F::Output {
        self.runtime().block_on(future)
    }

    /// The runtime that drives the connections: for work that goes on after the call.
    pub fn runtime(&self) -> &Runtime {
        self.runtime.as_ref().expect("it is there until this is dropped")
    }

    /// The driver's session, connecting if need be.
    pub async fn session(&self) -> Result<&Session, ClusterError> {
        if let Some(session) = self.session.get() {
            return Ok(session);
        }
        self.session
            .get_or_try_init(|| async {
                if let Some((when, error)) = &*self.last_failure.lock()
                    && when.elapsed() < RETRY_AFTER
                {
                    return Err(error.clone());
                }
                let built = self.build().await;
                if let Err(error) = &built {
                    *self.last_failure.lock() = Some((Instant::now(), error.clone()));
                }
                built
            })
            .await
    }

    async fn build(&self) -> Result<Session, ClusterError> {
        let settings = &self.settings;
        let mut builder = SessionBuilder::new()
            .known_nodes(&settings.nodes)
            .connection_timeout(settings.connect_timeout)
            .keepalive_interval(PING_INTERVAL)
            .keepalive_timeout(settings.connect_timeout)
            .default_execution_profile_handle(self.profile(Purpose::Background))
            // Enough to know which node holds what; the columns are known.
            .keyspaces_to_fetch([&settings.keyspace, &settings.keyspace_metadata])
            .fetch_full_schema_metadata(false)
            .schema_agreement_timeout(AGREEMENT_TIMEOUT)
            .tls_context(self.tls.clone());
        if let Some(login) = &settings.login {
            builder = builder.user(&login.username, &login.password);
        }
        let action = || format!("connect to Cassandra at {}", settings.nodes_text());
        builder.build().await.map_err(|error| ClusterError::of(action(), &error))
    }

    /// The consistency, timeout and policies for a purpose.
    pub fn profile(&self, purpose: Purpose) -> ExecutionProfileHandle {
        self.profiles.of(purpose)
    }

    /// Prepares a statement, or finds it prepared. It must be one that may be run twice: it will be, when a node does not
    /// answer.
    pub async fn prepare(
        &self,
        purpose: Purpose,
        text: &str,
    ) -> Result<Arc<PreparedStatement>, ClusterError> {
        if let Some(found) = self.prepared.lock().get(&(purpose, text.to_owned())) {
            return Ok(found.clone());
        }
        let session = self.session().await?;
        let mut statement = session
            .prepare(text)
            .await
            .map_err(|error| ClusterError::of(format!("prepare `{text}`"), &error))?;
        statement.set_is_idempotent(true);
        statement.set_execution_profile_handle(Some(self.profile(purpose)));
        let statement = Arc::new(statement);
        self.prepared.lock().insert((purpose, text.to_owned()), statement.clone());
        Ok(statement)
    }

    /// How many nodes the cluster has, the ones that are down among them.
    pub async fn node_count(&self) -> Result<usize, ClusterError> {
        Ok(self.session().await?.get_cluster_state().get_nodes_info().len())
    }

    /// The version of Cassandra on the node that answers.
    pub fn version(&self) -> Result<String, ClusterError> {
        self.block_on(async {
            let text = "SELECT release_version FROM system.local";
            let rows = self.run_once(Purpose::Metadata, text, ()).await?;
            let unreadable = |error: &dyn std::fmt::Display| {
                ClusterError::new(super::Fault::Other, "read Cassandra's version", error.to_string())
            };
            let rows = rows.into_rows_result().map_err(|error| unreadable(&error))?;
            let (version,) = rows.single_row::<(String,)>().map_err(|error| unreadable(&error))?;
            Ok(version)
        })
    }

    /// Runs a statement that is not worth preparing: a schema change, a look at the system's tables.
    pub async fn run_once(
        &self,
        purpose: Purpose,
        text: &str,
        values: impl SerializeRow,
    ) -> Result<QueryResult, ClusterError> {
        let mut statement = Statement::new(text);
        statement.set_execution_profile_handle(Some(self.profile(purpose)));
        let session = self.session().await?;
        session
            .query_unpaged(statement, values)
            .await
            .map_err(|error| ClusterError::of(format!("run `{}`", first_line(text)), &error))
    }
}

/// A runtime must not be dropped where blocking is not allowed, and nobody knows where the last owner of this lives.
impl Drop for Cluster {
    fn drop(&mut self) {
        // The session first: its connections end on the runtime.
        self.session.take();
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// A statement as it may stand in an error: schema statements are long.
fn first_line(text: &str) -> &str {
    text.trim().lines().next().unwrap_or_default()
}
