//! What senders may send: protocols, names, junk, and limits.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpStream, UdpSocket};
use std::process::Command;

use super::harness::{Server, Setup, find_program, now, send_to, wait_until};
use super::skip::skip;

/// A time that every stage still covers, at the start of a minute.
fn minute() -> u64 {
    now() / 60 * 60 - 600
}

#[test]
fn plaintext_over_tcp_is_readable() {
    let (server, t) = (Server::start(), minute());
    server.store(&format!("plain.a 1.5 {t}\nplain.a 2.5e3 {}\nplain.b -7 {t}\n", t + 10));
    assert_eq!(server.points("plain.a", t - 60, t + 60), [(1.5, t), (2500.0, t + 10)]);
    assert_eq!(server.points("plain.b", t - 60, t + 60), [(-7.0, t)]);
    assert_eq!(server.counter("plumbago_metrics"), 2);
    assert_eq!(server.counter("plumbago_metrics_created_total"), 2);
}

#[test]
fn lines_may_be_split_and_ended_in_any_way() {
    let (server, t) = (Server::start(), minute());
    let mut stream = TcpStream::connect(server.carbon).unwrap();
    stream.set_nodelay(true).unwrap();
    for piece in [
        "  spa",
        "ced.name\t 4",
        "2   ",
        &format!("{t}\r"),
        "\n",
        &format!("float.time 1 {t}.9\ncut.off 12 {t}"),
    ] {
        stream.write_all(piece.as_bytes()).unwrap();
        stream.flush().unwrap();
        std::thread::yield_now();
    }
    stream.shutdown(Shutdown::Write).unwrap();
    server.wait_for("plumbago_points_received_total", 3);
    assert_eq!(server.points("spaced.name", t - 60, t + 60), [(42.0, t)]);
    assert_eq!(server.points("float.time", t - 60, t + 60), [(1.0, t)]);
    // A line without its end may lack digits too: nobody can tell, so it is refused.
    assert_eq!(server.rejected("bad_line"), 1);
    assert_eq!(server.points("cut.off", t - 60, t + 60), []);
}

#[test]
fn plaintext_over_udp_is_readable() {
    let (server, t) = (Server::start(), minute());
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.send_to(format!("udp.a 1 {t}\nudp.b 2 {t}").as_bytes(), server.carbon).unwrap();
    server.wait_for("plumbago_points_stored_total", 2);
    assert_eq!(server.points("udp.a", t - 60, t + 60), [(1.0, t)]);
    assert_eq!(server.points("udp.b", t - 60, t + 60), [(2.0, t)]);
}

#[test]
fn a_time_stamp_of_minus_one_means_now() {
    let (server, before) = (Server::start(), now());
    server.store("stamp.now 5 -1\n");
    let points = server.points("stamp.now", before - 60, now() + 60);
    assert_eq!(points.len(), 1);
    assert!(points[0].1 + 10 > before && points[0].1 <= now(), "{points:?} is not {before}");
}

/// A frame of protocol 2, as `pickle.dumps([(name, (timestamp, value)), ...], 2)` makes it.
fn frame(points: &[(&str, u64, f64)]) -> Vec<u8> {
    let mut pickle = b"\x80\x02](".to_vec();
    for (name, timestamp, value) in points {
        pickle.push(b'X');
        pickle.extend_from_slice(&(name.len() as u32).to_le_bytes());
        pickle.extend_from_slice(name.as_bytes());
        pickle.push(b'J');
        pickle.extend_from_slice(&(*timestamp as u32).to_le_bytes());
        pickle.push(b'G');
        pickle.extend_from_slice(&value.to_be_bytes());
        pickle.extend_from_slice(b"\x86\x86");
    }
    pickle.extend_from_slice(b"e.");
    framed(&pickle)
}

fn framed(pickle: &[u8]) -> Vec<u8> {
    [&(pickle.len() as u32).to_be_bytes(), pickle].concat()
}

#[test]
fn pickle_frames_are_readable() {
    let (server, t) = (Server::start(), minute());
    let two = [frame(&[("pickle.a", t, 1.25), ("pickle.b", t, -3.0)]), frame(&[("pickle.a", t + 10, 2.0)])]
        .concat();
    send_to(server.pickle, &two);
    server.wait_for("plumbago_points_stored_total", 3);
    assert_eq!(server.points("pickle.a", t - 60, t + 60), [(1.25, t), (2.0, t + 10)]);
    assert_eq!(server.points("pickle.b", t - 60, t + 60), [(-3.0, t)]);
}

#[test]
fn every_protocol_that_python_pickles_by_is_understood() {
    let Some(python) = find_program("python3") else {
        return skip("python_pickles", "python3 is not installed");
    };
    let (server, t) = (Server::start(), minute());
    let script = format!(
        "import pickle, struct, sys\n\
         for p in range(5):\n\
         \x20   points = [('proto.p%d' % p, ({t}, p + 0.5)), ['proto.text%d' % p, ('{t}', '1e1')]]\n\
         \x20   if p >= 3: points.append((b'proto.bytes%d' % p, ({t}.5, 7)))\n\
         \x20   data = pickle.dumps(points, p)\n\
         \x20   sys.stdout.buffer.write(struct.pack('!L', len(data)) + data)\n"
    );
    let made = Command::new(python).arg("-c").arg(script).output().unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    send_to(server.pickle, &made.stdout);
    server.wait_for("plumbago_points_stored_total", 12);
    for p in 0..5 {
        assert_eq!(
            server.points(&format!("proto.p{p}"), t - 60, t + 60),
            [(f64::from(p) + 0.5, t)],
            "protocol {p}"
        );
        assert_eq!(server.points(&format!("proto.text{p}"), t - 60, t + 60), [(10.0, t)], "protocol {p}");
    }
    // Below protocol 3 Python writes bytes as a call of a codec, which is no data.
    for p in 3..5 {
        assert_eq!(server.points(&format!("proto.bytes{p}"), t - 60, t + 60), [(7.0, t)], "protocol {p}");
    }
}

#[test]
fn a_pickle_that_is_not_data_is_refused_and_the_connection_lives() {
    let (server, t) = (Server::start(), minute());
    let mut stream = TcpStream::connect(server.pickle).unwrap();
    let deep = [vec![b'('; 100_000], b"t.".to_vec()].concat();
    for bomb in [
        &b"cos\nsystem\n(S'touch owned'\ntR."[..],
        &b"\x80\x02(lp0\n"[..],
        &deep,
        &b""[..],
        &b"\xff\xff\xff"[..],
    ] {
        stream.write_all(&framed(bomb)).unwrap();
    }
    stream.write_all(&frame(&[("after.bombs", t, 1.0)])).unwrap();
    server.wait_for("plumbago_points_stored_total", 1);
    assert_eq!(server.points("after.bombs", t - 60, t + 60), [(1.0, t)]);
    assert!(server.rejected("bad_pickle") >= 4);
}

#[test]
fn a_frame_of_four_gigabytes_closes_the_connection() {
    let server = Server::start();
    let mut stream = TcpStream::connect(server.pickle).unwrap();
    stream.write_all(&[0xff; 4]).unwrap();
    let mut rest = Vec::new();
    // An end or a reset: either way the server has closed it without waiting for four gigabytes.
    let _ = stream.read_to_end(&mut rest);
    wait_until("the count", || server.rejected("frame_too_large") == 1);
}

#[test]
fn tags_are_put_in_order() {
    let (server, t) = (Server::start(), minute());
    server.store(&format!(
        "disk.used;rack=a1;datacenter=dc1 5 {t}\ndisk.used;datacenter=dc1;rack=a1 6 {}\n",
        t + 10
    ));
    assert_eq!(server.counter("plumbago_metrics"), 1);
    assert_eq!(server.points("disk.used;datacenter=dc1;rack=a1", t - 60, t + 60), [(5.0, t), (6.0, t + 10)]);
}

#[test]
fn bad_lines_are_counted_by_reason_and_the_connection_lives() {
    let (server, t) = (Server::start(), minute());
    let components = |n: usize| vec!["c"; n].join(".");
    let lines: Vec<(&str, Vec<u8>)> = vec![
        ("bad_line", b"only.two 1".to_vec()),
        ("bad_line", format!("four fields {t} 1").into_bytes()),
        ("bad_value", format!("value.text abc {t}").into_bytes()),
        ("nan_value", format!("value.nan nan {t}").into_bytes()),
        ("bad_timestamp", b"stamp.text 1 soon".to_vec()),
        ("bad_timestamp", b"stamp.negative 1 -5".to_vec()),
        ("too_far_in_future", format!("stamp.future 1 {}", now() + 10 * 86_400).into_bytes()),
        ("too_old", b"stamp.old 1 1000000".to_vec()),
        ("not_utf8", [b"na\xffme 1 ", t.to_string().as_bytes()].concat()),
        ("empty_name", format!("... 1 {t}").into_bytes()),
        ("name_too_long", format!("{} 1 {t}", "x".repeat(10_000)).into_bytes()),
        ("too_many_components", format!("{} 1 {t}", components(64)).into_bytes()),
        ("control_character", format!("a.b\x07c 1 {t}").into_bytes()),
        ("line_too_long", format!("{} 1 {t}", "y".repeat(100_000)).into_bytes()),
    ];
    let mut stream = TcpStream::connect(server.carbon).unwrap();
    for (_, line) in &lines {
        stream.write_all(line).unwrap();
        stream.write_all(b"\n").unwrap();
    }
    stream.write_all(format!("{} 1 {t}\n\n\ninf.kept inf {t}\n", components(63)).as_bytes()).unwrap();
    server.wait_for("plumbago_points_stored_total", 2);
    for (reason, line) in &lines {
        let expected = lines.iter().filter(|(other, _)| other == reason).count() as u64;
        let shown = String::from_utf8_lossy(&line[..line.len().min(60)]).into_owned();
        assert_eq!(server.rejected(reason), expected, "{reason}: {shown}");
    }
    assert_eq!(server.counter("plumbago_points_received_total"), lines.len() as u64 + 2);
    assert_eq!(server.points(&components(63), t - 60, t + 60), [(1.0, t)]);
    assert_eq!(server.counter("plumbago_metrics"), 2);
    let log = server.errors();
    assert!(
        log.len() < 64 * 1024,
        "bad lines are sampled in the log, not copied into it: {} bytes",
        log.len()
    );
}

#[test]
fn empty_components_are_dropped() {
    let (server, t) = (Server::start(), minute());
    server.store(&format!(".a..b. 1 {t}\na.b 2 {}\n", t + 10));
    assert_eq!(server.counter("plumbago_metrics"), 1);
    assert_eq!(server.points("a.b", t - 60, t + 60), [(1.0, t), (2.0, t + 10)]);
}

#[test]
fn a_line_that_never_ends_takes_no_memory() {
    let (server, t) = (Server::start(), minute());
    server.store(&format!("before.flood 1 {t}\n"));
    let before = server.rss();
    let mut stream = TcpStream::connect(server.carbon).unwrap();
    let piece = vec![b'x'; 1 << 20];
    let mut highest = 0;
    for _ in 0..64 {
        stream.write_all(&piece).unwrap();
        highest = highest.max(server.rss());
    }
    // The line is dropped, the connection stays: what follows the line end is taken.
    stream.write_all(format!("\nafter.flood 2 {t}\n").as_bytes()).unwrap();
    server.wait_for("plumbago_points_stored_total", 2);
    assert_eq!(server.rejected("line_too_long"), 1);
    assert!(highest < before + (8 << 20), "memory grew from {before} to {highest} bytes");
    assert_eq!(server.points("after.flood", t - 60, t + 60), [(2.0, t)]);
}

#[test]
fn connections_over_the_limit_are_refused() {
    let (server, t) = (Setup::new().set("ingest.max_connections", "2").start(), minute());
    let mut kept: Vec<TcpStream> = (0..2).map(|_| TcpStream::connect(server.carbon).unwrap()).collect();
    wait_until("two connections", || server.counter("plumbago_connections") == 2);
    let mut third = TcpStream::connect(server.carbon).unwrap();
    let mut rest = Vec::new();
    let _ = third.read_to_end(&mut rest);
    wait_until("the refusal", || server.counter("plumbago_connections_refused_total") == 1);
    kept[0].write_all(format!("kept.alive 1 {t}\n").as_bytes()).unwrap();
    server.wait_for("plumbago_points_stored_total", 1);
    kept.clear();
    wait_until("room", || server.counter("plumbago_connections") == 0);
    server.store(&format!("kept.later 1 {t}\n"));
}

#[test]
fn idle_connections_are_closed() {
    let server = Setup::new().set("ingest.idle_timeout", "100ms").start();
    let mut stream = TcpStream::connect(server.carbon).unwrap();
    let mut rest = Vec::new();
    let _ = stream.read_to_end(&mut rest);
    wait_until("the count", || server.counter("plumbago_connections_idle_closed_total") == 1);
}

#[test]
fn metrics_over_the_limit_are_refused_and_those_that_exist_go_on() {
    let (server, t) = (Setup::new().set("ingest.max_metrics", "2").start(), minute());
    server.send(format!("cap.a 1 {t}\ncap.b 1 {t}\ncap.c 1 {t}\ncap.a 2 {}\n", t + 10));
    server.wait_for("plumbago_points_stored_total", 3);
    assert_eq!(server.rejected("metric_limit"), 1);
    assert_eq!(server.counter("plumbago_metrics"), 2);
    assert_eq!(server.points("cap.a", t - 60, t + 60), [(1.0, t), (2.0, t + 10)]);
}
