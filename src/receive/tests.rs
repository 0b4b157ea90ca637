//! The receivers over real sockets, with a sink that records.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::*;
use plumbago_model::Reject;

/// Far longer than anything here takes: only a test that would hang meets it.
const PATIENCE: Duration = Duration::from_secs(30);

struct Recorder {
    points: Mutex<Vec<(String, u32, f64)>>,
    count: watch::Sender<usize>,
    /// Calls still to be answered with `Busy`.
    busy: AtomicUsize,
    /// The addresses that each batch came from, if they matter.
    senders: Option<Mutex<Vec<Sender>>>,
}

impl Sink for Recorder {
    fn tells_senders_apart(&self) -> bool {
        self.senders.is_some()
    }

    fn accept(&self, batch: &Batch<'_>, sender: &Sender) -> Result<(), Busy> {
        if self.busy.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)).is_ok() {
            return Err(Busy);
        }
        self.senders.iter().for_each(|senders| senders.lock().push(sender.clone()));
        let mut points = self.points.lock();
        points.extend(batch.entries.iter().map(|(name, p)| (String::from(*name), p.timestamp, p.value)));
        self.count.send_replace(points.len());
        Ok(())
    }
}

/// A receiver, its sink and its stop.
struct Bench {
    receiver: Receiver,
    sink: Arc<Recorder>,
    telemetry: Arc<Telemetry>,
    stop: watch::Sender<bool>,
}

impl Bench {
    fn new(config: Ingest) -> Self {
        let sink = Arc::new(Recorder {
            points: Mutex::default(),
            count: watch::Sender::new(0),
            busy: AtomicUsize::new(0),
            senders: None,
        });
        let telemetry = Arc::new(Telemetry::default());
        let stop = watch::Sender::new(false);
        let receiver = Receiver::new(
            Arc::clone(&sink) as Arc<dyn Sink>,
            &config,
            Arc::clone(&telemetry),
            stop.subscribe(),
        );
        Self { receiver, sink, telemetry, stop }
    }

    async fn plaintext(&self) -> (SocketAddr, JoinHandle<()>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        (listener.local_addr().unwrap(), self.receiver.plaintext(listener))
    }

    async fn pickle(&self) -> (SocketAddr, JoinHandle<()>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        (listener.local_addr().unwrap(), self.receiver.pickle(listener))
    }

    async fn udp(&self) -> (UdpSocket, JoinHandle<()>) {
        let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let client = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        client.connect(socket.local_addr().unwrap()).await.unwrap();
        (client, self.receiver.udp(socket))
    }

    /// The names in order of arrival, once there are `count` of them.
    async fn names(&self, count: usize) -> Vec<String> {
        let mut seen = self.sink.count.subscribe();
        patiently(seen.wait_for(|&n| n >= count)).await.unwrap();
        self.sink.points.lock().iter().map(|(name, ..)| name.clone()).collect()
    }

    async fn until(&self, reached: impl Fn(&Telemetry) -> bool) {
        patiently(async {
            while !reached(&self.telemetry) {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        })
        .await;
    }

    /// All that was received is stored or refused, and only for these reasons.
    fn account(&self, received: u64, refused: &[(Reject, u64)]) {
        for &reason in Reject::ALL {
            let expected = refused.iter().find(|(r, _)| *r == reason).map_or(0, |(_, n)| *n);
            assert_eq!(self.telemetry.rejected(reason), expected, "{reason:?}");
        }
        assert_eq!(self.telemetry.points_received.get(), received);
        let stored = self.sink.points.lock().len() as u64;
        assert_eq!(received, stored + refused.iter().map(|(_, n)| n).sum::<u64>());
    }
}

async fn patiently<T>(what: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, what).await.expect("this should not take so long")
}

async fn connect(to: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(to).await.unwrap();
    stream.set_nodelay(true).unwrap();
    stream
}

/// Waits until the server has closed its side. A reset counts: it had not read everything.
async fn closed(stream: &mut TcpStream) {
    let end = patiently(stream.read(&mut [0; 1])).await;
    assert!(matches!(end, Ok(0) | Err(_)), "the server sent something");
}

fn frame(content: &[u8]) -> Vec<u8> {
    [&(content.len() as u32).to_be_bytes()[..], content].concat()
}

/// `[(name, (5, 1))]` for names of one letter.
fn pickled(names: &str) -> Vec<u8> {
    let elements = names.bytes().flat_map(|name| [b"U\x01", &[name][..], b"K\x05K\x01\x86\x86"].concat());
    frame(&[b"\x80\x02](", &elements.collect::<Vec<u8>>()[..], b"e."].concat())
}

#[tokio::test]
async fn lines_arrive_however_they_are_cut() {
    let bench = Bench::new(Ingest::default());
    let (address, _task) = bench.plaintext().await;
    let mut client = connect(address).await;
    for byte in b"a.b 1.5 5\r\nc 2 6\nd\t3\t7\n" {
        client.write_all(&[*byte]).await.unwrap();
        tokio::task::yield_now().await;
    }
    bench.names(3).await;
    let points = bench.sink.points.lock().clone();
    assert_eq!(points, [("a.b".to_owned(), 5, 1.5), ("c".to_owned(), 6, 2.0), ("d".to_owned(), 7, 3.0)]);
    bench.account(3, &[]);
}

#[tokio::test]
async fn many_lines_arrive_in_order() {
    let bench = Bench::new(Ingest::default());
    let (address, _task) = bench.plaintext().await;
    let mut client = connect(address).await;
    let count = 200_000;
    let text: String = (0..count).map(|i| format!("metric.{i} {i} 5\n")).collect();
    let writer = tokio::spawn(async move { client.write_all(text.as_bytes()).await });
    bench.names(count).await;
    writer.await.unwrap().unwrap();
    for (i, (name, _, value)) in bench.sink.points.lock().iter().enumerate() {
        assert_eq!((name.as_str(), *value), (format!("metric.{i}").as_str(), i as f64));
    }
    bench.account(count as u64, &[]);
}

#[tokio::test]
async fn junk_is_counted_and_the_connection_lives_on() {
    let bench = Bench::new(Ingest::default());
    let (address, _task) = bench.plaintext().await;
    let mut client = connect(address).await;
    client
        .write_all(b"a 1 5\n\n\xff\xfe 1 5\n\0\0\0\nGET / HTTP/1.1\r\nb nan 5\nc x 5\nd 1 -7\nz 1 5\n")
        .await
        .unwrap();
    assert_eq!(bench.names(2).await, ["a", "z"]);
    let refused = [
        (Reject::NotUtf8, 1),
        (Reject::BadLine, 1),
        (Reject::NanValue, 1),
        (Reject::BadValue, 2),
        (Reject::BadTimestamp, 1),
    ];
    bench.account(8, &refused);
}

#[tokio::test]
async fn an_endless_line_is_dropped_and_the_next_one_is_taken() {
    let bench = Bench::new(Ingest { max_line_bytes: 1000, ..Ingest::default() });
    let (address, _task) = bench.plaintext().await;
    let mut client = connect(address).await;
    for _ in 0..64 {
        client.write_all(&[b'x'; 64 * 1024]).await.unwrap();
    }
    client.write_all(b" 1 5\nok 1 5\n").await.unwrap();
    // Whole within one read, and still too long.
    client.write_all(&[&[b'y'; 2000][..], b" 1 5\nend 1 5\n"].concat()).await.unwrap();
    assert_eq!(bench.names(2).await, ["ok", "end"]);
    bench.account(4, &[(Reject::LineTooLong, 2)]);
}

#[tokio::test]
async fn a_line_cut_off_by_the_end_is_not_stored() {
    let bench = Bench::new(Ingest::default());
    let (address, _task) = bench.plaintext().await;
    let mut client = connect(address).await;
    client.write_all(b"a 1 5\nb 1 170000").await.unwrap();
    client.shutdown().await.unwrap();
    closed(&mut client).await;
    bench.until(|t| t.connections.get() == 0).await;
    assert_eq!(bench.names(1).await, ["a"]);
    bench.account(2, &[(Reject::BadLine, 1)]);
}

#[tokio::test]
async fn pickle_frames_arrive_however_they_are_cut() {
    let bench = Bench::new(Ingest::default());
    let (address, _task) = bench.pickle().await;
    let mut client = connect(address).await;
    let wire = [pickled("ab"), pickled("c"), pickled(""), pickled("de")].concat();
    for byte in &wire {
        client.write_all(&[*byte]).await.unwrap();
        tokio::task::yield_now().await;
    }
    client.write_all(&wire).await.unwrap();
    assert_eq!(bench.names(10).await.concat(), "abcdeabcde");
    bench.account(10, &[]);
}

#[tokio::test]
async fn a_bad_pickle_is_counted_and_the_connection_lives_on() {
    let bench = Bench::new(Ingest::default());
    let (address, _task) = bench.pickle().await;
    let mut client = connect(address).await;
    let evil = frame(b"cos\nsystem\n(S'true'\ntR.");
    let broken_element = frame(b"](NU\x01bK\x05K\x01\x86\x86e.");
    let wire = [pickled("a"), evil, frame(b""), broken_element, pickled("z"), b"\0\0".to_vec()].concat();
    client.write_all(&wire).await.unwrap();
    client.shutdown().await.unwrap();
    closed(&mut client).await;
    bench.until(|t| t.connections.get() == 0).await;
    assert_eq!(bench.names(3).await, ["a", "b", "z"]);
    // The second bad pickle is the empty one, the third the frame that was never finished.
    bench.account(7, &[(Reject::BadPickle, 3), (Reject::BadPickleElement, 1)]);
}

#[tokio::test]
async fn a_frame_over_the_limit_ends_the_connection() {
    let bench = Bench::new(Ingest { max_frame_bytes: 100, ..Ingest::default() });
    let (address, _task) = bench.pickle().await;
    let mut client = connect(address).await;
    client.write_all(&pickled("a")).await.unwrap();
    client.write_all(b"\xff\xff\xff\xff").await.unwrap();
    closed(&mut client).await;
    assert_eq!(bench.names(1).await, ["a"]);
    bench.account(2, &[(Reject::FrameTooLarge, 1)]);
}

#[tokio::test]
async fn a_busy_sink_gets_the_same_batch_again() {
    let bench = Bench::new(Ingest::default());
    bench.sink.busy.store(2, Ordering::SeqCst);
    let (address, _task) = bench.plaintext().await;
    let mut client = connect(address).await;
    client.write_all(b"a 1 5\nb 2 5\n").await.unwrap();
    assert_eq!(bench.names(2).await, ["a", "b"]);
    client.write_all(b"c 3 5\n").await.unwrap();
    assert_eq!(bench.names(3).await, ["a", "b", "c"]);
    assert_eq!(bench.telemetry.backpressure_pauses.get(), 1);
    bench.account(3, &[]);
}

#[tokio::test]
async fn an_idle_connection_is_closed() {
    // However short it is: nothing is ever sent.
    let bench = Bench::new(Ingest { idle_timeout: Duration::from_nanos(1), ..Ingest::default() });
    let (address, _task) = bench.plaintext().await;
    let mut client = connect(address).await;
    // By a reset, so that the next write of a sender that never reads fails instead of getting lost.
    let end = patiently(client.read(&mut [0; 1])).await;
    assert_eq!(end.unwrap_err().kind(), std::io::ErrorKind::ConnectionReset);
    bench.until(|t| t.connections.get() == 0).await;
    assert_eq!(bench.telemetry.connections_idle_closed.get(), 1);
}

#[tokio::test]
async fn connections_over_the_limit_are_closed_at_once() {
    let bench = Bench::new(Ingest { max_connections: 1, ..Ingest::default() });
    let (plaintext, _task) = bench.plaintext().await;
    let (pickle, _task) = bench.pickle().await;
    let mut first = connect(plaintext).await;
    bench.until(|t| t.connections.get() == 1).await;
    // Both listeners share the limit.
    closed(&mut connect(pickle).await).await;
    closed(&mut connect(plaintext).await).await;
    assert_eq!(bench.telemetry.connections_refused.get(), 2);
    first.write_all(b"a 1 5\n").await.unwrap();
    assert_eq!(bench.names(1).await, ["a"]);
    drop(first);
    bench.until(|t| t.connections.get() == 0).await;
    connect(pickle).await.write_all(&pickled("b")).await.unwrap();
    assert_eq!(bench.names(2).await, ["a", "b"]);
}

#[tokio::test]
async fn after_a_stop_senders_may_finish() {
    let bench = Bench::new(Ingest { drain_timeout: PATIENCE, ..Ingest::default() });
    let (plaintext, plaintext_task) = bench.plaintext().await;
    let (pickle, pickle_task) = bench.pickle().await;
    let (mut lines, mut frames) = (connect(plaintext).await, connect(pickle).await);
    lines.write_all(b"a 1 5\nb 1").await.unwrap();
    bench.names(1).await;
    bench.stop.send_replace(true);
    // The half-close is what tells a relay to go elsewhere; what it sends until then is still taken.
    closed(&mut lines).await;
    closed(&mut frames).await;
    lines.write_all(b" 5\nc 1 5\n").await.unwrap();
    bench.names(3).await;
    frames.write_all(&pickled("d")).await.unwrap();
    bench.names(4).await;
    assert!(TcpStream::connect(plaintext).await.is_err(), "the listener should be closed");
    drop((lines, frames));
    patiently(plaintext_task).await.unwrap();
    patiently(pickle_task).await.unwrap();
    assert_eq!(bench.names(4).await, ["a", "b", "c", "d"]);
    bench.account(4, &[]);
}

#[tokio::test]
async fn a_stop_does_not_wait_for_ever() {
    let bench = Bench::new(Ingest { drain_timeout: Duration::ZERO, ..Ingest::default() });
    let (address, task) = bench.plaintext().await;
    let mut client = connect(address).await;
    client.write_all(b"a 1 5\nb 1").await.unwrap();
    bench.names(1).await;
    bench.stop.send_replace(true);
    patiently(task).await.unwrap();
    bench.account(2, &[(Reject::BadLine, 1)]);
    assert_eq!(bench.telemetry.connections.get(), 0);
}

#[tokio::test]
async fn a_sender_that_ignores_a_stop_cannot_write_into_the_void() {
    let bench = Bench::new(Ingest { drain_timeout: Duration::ZERO, ..Ingest::default() });
    let (address, task) = bench.plaintext().await;
    let mut client = connect(address).await;
    client.write_all(b"a 1 5\n").await.unwrap();
    bench.names(1).await;
    bench.stop.send_replace(true);
    patiently(task).await.unwrap();
    patiently(async {
        // An orderly close would never be an error, and the first write after it would succeed.
        while client.take_error().unwrap().is_none() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    })
    .await;
    client.write_all(b"b 1 5\n").await.unwrap_err();
    bench.account(1, &[]);
}

#[tokio::test]
async fn what_a_busy_sink_never_takes_is_counted_at_the_end() {
    let bench = Bench::new(Ingest { drain_timeout: Duration::ZERO, ..Ingest::default() });
    bench.sink.busy.store(usize::MAX, Ordering::SeqCst);
    let (address, task) = bench.plaintext().await;
    let mut client = connect(address).await;
    client.write_all(b"a 1 5\nb 1 5\n").await.unwrap();
    bench.until(|t| t.backpressure_pauses.get() == 1).await;
    // Not even read yet, and still counted.
    client.write_all(b"c 1 5\n").await.unwrap();
    bench.stop.send_replace(true);
    patiently(task).await.unwrap();
    bench.account(3, &[(Reject::Overload, 3)]);
}

#[tokio::test]
async fn connections_still_in_the_kernels_queue_are_served_after_a_stop() {
    let bench = Bench::new(Ingest::default());
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let mut client = connect(listener.local_addr().unwrap()).await;
    client.write_all(b"a 1 5\n").await.unwrap();
    client.shutdown().await.unwrap();
    bench.stop.send_replace(true);
    patiently(bench.receiver.plaintext(listener)).await.unwrap();
    assert_eq!(bench.names(1).await, ["a"]);
}

#[tokio::test]
async fn losing_the_stop_is_a_stop() {
    let bench = Bench::new(Ingest::default());
    let (_, task) = bench.plaintext().await;
    let (_client, udp_task) = bench.udp().await;
    drop(bench.stop);
    patiently(task).await.unwrap();
    patiently(udp_task).await.unwrap();
}

#[tokio::test]
async fn datagrams_hold_lines() {
    let bench = Bench::new(Ingest::default());
    let (client, task) = bench.udp().await;
    for datagram in [&b"a 1 5\nb 1 5\n"[..], b"c 1 5", b"", b"junk", b"d 1 5\r\n"] {
        client.send(datagram).await.unwrap();
    }
    assert_eq!(bench.names(4).await, ["a", "b", "c", "d"]);
    bench.stop.send_replace(true);
    patiently(task).await.unwrap();
    bench.account(5, &[(Reject::BadLine, 1)]);
}

#[tokio::test]
async fn datagrams_that_came_before_a_stop_are_taken() {
    let bench = Bench::new(Ingest::default());
    let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let client = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    client.send_to(b"a 1 5", socket.local_addr().unwrap()).await.unwrap();
    bench.stop.send_replace(true);
    patiently(bench.receiver.udp(socket)).await.unwrap();
    assert_eq!(bench.names(1).await, ["a"]);
}

#[tokio::test]
async fn a_busy_sink_loses_datagrams_and_counts_them() {
    let bench = Bench::new(Ingest::default());
    bench.sink.busy.store(1, Ordering::SeqCst);
    let (client, _task) = bench.udp().await;
    client.send(b"a 1 5\nb 1 5\n").await.unwrap();
    bench.until(|t| t.rejected(Reject::Overload) == 2).await;
    client.send(b"c 1 5\n").await.unwrap();
    assert_eq!(bench.names(1).await, ["c"]);
    bench.account(3, &[(Reject::Overload, 2)]);
}

#[test]
fn at_home_only_this_machine_is_answered_unless_somebody_is_listed() {
    let sink = Arc::new(Recorder {
        points: Mutex::default(),
        count: watch::Sender::new(0),
        busy: AtomicUsize::new(0),
        senders: None,
    });
    let intake = Intake::new(sink, Ingest::default(), Arc::default());
    let (near, far) = ("127.0.0.1".parse().unwrap(), "192.0.2.1".parse().unwrap());
    assert!(intake.allows(far), "nobody has to log in");
    assert!(intake.at_home().allows(near) && !intake.at_home().allows(far));
    let listed = intake.allowing(Addresses::new(vec!["192.0.2.0/24".parse().unwrap()])).at_home();
    assert!(listed.allows(far) && !listed.allows(near));
}
