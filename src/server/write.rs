//! Accepts points from a client that waits for the result, which carbon's protocols cannot give.

use std::sync::atomic::Ordering;

use super::engine::Engine;
use crate::auth::Sender;
use crate::parse::plaintext::parse_lines;
use crate::receive;
use plumbago_model::{Batch, Dialect, Judged, Overload, Verdict};

impl Engine {
    /// Takes carbon lines by the same rules as `listen.carbon`. Points that it reports as stored are durable. After an error the
    /// client may send the same lines again.
    pub fn write(&self, lines: &[u8]) -> Result<Verdict, String> {
        self.write_from(&Sender::default(), lines)
    }

    /// The same for one caller.
    pub(super) fn write_from(&self, sender: &Sender, lines: &[u8]) -> Result<Verdict, String> {
        let mut batch = Batch::default();
        let mut unreadable = Vec::new();
        let limits = receive::limits(&self.config.ingest);
        let received =
            parse_lines(lines, &limits, &mut batch, |reason, line| unreadable.push((reason, line)));
        let judged = self.judge(&batch, sender).map_err(|overload| overload.to_string())?;
        let mut verdict = Verdict::from(&judged);
        let settled = judged.stored + judged.refused.len() as u64;
        verdict.gathered = (batch.len() as u64).saturating_sub(settled);
        self.telemetry.points_received.add(received);
        for (reason, line) in unreadable {
            self.telemetry.reject(reason, 1);
            self.sampler.note(reason, line, None);
            verdict.refuse(reason, 1);
        }
        self.points.sync().map_err(|error| format!("what was taken is not durable: {error}"))?;
        Ok(verdict)
    }

    /// Takes points that one caller sent. They are written to the log, which is synced soon.
    pub(super) fn take_from(&self, sender: &Sender, batch: &Batch<'_>) -> Result<Judged, Overload> {
        let judged = self.judge(batch, sender)?;
        self.telemetry.points_received.add(batch.len() as u64);
        Ok(judged)
    }

    /// Fails while a cluster lacks the tables for metrics that such senders make: what was taken could not be delivered.
    pub(super) fn admit(&self, dialect: Dialect) -> Result<(), Overload> {
        if dialect != Dialect::Labelled || self.labelled_admitted.load(Ordering::Relaxed) {
            return Ok(());
        }
        let retention = self.retention().rules().labelled_retention.clone();
        // Asking a cluster waits, which the threads that read sockets must not do by themselves.
        let asked =
            std::thread::scope(|scope| scope.spawn(|| self.store.upstream.admit(&[retention])).join());
        let admitted = asked.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        admitted.map_err(|error| {
            Overload::Unwell(format!("metrics that come in here need tables for kairosdb.retention: {error}"))
        })?;
        self.labelled_admitted.store(true, Ordering::Relaxed);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::engine::now;
    use super::*;
    use crate::config::Config;
    use crate::http::Backend as _;
    use plumbago_model::{Arrival, Point, Reject, Scope};

    const NAME: &str = "cpu;host=a";

    fn engine(directory: &Path, retention: &str) -> Engine {
        let mut config = Config::default();
        config.store.path = directory.join("data");
        config.store.reserve_bytes = 0;
        config.retention.labelled_retention = retention.parse().unwrap();
        let engine = Engine::open(config).unwrap();
        engine.apply_rules().unwrap();
        engine
    }

    fn batch<'a>(entries: &[(&'a str, u32)], arrival: Arrival) -> Batch<'a> {
        let entries = entries.iter().map(|&(name, timestamp)| (name, Point { timestamp, value: 1.0 }));
        Batch { entries: entries.collect(), arrival }
    }

    fn policy(engine: &Engine, name: &str) -> String {
        engine.policies(&[name])[0].as_ref().unwrap().to_string()
    }

    #[test]
    fn each_point_of_a_batch_is_judged_by_its_place() {
        let directory = tempfile::tempdir().unwrap();
        let engine = engine(directory.path(), "1s:1h");
        let (now, long) = (now(), "x".repeat(5000));
        let sent = [(NAME, now), (&*long, now), ("old;a=b", now - 7200), (NAME, now - 7200), ("out", now)];
        let judged = engine.take(&batch(&sent, Arrival::labelled(0))).unwrap();
        let mut refused = judged.refused;
        refused.sort_unstable_by_key(|(at, _)| *at);
        assert_eq!(judged.stored, 2);
        assert_eq!(refused, [(1, Reject::NameTooLong), (2, Reject::TooOld), (3, Reject::TooOld)]);

        let scope = Scope::of(["cpu*;host=*"]).unwrap();
        let sender = Sender { scope: scope.into(), ..Sender::default() };
        let judged = engine.take_from(&sender, &batch(&sent[..2], Arrival::labelled(0))).unwrap();
        assert_eq!((judged.stored, judged.refused), (1, vec![(1, Reject::NameTooLong)]));
        let judged = engine.take_from(&sender, &batch(&sent[3..], Arrival::labelled(0))).unwrap();
        let mut refused = judged.refused;
        refused.sort_unstable_by_key(|(at, _)| *at);
        assert_eq!(refused, [(0, Reject::TooOld), (1, Reject::OutOfScope)]);
    }

    #[test]
    fn names_are_taken_or_refused_by_what_they_are_in_the_store_however_they_are_sent() {
        let directory = tempfile::tempdir().unwrap();
        let engine = engine(directory.path(), "1s:1h");
        let scope = Scope::of(["servers", "nobody.has.this", "~odd", "a{b"]).unwrap();
        let sender = Sender { scope: scope.into(), ..Sender::default() };
        let inside = [
            "servers.a",
            "servers",
            "servers..a",
            ".servers.b",
            "servers.a;k=v",
            "servers;k=v",
            "servers.;k=v",
            "servers.{k=\"v\"}",
            "~servers.c;k=v",
            "servers.a;broken",
            "servers.;broken",
            "~odd.a",
            "a{b.c",
        ];
        let outside = [
            "servers;broken",
            "serversx.a",
            "x.servers.a",
            "x;k=servers",
            "{k=\"v\"}servers",
            "~odd.a;k=v",
            "a{b.c=\"v\"}",
            "nobody.has",
        ];
        for raw in inside.iter().chain(&outside) {
            // Alone, and behind one that is surely inside.
            for sent in [&[*raw][..], &["servers.known", raw]] {
                let sent: Vec<(&str, u32)> = sent.iter().map(|name| (*name, now())).collect();
                let refused = engine.take_from(&sender, &batch(&sent, Arrival::default())).unwrap().refused;
                let expected =
                    if inside.contains(raw) { vec![] } else { vec![(sent.len() - 1, Reject::OutOfScope)] };
                assert_eq!(refused, expected, "{raw}");
            }
        }
    }

    #[test]
    fn metrics_of_labelled_senders_have_a_default_of_their_own_and_keep_it() {
        let directory = tempfile::tempdir().unwrap();
        {
            let engine = engine(directory.path(), "1s:1h,1m:1d");
            let now = now();
            engine.take(&batch(&[(NAME, now)], Arrival::labelled(0))).unwrap();
            engine.take(&batch(&[("short;host=a", now)], Arrival::labelled(60))).unwrap();
            engine.take(&batch(&[("dotted", now)], Arrival::default())).unwrap();
            assert_eq!(policy(&engine, NAME), "3600*1s:1440*60s|average|0|labelled");
            assert_eq!(policy(&engine, "short;host=a"), "3600*1s|average|0|labelled");
            assert_eq!(policy(&engine, "dotted"), "8640*10s:43200*60s:17520*3600s|average|0.5");
            engine.points.cut().unwrap();
        }
        let engine = engine(directory.path(), "1s:2h,1m:2d");
        assert_eq!(policy(&engine, NAME), "7200*1s:2880*60s|average|0|labelled", "a changed default applies");
        assert_eq!(policy(&engine, "short;host=a"), "7200*1s|average|0|labelled");
        assert_eq!(policy(&engine, "dotted"), "8640*10s:43200*60s:17520*3600s|average|0.5");
    }
}
