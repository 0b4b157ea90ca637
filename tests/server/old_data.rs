//! Data directories of released versions are opened by this one, and nothing in them is lost.
//!
//! `tests/fixtures/data` has one folder per version, with each file compressed. `UPDATE_FIXTURES=1 cargo test --test server
//! old_data` writes the one of this version; it is written once, before a release, and kept for good.

use std::fs;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use serde_json::json;

use crate::harness::{Server, Setup, now};

/// Long enough that these points are there in twenty years.
const RETENTION: &str = "60s:20y,1h:60y";
/// A midnight in November 2026.
const BASE: u64 = 1_794_700_800;
const YEAR: u64 = 365 * 86_400;
const TAGGED: &str = "requests;code=200;dc=east";

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/data")
}

/// Minutes of `servers.a.load`: two hours in blocks, five minutes in the log alone.
fn load() -> Vec<(f64, u64)> {
    (0..125).map(|minute| (minute as f64, BASE + minute * 60)).collect()
}

fn lines(name: &str, points: &[(f64, u64)]) -> String {
    points.iter().map(|(value, time)| format!("{name} {value} {time}\n")).collect()
}

/// Runs a server on an empty directory, kills it, and keeps what it leaves.
fn write_fixture(folder: &Path) {
    let server = Setup::new().set("retention.default", RETENTION).start();
    let points = load();
    let (in_blocks, in_log) = points.split_at(120);
    server.store(&lines("servers.a.load", in_blocks));
    server.store(&format!("{TAGGED} 7 {BASE}\nservers.b.load 0.5 {BASE}\n"));
    let event = json!({"what": "deploy", "tags": ["release"], "data": "v1", "when": BASE + 600});
    assert_eq!(server.post_json("/events/", &event).status, 200);
    assert_eq!(server.post("/internal/flush", &[("settle", "1")]).status, 200);
    server.store(&lines("servers.a.load", in_log));
    assert_eq!(server.post("/internal/flush", &[]).status, 200);
    let setup = server.kill();
    pack(&setup.directory().join("data"), folder);
}

fn pack(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let (path, name) = entry.map(|entry| (entry.path(), entry.file_name())).unwrap();
        if path.is_dir() {
            pack(&path, &to.join(name));
            continue;
        }
        let file = fs::File::create(to.join(name.to_str().unwrap().to_owned() + ".gz")).unwrap();
        let mut packed = GzEncoder::new(file, Compression::best());
        packed.write_all(&fs::read(&path).unwrap()).unwrap();
        packed.finish().unwrap();
    }
}

fn unpack(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            unpack(&path, &to.join(path.file_name().unwrap()));
            continue;
        }
        let mut bytes = Vec::new();
        GzDecoder::new(fs::File::open(&path).unwrap()).read_to_end(&mut bytes).unwrap();
        fs::write(to.join(path.file_stem().unwrap()), bytes).unwrap();
    }
}

/// Everything that was written is there, in every stage.
fn check(server: &Server) {
    assert_eq!(server.points("servers.a.load", BASE - 60, BASE + 7440), load());
    assert_eq!(server.points("servers.b.load", BASE - 60, BASE), [(0.5, BASE)]);
    // A question that reaches back this far is answered from the hours.
    let hours = server.points("servers.a.load", now() - 21 * YEAR, BASE + 3600);
    assert_eq!(hours, [(29.5, BASE), (89.5, BASE + 3600)]);
    assert_eq!(server.points("seriesByTag('dc=east','code=200')", BASE - 60, BASE), [(7.0, BASE)]);
    let events = server.json(&format!("/events/get_data?tags=release&from={}&until={}", BASE, BASE + 1200));
    assert_eq!(events[0]["what"], json!("deploy"), "{events}");
    assert_eq!(events[0]["data"], json!("v1"), "{events}");
}

#[test]
fn a_directory_of_every_version_is_opened() {
    let current = fixtures().join(env!("CARGO_PKG_VERSION"));
    if std::env::var_os("UPDATE_FIXTURES").is_some() && !current.exists() {
        write_fixture(&current);
    }
    let versions: Vec<PathBuf> = fs::read_dir(fixtures())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_dir())
        .collect();
    assert!(!versions.is_empty(), "no fixture in {}", fixtures().display());
    for version in versions {
        println!("{}", version.display());
        let setup = Setup::new().set("retention.default", RETENTION);
        unpack(&version, &setup.directory().join("data"));
        let server = setup.start();
        check(&server);
        // Nobody knows when its metrics were created. From now on there are dates.
        let info = |server: &Server, name: &str| server.json(&format!("/internal/info?name={name}"));
        let old = info(&server, "servers.a.load");
        assert!(old["created"].is_null() && old["read"].is_u64() && old["dates_since"].is_u64(), "{old}");
        assert!(info(&server, "servers.b.load")["created"].is_null());
        server.store(&format!("servers.new.load 1 {BASE}\n"));
        assert!(info(&server, "servers.new.load")["created"].is_u64());
        // It can be written to, and what is new is there with what is old after the next start.
        let later = BASE + 800 * 60;
        server.store(&format!("servers.a.load 1 {later}\n"));
        assert_eq!(server.post("/internal/flush", &[("settle", "1")]).status, 200);
        let server = server.kill().start();
        check(&server);
        assert_eq!(server.points("servers.a.load", later - 60, later), [(1.0, later)]);
    }
}
