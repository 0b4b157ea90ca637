//! What real agents send, byte by byte as their serializers write it, and what becomes of each line.

use serde_json::Value;

use super::harness::{Server, now, send_to};
use Fate::{Found, Kept, Now, Refused, Spelled, Tagged};

/// What becomes of a line.
#[derive(Clone, Copy)]
enum Fate {
    /// Its value is read back under its name.
    Kept(f64),
    /// Likewise, and by its tags.
    Tagged(f64),
    /// Likewise, under another spelling of the name.
    Spelled(&'static str, f64),
    /// Its value is read back by this pattern.
    Found(&'static str, f64),
    /// Its value is read back at the time of its arrival.
    Now(f64),
    /// It is counted for this reason.
    Refused(&'static str),
}

/// Sends the lines over one connection, `TIME` replaced by a time, and checks what became of each.
fn check(lines: &[(&str, Fate)]) {
    let (server, t) = (Server::start(), now() / 60 * 60 - 600);
    let text: String = lines.iter().map(|(line, _)| line.replace("TIME", &t.to_string())).collect();
    send_to(server.carbon, text.as_bytes());
    server.wait_for("plumbago_points_received_total", lines.len() as u64);
    lines.iter().for_each(|(line, fate)| check_line(&server, line, *fate, t));
    let reason = |(_, fate): &(&str, Fate)| if let Refused(reason) = fate { Some(*reason) } else { None };
    let refused: Vec<&str> = lines.iter().filter_map(reason).collect();
    for reason in &refused {
        let count = refused.iter().filter(|other| *other == reason).count();
        assert_eq!(server.rejected(reason), count as u64, "{reason}");
    }
    assert_eq!(server.counter("plumbago_points_stored_total"), (lines.len() - refused.len()) as u64);
}

fn check_line(server: &Server, line: &str, fate: Fate, t: u64) {
    let sent_name = line.split_whitespace().next().unwrap();
    let near = |target: &str, name| read(server, target, name, t - 60, t + 60);
    let check = |name, value, tagged| {
        assert_eq!(near(name, name), [(value, t)], "{line:?}");
        let by_tags = near(&by_tags(name), name);
        // A plain name is its own `name` tag, as where carbon tags every metric.
        let found = tagged || !name.contains(';');
        assert_eq!(by_tags, if found { vec![(value, t)] } else { vec![] }, "{line:?}");
    };
    match fate {
        Kept(value) => check(sent_name, value, false),
        Tagged(value) => check(sent_name, value, true),
        Spelled(name, value) => check(name, value, name.contains(';')),
        Found(pattern, value) => assert_eq!(near(pattern, sent_name), [(value, t)], "{line:?}"),
        Now(value) => {
            let points = read(server, sent_name, sent_name, now() - 120, now() + 60);
            assert_eq!(points.iter().map(|(value, _)| *value).collect::<Vec<_>>(), [value], "{line:?}");
        }
        Refused(_) => {}
    }
}

/// The points of the series called `name` that `target` gives, without the nulls. There must be no other series.
fn read(server: &Server, target: &str, name: &str, from: u64, until: u64) -> Vec<(f64, u64)> {
    let (from, until) = (from.to_string(), until.to_string());
    let form = [("target", target), ("from", &from), ("until", &until), ("format", "json")];
    let answer = server.post("/render", &form);
    assert_eq!(answer.status, 200, "{target}: {}", answer.body);
    let series: Vec<Value> = serde_json::from_str(&answer.body).unwrap();
    assert!(series.iter().all(|series| series["target"] == name), "{target} is not {name}: {}", answer.body);
    let point = |point: &Value| Some((point[0].as_f64()?, point[1].as_u64()?));
    series.iter().flat_map(|series| series["datapoints"].as_array().unwrap()).filter_map(point).collect()
}

/// Asks for a series by all of its tags.
fn by_tags(name: &str) -> String {
    let mut tags = name.split(';');
    let metric = format!("\"name={}\"", tags.next().unwrap());
    let rest = tags.map(|tag| format!(", \"{tag}\""));
    format!("seriesByTag({metric}{})", rest.collect::<String>())
}

#[test]
fn statsd() {
    check(&[
        // With legacyNamespace, its default.
        ("stats.logins 1.2 TIME\n", Kept(1.2)),
        ("stats_counts.logins 12 TIME\n", Kept(12.0)),
        ("statsd.numStats 6 TIME\n", Kept(6.0)),
        ("stats.statsd.graphiteStats.calculationtime 0 TIME\n", Kept(0.0)),
        // Without.
        ("stats.counters.logins.rate 1.2 TIME\n", Kept(1.2)),
        ("stats.counters.logins.count 12 TIME\n", Kept(12.0)),
        ("stats.timers.render.mean_90 12.5 TIME\n", Kept(12.5)),
        ("stats.timers.render.upper_99_9 31 TIME\n", Kept(31.0)),
        ("stats.timers.render.std 0.816496580927726 TIME\n", Kept(0.816496580927726)),
        ("stats.timers.render.histogram.bin_inf 3 TIME\n", Kept(3.0)),
        ("stats.gauges.queue -5 TIME\n", Kept(-5.0)),
        ("stats.gauges.tiny 1e-7 TIME\n", Kept(1e-7)),
        ("stats.gauges.huge 1.5e+21 TIME\n", Kept(1.5e21)),
        ("stats.sets.users.count 765 TIME\n", Kept(765.0)),
        // Tags go through as they come.
        (
            "stats.counters.hits.count;host=web1;dc=east 3 TIME\n",
            Spelled("stats.counters.hits.count;dc=east;host=web1", 3.0),
        ),
        // It puts the ending of a timer behind the tags, where it belongs to the value of the last one.
        ("stats.timers.load;dc=east.mean_90 2.5 TIME\n", Tagged(2.5)),
    ]);
}

#[test]
fn collectd() {
    check(&[
        ("web1_example_com.cpu-0.cpu-user 1.234500 TIME\r\n", Kept(1.2345)),
        ("web1_example_com.load.load.shortterm 0.18 TIME\r\n", Kept(0.18)),
        ("web1.interface-eth0.if_octets.rx 1043.994012 TIME\r\n", Kept(1043.994012)),
        ("web1.df-root.df_complex-free 17083998208 TIME\r\n", Kept(17_083_998_208.0)),
        // SeparateInstances, and a gauge that needs an exponent.
        ("collectd.web1.disk.sda.pending 6.103515625e-05 TIME\r\n", Kept(6.103515625e-5)),
        // StoreRates false: a counter of 64 bits has more digits than a float.
        ("web1.disk-sda.disk_ops.read 18446744073709551615 TIME\r\n", Kept(18_446_744_073_709_551_615.0)),
        // A blank, a slash and a colon became the escape character.
        ("web1.snmp.if_octets-Gi0_1__uplink_.tx 0 TIME\r\n", Kept(0.0)),
        // A rate needs two readings; until then there is no value.
        ("web1.cpu-1.cpu-user nan TIME\r\n", Refused("nan_value")),
        ("web1.ping.ping-gateway -nan TIME\r\n", Refused("nan_value")),
        // UseTags.
        ("cpu.cpu;host=a.example.com;plugin=cpu;plugin_instance=0;type=cpu 1.5 TIME\r\n", Tagged(1.5)),
        (
            "interface.if_octets.rx;host=web1;plugin=interface;type=if_octets;ds_name=rx 17.5 TIME\r\n",
            Spelled("interface.if_octets.rx;ds_name=rx;host=web1;plugin=interface;type=if_octets", 17.5),
        ),
        // Version 6 has labels, which it writes into the name.
        ("disk_ops.device=sda.direction=read 18 TIME\r\n", Kept(18.0)),
    ]);
}

#[test]
fn telegraf() {
    check(&[
        // The template host.tags.measurement.field; slashes became hyphens.
        ("web1.cpu-total.cpu.usage_idle 98.09 TIME\n", Kept(98.09)),
        ("web1.sda1.ext4.rw.-var.disk.used 5 TIME\n", Kept(5.0)),
        ("web1.fe80::1.ping.average_response_ms 0.25 TIME\n", Kept(0.25)),
        ("web1.caf\u{e9}.http_response.result_code -1 TIME\n", Kept(-1.0)),
        ("telegraf.web1.ntpq.jitter 0.0000001 TIME\n", Kept(1e-7)),
        ("telegraf.web1.system.uptime 18446744073709551615 TIME\n", Kept(1.8446744073709552e19)),
        // graphite_tag_support.
        ("cpu.usage_idle;cpu=cpu-total;host=web1 98.09 TIME\n", Tagged(98.09)),
        ("cpu_usage_idle;cpu=cpu0;host=web1 97.5 TIME\n", Tagged(97.5)),
        ("net.bytes_recv;_name=uplink;host=web1 7 TIME\n", Tagged(7.0)),
        // A field called `value` is left out.
        ("up;host=web1 1 TIME\n", Tagged(1.0)),
        // graphite_tag_sanitize_mode = "compatible" leaves slashes, and alas blanks: carbon refuses those as well.
        ("disk.used;host=web1;path=/var/lib 6 TIME\n", Tagged(6.0)),
        ("disk.used;host=web1;path=/mnt/my disk 6 TIME\n", Refused("bad_line")),
    ]);
}

#[test]
fn prometheus_adapters() {
    check(&[
        // Prometheus' own example: value and time by %f.
        ("node_load1.instance.web1:9100.job.node 0.180000 TIME.123000\n", Kept(0.18)),
        (
            "node_filesystem_free_bytes.device.%2Fdev%2Fsda1.mountpoint.%2F 17083998208.000000 TIME.500000\n",
            Kept(17_083_998_208.0),
        ),
        ("go_info.version.go1%2E21%2E3 1.000000 TIME.000000\n", Kept(1.0)),
        // Graphite's language has no way to ask for a backslash, but by a pattern.
        ("city.name.Z%C3%BCrich%20\\(CH\\) 1.000000 TIME.000000\n", Found("city.name.Z*", 1.0)),
        // graphite-remote-adapter with carbon's tags, and with those of OpenMetrics.
        ("prometheus.up;instance=web1:9100;job=node 1.000000 TIME\n", Tagged(1.0)),
        (
            "prometheus.up{job=\"node\",instance=\"web2:9100\"} 1.000000 TIME\n",
            Spelled("prometheus.up;instance=web2:9100;job=node", 1.0),
        ),
    ]);
}

#[test]
fn diamond_brubeck_netdata_icinga_and_jmxtrans() {
    check(&[
        ("servers.web1.cpu.total.idle 85 TIME\n", Kept(85.0)),
        ("servers.web1.loadavg.01 0.18 TIME\n", Kept(0.18)),
        ("github.render.percentile.999 34.25 TIME\n", Kept(34.25)),
        ("netdata.web1.system.load.load1;env=test 0.0600000 TIME\n", Tagged(0.06)),
        ("icinga2.web1.host.hostalive.perfdata.rta.value 0.000451 TIME\n", Kept(0.000451)),
        ("icinga2.web1.services.disk__.disk.metadata.state 2 TIME\n", Kept(2.0)),
        ("servers.w2_1099.memory.HeapMemoryUsage_max 92274688 TIME\n", Kept(92_274_688.0)),
        ("servers.w2_1099.os.SystemCpuLoad 1.0E-5 TIME\n", Kept(1e-5)),
        ("servers.w2_1099.pool.PS_Eden_Space.Usage 1.34217728E8 TIME\n", Kept(134_217_728.0)),
        ("servers.w2_1099.os.ProcessCpuLoad NaN TIME\n", Refused("nan_value")),
    ]);
}

#[test]
fn scripts() {
    check(&[
        ("vmstat.web1.r\t2\tTIME\n", Kept(2.0)),
        ("vmstat.web1.b    0   TIME\n", Kept(0.0)),
        ("  vmstat.web1.free \t 131072 TIME \r\n", Kept(131_072.0)),
        ("sensors.web1.temp1 +41.0 TIME\n", Kept(41.0)),
        ("backup.web1.bytes 1.5e+09 TIME\n", Kept(1.5e9)),
        ("backup.web1.ratio .5 TIME\n", Kept(0.5)),
        ("date.web1.nanoseconds 7 TIME.987654321\n", Kept(7.0)),
        (".web1..dots. 3 TIME\n", Spelled("web1.dots", 3.0)),
        ("uptime.web1 12 -1\n", Now(12.0)),
        // A tag without a value is no tag: the name stays as it is, as in carbon.
        ("queue;dc=;host=web1 4 TIME\n", Kept(4.0)),
        ("uptime.web1 12 N\n", Refused("bad_timestamp")),
        ("date.web1.milliseconds 1 TIME000\n", Refused("too_far_in_future")),
        ("df.web1.decimal_comma 4,3 TIME\n", Refused("bad_value")),
        ("sensors.web1.unit 41.0C TIME\n", Refused("bad_value")),
        ("python.none None TIME\n", Refused("bad_value")),
        ("awk.no.value  TIME\n", Refused("bad_line")),
        ("name with blanks 5 TIME\n", Refused("bad_line")),
    ]);
}

fn framed(pickle: &[u8]) -> Vec<u8> {
    [&(pickle.len() as u32).to_be_bytes(), pickle].concat()
}

/// Pickles that no `pickle.dumps` of today writes.
#[test]
fn pickles() {
    let (server, t) = (Server::start(), now() / 60 * 60 - 600);
    // statsd with graphiteProtocol: 'pickle': text, with the value as a string.
    let element = |name: &str, value: &str| format!("(S'{name}'\n(L{t}L\nS'{value}'\ntta");
    let statsd =
        format!("(l{}{}.", element("stats.gauges.a", "-5"), element("stats.timers.b.mean_90", "12.5"));
    // brubeck: opcodes of protocol 1 without its header, everything memoized.
    let mut brubeck = b"]q\0(".to_vec();
    for (at, name, value) in [(1, "github.c", 7.25_f64), (4, "github.d", 1e-7)] {
        brubeck.extend([&b"(U"[..], &[name.len() as u8], name.as_bytes(), b"q", &[at], b"(J"].concat());
        brubeck.extend((t as u32).to_le_bytes());
        brubeck.extend([b"G", &value.to_be_bytes()[..], b"tq", &[at + 1], b"tq", &[at + 2]].concat());
    }
    brubeck.extend(b"e.");
    // Diamond under Python 2.
    let diamond = format!("(lp1\n(S'servers.web1.e'\np2\n(I{t}\nF84.5\ntp3\ntp4\na.");
    send_to(
        server.pickle,
        &[framed(statsd.as_bytes()), framed(&brubeck), framed(diamond.as_bytes())].concat(),
    );
    server.wait_for("plumbago_points_received_total", 5);
    for (name, value) in [
        ("stats.gauges.a", -5.0),
        ("stats.timers.b.mean_90", 12.5),
        ("github.c", 7.25),
        ("github.d", 1e-7),
        ("servers.web1.e", 84.5),
    ] {
        assert_eq!(read(&server, name, name, t - 60, t + 60), [(value, t)]);
    }
}
