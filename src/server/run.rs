//! `plumbago serve`: bind, open, announce, serve, drain.

use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use graphite_render::picture::{self, FontLimits};
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::watch;

use super::background::Background;
use super::confined::ports;
use super::engine::{Engine, READ_ONLY};
use super::notify::Notifier;
use super::sockets::{Reserved, Sockets, certificate};
use super::system;
use crate::auth::Doorman;
use crate::certificate::Inside;
use crate::config::{Config, Loaded, Sources};
use crate::http::{self, Backend, Listeners, Service};
use crate::receive::Receiver;
use crate::telemetry::Telemetry;
use plumbago_model::count;

/// Runs the server until Ctrl-C or SIGTERM; then drains and returns.
pub fn run(loaded: Loaded, sources: Sources) -> Result<()> {
    let Loaded { config, settings, .. } = loaded;
    let manager = Notifier::of_environment();
    manager.status("opening the store");
    system::make_room_for_files(&config);
    picture::limit_system_fonts(FontLimits {
        files: config.query.max_fonts,
        bytes: config.query.max_font_bytes,
    });
    let (ingest, queries) = runtimes(&config)?;
    let sockets = ingest.block_on(Sockets::bind(&config))?;
    let http = config.listen.http.map(|address| Reserved::new("http", address)).transpose()?;
    let https = config.listen.https.map(|address| Reserved::new("https", address)).transpose()?;
    let certificate = certificate(&config.listen, Inside::Http)?;
    let telemetry = Arc::new(Telemetry::default());
    let doorman = Doorman::open(&config.auth, Arc::clone(&telemetry))?.map(Arc::new);
    if let Some(warning) = config.exposed() {
        tracing::warn!("{warning}");
    }
    let engine = Arc::new(Engine::open_with(config, telemetry)?);
    engine.read_from(sources, settings);
    let is_read_only = engine.config.store.read_only;
    if !is_read_only {
        begin(&engine)?;
    }
    let background = Background::start(&engine)?;
    let signals = {
        let _inside = queries.enter();
        Signals::new()?
    };
    let sockets = {
        let _inside = ingest.enter();
        sockets.open()?
    };
    let listeners = {
        let _inside = queries.enter();
        let https = https.map(Reserved::open).transpose()?;
        Listeners { http: http.map(Reserved::open).transpose()?, https: https.zip(certificate) }
    };
    if let Some(carbon) = &sockets.carbon {
        let address = carbon.local_addr()?;
        engine.carbon.get_or_init(|| address);
    }
    announce(&engine, &sockets, &listeners)?;

    let (stop, stopping) = watch::channel(false);
    let (sink, recent) = ports(&engine);
    let receivers = {
        let _inside = ingest.enter();
        let receiver =
            Receiver::new(sink, &engine.config.ingest, Arc::clone(&engine.telemetry), stopping.clone())
                .allowing(engine.config.listen.allow.clone())
                .asking(doorman.clone());
        sockets.start(&receiver, &engine, recent)
    };
    let api = (listeners.http.is_some() || listeners.https.is_some()).then(|| {
        let service = service(&engine, doorman);
        let _inside = queries.enter();
        let api = queries.spawn(http::serve(listeners, service, stopping));
        engine.supervisor.watch("http", api)
    });
    let metrics = count(engine.index.read().len(), "metric");
    manager.ready(&format!("running, with {metrics} at the start"), [ingest.handle(), queries.handle()])?;
    queries.block_on(until_the_end(&engine, signals));
    engine.supervisor.expect_ends();
    manager.stopping();
    eprintln!("stopping: reading what senders have already sent");
    stop.send_replace(true);
    engine.backup.stop();
    engine.check.stop();
    ingest.block_on(async {
        for receiver in receivers {
            // The supervisor catches panics, so this cannot fail.
            let _ = receiver.await;
        }
    });
    if let Some(api) = api {
        let limit = engine.config.ingest.drain_timeout;
        // A client that reads slowly gets no more time than a sender.
        if let Ok(ended) = queries.block_on(async { tokio::time::timeout(limit, api).await }) {
            ended?.transpose().context("the HTTP listener failed")?;
        }
    }
    if let Some(failure) = engine.supervisor.failure() {
        // What failed may fail again or block the others, so this writes nothing more and waits for nothing. The log has it all.
        engine.points.sync().context("syncing the log")?;
        ingest.shutdown_background();
        queries.shutdown_background();
        bail!("{failure}; every point that was stored is in the log, and the next start replays it");
    }
    background.stop(&engine);
    if let Some(failure) = engine.supervisor.failure() {
        bail!(
            "{failure} during the stop; every point that was stored is in the log, and the next start replays it"
        );
    }
    if is_read_only {
        eprintln!("stopped: nothing was changed");
        return Ok(());
    }
    engine.points.cut().context("writing the points in memory to the store; they stay in the log")?;
    engine.store.upstream.leave(&*engine);
    say_stopped(engine.store.upstream.spooled_points());
    Ok(())
}

/// What the HTTP listeners serve.
fn service(engine: &Arc<Engine>, doorman: Option<Arc<Doorman>>) -> Service {
    let backend: Arc<dyn Backend> = Arc::<Engine>::clone(engine);
    Service {
        http: engine.config.http.clone(),
        query: Arc::new(engine.config.query.clone()),
        kairosdb: Arc::new(engine.config.kairosdb.clone()),
        ceres: Arc::new(engine.config.ceres.clone()),
        auth: engine.config.auth.clone(),
        doorman,
        telemetry: Arc::clone(&engine.telemetry),
        ..Service::of(backend)
    }
}

/// What a start changes in the store.
fn begin(engine: &Engine) -> Result<()> {
    let moved = engine.apply_rules().context("applying changed retention rules to existing metrics")?;
    if moved > 0 {
        tracing::info!(metrics = moved, "metrics moved to the policies of changed rules");
    }
    Ok(engine.store.upstream.start()?)
}

fn say_stopped(spooled: Option<u64>) {
    let left = spooled
        .map(|spooled| format!("; sent to the cluster after the next start: {}", count(spooled, "point")));
    eprintln!("stopped: everything is on disk{}", left.unwrap_or_default());
}

/// Waits for a stop signal, or for a failed thread and `server.failure_grace` after it. Reloads at each SIGHUP.
async fn until_the_end(engine: &Arc<Engine>, mut signals: Signals) {
    let failure = async {
        engine.supervisor.failed().await;
        tokio::time::sleep(engine.config.server.failure_grace).await;
    };
    tokio::select! {
        () = signals.wait_for_stop(engine) => {}
        () = failure => {}
    }
}

/// How long a thread for blocking work stays without work. What it has freed goes back to the system only when it ends.
const IDLE_THREADS: Duration = Duration::from_secs(1);

/// Two, so that a disk that stalls the log never stalls a query, and queries step back behind points.
fn runtimes(config: &Config) -> Result<(Runtime, Runtime)> {
    Ok((runtime("ingest", || ())?, runtime("http", system::behind_ingest(config))?))
}

fn runtime(name: &str, first: impl Fn() + Send + Sync + 'static) -> Result<Runtime> {
    let workers = std::thread::available_parallelism().map_or(2, |n| n.get().clamp(2, 8));
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(workers)
        .thread_name(name)
        .thread_keep_alive(IDLE_THREADS)
        .on_thread_start(first)
        .enable_all()
        .build();
    runtime.with_context(|| format!("starting the threads for {name}"))
}

/// Ctrl-C, SIGTERM and SIGHUP. Created before the server announces that it runs: from then on, a stop must drain.
struct Signals {
    interrupt: Signal,
    terminate: Signal,
    hang_up: Signal,
}

impl Signals {
    fn new() -> Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hang_up: signal(SignalKind::hangup())?,
        })
    }

    async fn wait_for_stop(&mut self, engine: &Arc<Engine>) {
        loop {
            tokio::select! {
                _ = self.interrupt.recv() => return,
                _ = self.terminate.recv() => return,
                _ = self.hang_up.recv() => {
                    let engine = Arc::clone(engine);
                    tokio::task::spawn_blocking(move || reload(&engine));
                }
            }
        }
    }
}

fn reload(engine: &Engine) {
    if engine.config.store.read_only {
        tracing::warn!("nothing is reloaded: {READ_ONLY}");
        return;
    }
    match engine.reload() {
        Ok(reloaded) => {
            reloaded.warnings.iter().for_each(|warning| tracing::warn!("{warning}"));
            for key in &reloaded.needs_restart {
                tracing::warn!(key, "this key was changed; a restart puts it in force");
            }
            tracing::info!(moved = reloaded.moved, "rules reloaded");
        }
        Err(error) => tracing::error!(%error, "the reload changed nothing; the old rules stay in force"),
    }
}

/// Prints all addresses, and how to send a first point and read it back.
fn announce(engine: &Engine, sockets: &Sockets<TcpListener>, listeners: &Listeners) -> Result<()> {
    let address = |listener: Option<&TcpListener>| listener.map(TcpListener::local_addr).transpose();
    let https = address(listeners.https.as_ref().map(|(listener, _)| listener))?;
    let (http, carbon, pickle) = (
        address(listeners.http.as_ref())?,
        address(sockets.carbon.as_ref())?,
        address(sockets.pickle.as_ref())?,
    );
    let mut out = std::io::stdout().lock();
    writeln!(out, "Plumbago {}", env!("CARGO_PKG_VERSION"))?;
    if let Some(http) = http {
        writeln!(out, "http      http://{http}")?;
    }
    if let Some(https) = https {
        writeln!(out, "https     https://{https}")?;
    }
    if let Some(carbon) = carbon {
        let protocols = if sockets.udp.is_some() { "tcp, udp" } else { "tcp" };
        writeln!(out, "carbon    {carbon} ({protocols})")?;
    }
    if let Some(pickle) = pickle {
        writeln!(out, "pickle    {pickle}")?;
    }
    for (kind, listener) in [("carbon", &sockets.carbon_tls), ("pickle", &sockets.pickle_tls)] {
        if let Some(tls) = address(listener.as_ref())? {
            writeln!(out, "tls       {tls} ({kind})")?;
        }
    }
    if let Some(cache_query) = address(sockets.cache_query.as_ref())? {
        writeln!(out, "queries   {cache_query} (carbon's cache queries)")?;
    }
    if let Some(telnet) = address(sockets.kairosdb_telnet.as_ref())? {
        writeln!(out, "telnet    {telnet} (KairosDB, OpenTSDB)")?;
    }
    let path = std::path::absolute(&engine.config.store.path)?;
    let only = if engine.config.store.read_only { ", read-only: nothing is taken or changed" } else { "" };
    writeln!(out, "data      {} ({}{only})", path.display(), count(engine.index.read().len(), "metric"))?;
    if let (Some(carbon), Some(http)) = (carbon, http) {
        let (ip, port) = (carbon.ip(), carbon.port());
        writeln!(out, "send      echo \"hello.world 42 $(date +%s)\" > /dev/tcp/{ip}/{port}")?;
        let login = if engine.config.auth.is_on() { "-u NAME " } else { "" };
        writeln!(
            out,
            "read      curl {login}\"http://{http}/render?target=hello.world&from=-5min&format=json&noNullPoints=1\""
        )?;
    }
    writeln!(out, "ready")?;
    out.flush()?;
    Ok(())
}
