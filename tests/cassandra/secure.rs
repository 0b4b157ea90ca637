//! A node that asks for a password and for certificates, and what happens without them.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use plumbago::store::cassandra::{Cluster, ClusterError, Fault, Login, Settings, Tls};

use crate::node::{self, OwnCluster};
use crate::servers::setup;
use crate::skip::skip;

/// A node that lives as long as the test.
struct SecureNode(OwnCluster);

impl SecureNode {
    fn start() -> Result<Self, String> {
        let node = OwnCluster::new(19242, 17400)
            .with("PLUMBAGO_CASSANDRA_AUTH", "1")
            .with("PLUMBAGO_CASSANDRA_SASI", "false");
        let dir = node.dir().to_owned();
        make_certificates(&dir)?;
        Ok(Self(node.with("PLUMBAGO_CASSANDRA_TLS", &dir.display().to_string()).start(1)?))
    }

    fn file(&self, name: &str) -> Option<PathBuf> {
        Some(self.0.dir().join(name))
    }

    /// Everything right.
    fn settings(&self) -> Settings {
        Settings {
            login: Some(Login { username: "cassandra".to_owned(), password: "cassandra".to_owned() }),
            tls: Some(self.tls()),
            ..self.0.settings()
        }
    }

    fn tls(&self) -> Tls {
        Tls {
            ca_file: self.file("ca.pem"),
            cert_file: self.file("client.pem"),
            key_file: self.file("client.key"),
            verify_address: true,
        }
    }
}

/// An authority, a certificate for the node's address, one for the client, one authority nobody knows.
fn make_certificates(dir: &Path) -> Result<(), String> {
    let script = r#"
set -e
authority() { openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj "/CN=$1" -keyout $1.key -out $1.pem; }
signed() {
  openssl req -newkey rsa:2048 -nodes -subj "/CN=$1" -keyout $1.key -out $1.csr
  printf "%s\n" "$2" >$1.ext
  openssl x509 -req -in $1.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -extfile $1.ext -out $1.pem
}
authority ca
authority stranger
signed node "subjectAltName=IP:127.0.0.1"
signed client "extendedKeyUsage=clientAuth"
openssl pkcs12 -export -in node.pem -inkey node.key -certfile ca.pem -name node -passout pass:plumbago -out keystore.p12
keytool -importcert -noprompt -alias ca -file ca.pem -keystore truststore.p12 -storetype PKCS12 -storepass plumbago
"#;
    let done = Command::new("bash").args(["-c", script]).current_dir(dir).output().unwrap();
    if done.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&done.stderr).into_owned()) }
}

fn refused(settings: Settings) -> ClusterError {
    let mut settings = settings;
    settings.connect_timeout = Duration::from_secs(5);
    Cluster::connect(settings).map(drop).unwrap_err()
}

/// The first user is made a moment after the port opens.
fn connect_patiently(settings: &Settings) -> Cluster {
    let give_up = Instant::now() + Duration::from_secs(60);
    loop {
        match Cluster::connect(settings.clone()) {
            Ok(cluster) => return cluster,
            Err(error) => assert!(error.fault == Fault::Login && Instant::now() < give_up, "{error}"),
        }
        std::thread::sleep(Duration::from_millis(500));
    }
}

/// One test, because the node takes half a minute to start.
#[test]
fn a_node_with_passwords_and_certificates_is_used_and_its_refusals_are_explained() {
    let test = "a_node_with_passwords_and_certificates_is_used_and_its_refusals_are_explained";
    let node = match SecureNode::start() {
        Ok(node) => node,
        Err(why) => return skip(test, &why),
    };
    let right = node.settings();
    let cluster = connect_patiently(&right);
    assert!(cluster.version().is_ok());

    let login = Some(Login { username: "cassandra".to_owned(), password: "wrong".to_owned() });
    let error = refused(Settings { login, ..right.clone() });
    assert_eq!(error.fault, Fault::Login, "{error}");
    assert!(error.to_string().contains("store.cassandra.username"), "{error}");
    assert!(!error.to_string().contains("wrong"), "{error}");

    let error = refused(Settings { login: None, ..right.clone() });
    assert_eq!(error.fault, Fault::Login, "{error}");

    let error = refused(Settings { tls: None, ..right.clone() });
    assert_eq!(error.fault, Fault::Broken, "{error}");
    assert!(error.to_string().contains("store.cassandra.tls.enabled"), "{error}");

    let stranger = Some(Tls { ca_file: node.file("stranger.pem"), ..node.tls() });
    let error = refused(Settings { tls: stranger, ..right.clone() });
    assert_eq!(error.fault, Fault::Tls, "{error}");

    let anonymous = Some(Tls { cert_file: None, key_file: None, ..node.tls() });
    let error = refused(Settings { tls: anonymous, ..right.clone() });
    assert!(matches!(error.fault, Fault::Tls | Fault::Broken), "{error}");
    assert!(error.to_string().contains("store.cassandra.tls"), "{error}");

    let half = Some(Tls { key_file: None, ..node.tls() });
    let error = refused(Settings { tls: half, ..right.clone() });
    assert!(error.to_string().contains("cert_file and store.cassandra.tls.key_file"), "{error}");

    a_command_gets_in_and_says_that_sasi_is_off(&node);
}

/// The same by configuration, as an operator writes it.
fn a_command_gets_in_and_says_that_sasi_is_off(node: &SecureNode) {
    let password = node.0.dir().join("password");
    std::fs::write(&password, "cassandra\n").unwrap();
    let file = |name: &str| node.file(name).unwrap().display().to_string();
    let setup = setup(&node.settings(), "sasi")
        .set("store.cassandra.username", "cassandra")
        .set("store.cassandra.password_file", &password.display().to_string())
        .set("store.cassandra.tls.enabled", "true")
        .set("store.cassandra.tls.ca_file", &file("ca.pem"))
        .set("store.cassandra.tls.cert_file", &file("client.pem"))
        .set("store.cassandra.tls.key_file", &file("client.key"));
    let output = setup.run(&["schema", "apply", "--create-keyspaces"]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    for text in ["sasi_indexes_enabled: true", "\"sai\"", "\"memory\""] {
        assert!(said.contains(text), "{text}: {said}");
    }
}

/// The other way round: we want TLS, the node does not.
#[test]
fn a_node_without_tls_is_explained() {
    let Some(settings) = node::shared("a_node_without_tls_is_explained") else { return };
    let dir = tempfile::tempdir().unwrap();
    make_certificates(dir.path()).unwrap();
    let tls = Tls {
        ca_file: Some(dir.path().join("ca.pem")),
        cert_file: None,
        key_file: None,
        verify_address: true,
    };
    let error = refused(Settings { tls: Some(tls), ..settings });
    assert_eq!(error.fault, Fault::Tls, "{error}");
    assert!(error.to_string().contains("that the nodes use TLS"), "{error}");
}
