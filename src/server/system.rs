//! What the server asks of the system: room for its files and sockets, and that queries step back when points arrive.

use std::sync::Arc;

use crate::config::Config;

/// Raises the number of files and sockets that may be open to what the system allows this process. Most shells give far less.
pub(super) fn make_room_for_files(config: &Config) {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let mut limit = getrlimit(Resource::Nofile);
    if limit.current != limit.maximum {
        let raised = rustix::process::Rlimit { current: limit.maximum, ..limit };
        match setrlimit(Resource::Nofile, raised) {
            Ok(()) => limit = raised,
            Err(error) => tracing::debug!(%error, "the limit on open files could not be raised"),
        }
    }
    let wanted = config.http.max_connections.saturating_add(config.ingest.max_connections) as u64;
    if limit.current.is_some_and(|allowed| allowed < wanted) {
        tracing::warn!(
            allowed = limit.current,
            wanted,
            "the system allows fewer open files than http.max_connections and ingest.max_connections together; raise LimitNOFILE \
             of the service, or lower them"
        );
    }
}

/// What every thread that works for queries does first: it takes its place behind those that take points.
///
/// The kernel gives a thread with a higher niceness less of a core that others want too, and all of a core that nobody else wants. So
/// queries slow down while points arrive, and not the other way round.
pub(super) fn behind_ingest(config: &Config) -> impl Fn() + Send + Sync + 'static {
    let (niceness, cores) = (config.query.niceness, config.query.cores);
    let said = Arc::new(std::sync::Once::new());
    move || {
        if let Err(error) = step_back(niceness, cores) {
            said.call_once(|| {
                tracing::warn!(%error, "the system does not let queries step back behind points (query.niceness, query.cores)");
            });
        }
    }
}

#[cfg(target_os = "linux")]
fn step_back(niceness: u8, cores: usize) -> rustix::io::Result<()> {
    use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
    if niceness > 0 {
        // On Linux this is about the thread that calls.
        let own = rustix::process::getpriority_process(None)?;
        rustix::process::setpriority_process(None, (own + i32::from(niceness)).min(19))?;
    }
    if cores > 0 {
        let allowed = sched_getaffinity(None)?;
        let mut chosen = CpuSet::new();
        let mine = (0..CpuSet::MAX_CPU).filter(|&core| allowed.is_set(core)).take(cores);
        mine.for_each(|core| chosen.set(core));
        sched_setaffinity(None, &chosen)?;
    }
    Ok(())
}

/// Elsewhere priorities belong to whole processes.
#[cfg(not(target_os = "linux"))]
fn step_back(_: u8, _: usize) -> rustix::io::Result<()> {
    Ok(())
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_thread_of_queries_steps_back_and_others_do_not() {
        let mut config = Config::default();
        (config.query.niceness, config.query.cores) = (7, 1);
        let state = || {
            let cores = rustix::thread::sched_getaffinity(None).unwrap().count();
            (rustix::process::getpriority_process(None).unwrap(), cores)
        };
        let before = state();
        let stepped = std::thread::spawn(move || {
            behind_ingest(&config)();
            // What it starts is behind, too.
            (state(), std::thread::spawn(state).join().unwrap())
        });
        let behind = ((before.0 + 7).min(19), 1);
        assert_eq!(stepped.join().unwrap(), (behind, behind));
        assert_eq!(state(), before);
    }
}
