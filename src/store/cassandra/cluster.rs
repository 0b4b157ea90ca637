//! The connection: one session, one runtime, statements prepared once.

use std::collections::HashMap;
use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
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
use tokio::sync::{OnceCell, watch};

use super::purpose::Profiles;
use super::{ClusterError, Purpose, Settings, tls};

/// For this long after a failed attempt, other callers get its error, so that a cluster that is away costs one wait and not
/// one per caller.
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// How often to send a keep-alive on an idle connection. A node that hangs without closing its connections is given up after
/// this time plus [`Settings::connect_timeout`]. Until then no statement can be prepared, because the driver asks all nodes.
const PING_INTERVAL: Duration = Duration::from_secs(5);

/// How long the nodes may take to agree on a schema: indexes on a freshly started node take long.
const AGREEMENT_TIMEOUT: Duration = Duration::from_secs(120);

/// A Cassandra cluster. The connection is made on first use, so that a server can start without it.
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
    /// Creations of metrics in progress.
    creations: watch::Sender<usize>,
    /// `None` only while this is dropped.
    runtime: Option<Runtime>,
}

/// See [`Cluster::naming`].
pub(super) struct Naming<'a>(&'a watch::Sender<usize>);

impl Drop for Naming<'_> {
    fn drop(&mut self) {
        self.0.send_modify(|in_progress| *in_progress -= 1);
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
            creations: watch::Sender::new(0),
            runtime: Some(runtime),
        })
    }

    /// [`Cluster::new`], and connects at once.
    pub fn connect(settings: Settings) -> Result<Self, ClusterError> {
        let cluster = Self::new(settings)?;
        cluster.block_on(cluster.session())?;
        Ok(cluster)
    }

    /// Its settings.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Was a connection made? It may have been lost since; the driver then keeps trying.
    pub fn is_connected(&self) -> bool {
        self.session.initialized()
    }

    /// Marks that metrics are being created, until the returned guard is dropped.
    pub(super) fn naming(&self) -> Naming<'_> {
        self.creations.send_modify(|in_progress| *in_progress += 1);
        Naming(&self.creations)
    }

    /// Watches how many creations of metrics are in progress.
    pub(super) fn creations(&self) -> watch::Receiver<usize> {
        self.creations.subscribe()
    }

    /// Runs a future to its end on this thread, which must not be a worker of an asynchronous runtime.
    pub fn block_on<F: Future>(&self, future: F) -> F::Output {
        let mut output = None;
        {
            // The runtime's loop is large, and compiled for each type of future that it runs. So it runs one type only.
            let work: Pin<&mut dyn Future<Output = ()>> = pin!(async { output = Some(future.await) });
            self.runtime().block_on(work);
        }
        output.expect("a future that ended has an output")
    }

    /// The runtime that drives the connections: for work that continues after the call.
    pub fn runtime(&self) -> &Runtime {
        self.runtime.as_ref().expect("it is there until this is dropped")
    }

    /// The driver's session; connects if necessary.
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
            // Enough to know which node has what; we know the columns.
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

    /// Prepares a statement, or returns it if it is already prepared. It must be idempotent: it is repeated when a node does
    /// not answer.
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

    /// How many nodes the cluster has, including those that are down.
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

    /// Runs a statement that is not worth preparing: a schema change, or a query of the system tables.
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

/// A runtime must not be dropped where blocking is not allowed, and the last owner may be anywhere.
impl Drop for Cluster {
    fn drop(&mut self) {
        // The session first: its connections end on the runtime.
        self.session.take();
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// A statement, shortened for an error message: schema statements are long.
fn first_line(text: &str) -> &str {
    text.trim().lines().next().unwrap_or_default()
}
