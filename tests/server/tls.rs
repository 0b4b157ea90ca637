//! Carbon over TLS: the real binary, certificates made by openssl, a client of ours and the relay that people have.

use std::fs;
use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use rustls::crypto::aws_lc_rs;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use tempfile::TempDir;

use super::harness::{Server, Setup, now, wait_until};
use super::relay::Relay;
use super::skip::skip;

/// An authority with a certificate for this machine and one for a sender, and an authority that nobody knows.
pub(crate) struct Certificates(TempDir);

impl Certificates {
    pub(crate) fn make(test: &str) -> Option<Self> {
        let directory = TempDir::new().unwrap();
        let script = r#"
set -e
key="-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes"
authority() { openssl req -x509 $key -days 2 -subj "/CN=$1" -keyout $1.key -out $1.pem; }
signed() {
  openssl req $key -subj "/CN=$1" -keyout $1.key -out $1.csr
  printf "subjectAltName=IP:127.0.0.1\n" >$1.ext
  openssl x509 -req -in $1.csr -CA $2.pem -CAkey $2.key -CAcreateserial -days 2 -extfile $1.ext -out $1.pem
}
authority ca
authority stranger
signed server ca
signed renewed ca
signed sender ca
signed intruder stranger
"#;
        let made = Command::new("bash").args(["-c", script]).current_dir(directory.path()).output().unwrap();
        if !made.status.success() {
            skip(test, &format!("openssl made no certificates: {}", String::from_utf8_lossy(&made.stderr)));
            return None;
        }
        Some(Self(directory))
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Settings of a server with these certificates.
    pub(crate) fn setup(&self) -> Setup {
        let text = |name| self.file(name).display().to_string();
        Setup::new()
            .set("listen.carbon_tls", "127.0.0.1:0")
            .set("listen.pickle_tls", "127.0.0.1:0")
            .set("listen.tls.cert_file", &text("server.pem"))
            .set("listen.tls.key_file", &text("server.key"))
    }

    /// What a sender needs that trusts `ca` and shows the certificate `own`.
    pub(crate) fn client(&self, ca: &str, own: Option<&str>) -> ClientConfig {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_file(self.file(&format!("{ca}.pem"))).unwrap()).unwrap();
        let builder = ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots);
        let Some(own) = own else { return builder.with_no_client_auth() };
        let chain = vec![CertificateDer::from_pem_file(self.file(&format!("{own}.pem"))).unwrap()];
        let key = PrivateKeyDer::from_pem_file(self.file(&format!("{own}.key"))).unwrap();
        builder.with_client_auth_cert(chain, key).unwrap()
    }
}

/// Where the server takes lines (`carbon`) or frames (`pickle`) over TLS.
pub(crate) fn address(server: &Server, kind: &str) -> SocketAddr {
    let ending = format!("({kind})");
    let line = server.banner.iter().find(|line| line.starts_with("tls") && line.ends_with(&ending)).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

pub(crate) type Sender = StreamOwned<ClientConnection, TcpStream>;

pub(crate) fn connect(to: SocketAddr, config: ClientConfig) -> Sender {
    let socket = TcpStream::connect(to).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    let name = ServerName::try_from("127.0.0.1").unwrap();
    StreamOwned::new(ClientConnection::new(Arc::new(config), name).unwrap(), socket)
}

/// Sends everything and says goodbye as TLS wants it.
pub(crate) fn send(mut sender: Sender, bytes: &[u8]) -> std::io::Result<()> {
    sender.write_all(bytes)?;
    sender.conn.send_close_notify();
    sender.flush()
}

#[test]
fn lines_and_frames_arrive_over_tls() {
    let Some(certificates) = Certificates::make("lines_and_frames_arrive_over_tls") else { return };
    let server = certificates.setup().set("retention.default", "1s:1d").start();
    let t = now() - 10_000;
    // Many records of TLS at once, and lines cut anywhere by them.
    let lines: String = (0..9_000).map(|n| format!("tls.lines.m{} {n} {}\n", n % 9, t + n)).collect();
    send(connect(address(&server, "carbon"), certificates.client("ca", None)), lines.as_bytes()).unwrap();
    // One byte at a time.
    let mut slow = connect(address(&server, "carbon"), certificates.client("ca", None));
    for byte in format!("tls.slow 1 {t}\n").bytes() {
        slow.write_all(&[byte]).unwrap();
        slow.flush().unwrap();
    }
    let pickle = format!("(lp0\n(S'tls.pickle'\n(I{t}\nF2.5\nttp1\na.");
    let frame = [&(pickle.len() as u32).to_be_bytes()[..], pickle.as_bytes()].concat();
    send(connect(address(&server, "pickle"), certificates.client("ca", None)), &frame).unwrap();
    server.wait_for("plumbago_points_stored_total", 9_002);
    assert_eq!(server.points("sumSeries(tls.lines.*)", t - 1, t + 8_999).len(), 9_000);
    assert_eq!(server.points("tls.slow", t - 1, t), [(1.0, t)]);
    assert_eq!(server.points("tls.pickle", t - 1, t), [(2.5, t)]);
    assert_eq!(server.counter("plumbago_tls_handshakes_failed_total"), 0);
}

#[test]
fn senders_must_show_a_certificate_where_that_is_asked_for() {
    let Some(certificates) = Certificates::make("senders_must_show_a_certificate_where_that_is_asked_for")
    else {
        return;
    };
    let ca = certificates.file("ca.pem").display().to_string();
    let server = certificates.setup().set("listen.tls.client_ca_file", &ca).start();
    let t = now();
    let line = |name: &str| format!("{name} 1 {t}\n");
    for (nth, own) in [None, Some("intruder")].into_iter().enumerate() {
        let mut sender = connect(address(&server, "carbon"), certificates.client("ca", own));
        // A refusal comes back after the sender thinks that all is well.
        let refused = sender.write_all(line("refused").as_bytes()).and_then(|()| sender.read(&mut [0]));
        assert!(refused.is_err(), "{own:?}: {refused:?}");
        wait_until("the refusal to be counted", || {
            server.counter("plumbago_tls_handshakes_failed_total") == nth as u64 + 1
        });
    }
    send(
        connect(address(&server, "carbon"), certificates.client("ca", Some("sender"))),
        line("taken").as_bytes(),
    )
    .unwrap();
    server.wait_for("plumbago_points_stored_total", 1);
    assert_eq!(server.json("/metrics/index.json"), serde_json::json!(["taken"]));
}

#[test]
fn what_is_no_tls_is_counted_and_does_no_harm() {
    let Some(certificates) = Certificates::make("what_is_no_tls_is_counted_and_does_no_harm") else { return };
    let server = certificates.setup().set("listen.tls.handshake_timeout", "1s").start();
    let to = address(&server, "carbon");
    // Somebody who forgot about TLS, somebody who trusts another authority, and somebody who says nothing.
    let mut plain = TcpStream::connect(to).unwrap();
    plain.write_all(format!("plain 1 {}\n", now()).as_bytes()).unwrap();
    let mut stranger = connect(to, certificates.client("stranger", None));
    assert!(stranger.write_all(b"x 1 1\n").is_err());
    let _silent = TcpStream::connect(to).unwrap();
    wait_until("all three to be counted", || server.counter("plumbago_tls_handshakes_failed_total") == 3);
    assert_eq!(server.counter("plumbago_points_received_total"), 0);
    wait_until("their places to be free", || server.counter("plumbago_connections") == 0);
}

#[test]
fn what_is_under_way_at_a_stop_is_taken() {
    let Some(certificates) = Certificates::make("what_is_under_way_at_a_stop_is_taken") else { return };
    let server = certificates.setup().start();
    let t = now();
    let mut sender = connect(address(&server, "carbon"), certificates.client("ca", None));
    sender.write_all(format!("before 1 {t}\n").as_bytes()).unwrap();
    server.wait_for("plumbago_points_stored_total", 1);
    server.signal("TERM");
    // The server ends its side first, and reads on.
    let end = sender.read(&mut [0]).map_err(|error| error.kind());
    assert_eq!(end, Err(ErrorKind::UnexpectedEof));
    send(sender, format!("after 2 {t}\n").as_bytes()).unwrap();
    let (status, setup) = server.stop("TERM");
    assert!(status.success());
    let server = setup.start();
    assert_eq!(server.json("/metrics/index.json"), serde_json::json!(["after", "before"]));
}

#[test]
fn a_renewed_certificate_is_shown_without_a_restart() {
    let Some(certificates) = Certificates::make("a_renewed_certificate_is_shown_without_a_restart") else {
        return;
    };
    let server = certificates.setup().start();
    let shown = || {
        let mut sender = connect(address(&server, "carbon"), certificates.client("ca", None));
        while sender.conn.is_handshaking() {
            sender.conn.complete_io(&mut sender.sock).unwrap();
        }
        sender.conn.peer_certificates().unwrap()[0].clone()
    };
    let is = |name: &str| CertificateDer::from_pem_file(certificates.file(name)).unwrap() == shown();
    assert!(is("server.pem"));
    // Half of a renewal leaves the old one in force.
    fs::copy(certificates.file("renewed.key"), certificates.file("server.key")).unwrap();
    let old = shown();
    wait_until("the half renewal to be told", || {
        assert_eq!(shown(), old);
        server.errors().contains("the old certificate stays in force")
    });
    fs::copy(certificates.file("renewed.pem"), certificates.file("server.pem")).unwrap();
    wait_until("the new certificate", || is("renewed.pem"));
}

#[test]
fn a_server_that_cannot_use_its_certificate_says_why() {
    let Some(certificates) = Certificates::make("a_server_that_cannot_use_its_certificate_says_why") else {
        return;
    };
    let fails = |setup: Setup, code: i32, wanted: &[&str]| {
        let output = setup.run_to_end();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(code), "{said}");
        for wanted in wanted {
            assert!(said.contains(wanted), "no `{wanted}` in: {said}");
        }
    };
    let no_file = Setup::new().set("listen.carbon_tls", "127.0.0.1:0");
    fails(no_file, 2, &["listen.tls.cert_file", "need a certificate and its key"]);
    let elsewhere = certificates.setup().set("listen.tls.cert_file", "/nowhere/cert.pem");
    fails(elsewhere, 1, &["cannot read certificates from /nowhere/cert.pem", "in PEM"]);
    let not_a_key = certificates.setup().set("listen.tls.key_file", &path(&certificates.file("ca.pem")));
    fails(not_a_key, 1, &["cannot read the key", "ca.pem"]);
    let another = certificates.setup().set("listen.tls.key_file", &path(&certificates.file("sender.key")));
    fails(another, 1, &["cannot use the certificate", "listen.tls.key_file must belong to it"]);
}

fn path(path: &Path) -> String {
    path.display().to_string()
}

/// The relay that people have, with the TLS of OpenSSL.
#[test]
fn carbon_c_relay_feeds_it_over_tls() {
    let test = "carbon_c_relay_feeds_it_over_tls";
    let Some(certificates) = Certificates::make(test) else { return };
    let server = certificates.setup().set("retention.default", "6s:1d").start();
    let destination = format!("{} transport plain ssl", address(&server, "carbon"));
    let ca = path(&certificates.file("ca.pem"));
    let Some(relay) = Relay::carbon_c_relay_by(test, &destination, &["-C", &ca]) else { return };
    relay.check(&server);
    assert_eq!(server.counter("plumbago_tls_handshakes_failed_total"), 0);
}
