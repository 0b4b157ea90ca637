//! The fuzz targets, for a few seconds each, without a fuzzer.
//!
//! `cargo fuzz` needs a nightly compiler and knows which inputs reach new code. This does not: it runs the very same
//! targets in `fuzz/fuzz_targets` over their seeds and over blind mutations of them, so that a target that no longer holds is seen by
//! every `cargo test`. `scripts/test --fuzz` runs the real thing.

#![allow(
    unused_attributes,
    reason = "each target begins with #![no_main], which means something only to cargo fuzz"
)]
#![allow(
    clippy::duplicate_mod,
    reason = "to cargo fuzz each target is a program of its own, with the data it needs"
)]

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

/// Declares the targets and a test for each.
macro_rules! targets {
    ($($name:ident at $path:literal)*) => {
        $(#[path = $path] mod $name;)*

        /// Every target that is run here.
        const NAMES: &[&str] = &[$(stringify!($name)),*];

        $(
            #[test]
            fn $name() {
                hold(stringify!($name), $name::run);
            }
        )*
    };
}

targets! {
    block at "../fuzz/fuzz_targets/block.rs"
    bundle at "../fuzz/fuzz_targets/bundle.rs"
    cache_query at "../fuzz/fuzz_targets/cache_query.rs"
    call at "../fuzz/fuzz_targets/call.rs"
    carbonapi at "../fuzz/fuzz_targets/carbonapi.rs"
    catalogue_page at "../fuzz/fuzz_targets/catalogue_page.rs"
    ceres at "../fuzz/fuzz_targets/ceres.rs"
    chunk at "../fuzz/fuzz_targets/chunk.rs"
    config at "../fuzz/fuzz_targets/config.rs"
    event at "../fuzz/fuzz_targets/event.rs"
    glob at "../fuzz/fuzz_targets/glob.rs"
    kairosdb_query at "../fuzz/fuzz_targets/kairosdb_query.rs"
    kairosdb_row at "../fuzz/fuzz_targets/kairosdb_row.rs"
    labelled at "../fuzz/fuzz_targets/labelled.rs"
    log at "../fuzz/fuzz_targets/log.rs"
    login at "../fuzz/fuzz_targets/login.rs"
    manifest at "../fuzz/fuzz_targets/manifest.rs"
    name at "../fuzz/fuzz_targets/name.rs"
    pickle at "../fuzz/fuzz_targets/pickle.rs"
    plaintext at "../fuzz/fuzz_targets/plaintext.rs"
    quotas at "../fuzz/fuzz_targets/quotas.rs"
    request_line at "../fuzz/fuzz_targets/request_line.rs"
    tags at "../fuzz/fuzz_targets/tags.rs"
    target at "../fuzz/fuzz_targets/target.rs"
    time at "../fuzz/fuzz_targets/time.rs"
    transcript at "../fuzz/fuzz_targets/transcript.rs"
    whisper at "../fuzz/fuzz_targets/whisper.rs"
}

// Behind the targets, so that they find it by the path they name and not by standing in scope.
/// Makes a function of a target instead of an entry point.
macro_rules! fuzz_target {
    (|$data:ident: &[u8]| $body:block) => {
        pub(crate) fn run($data: &[u8]) {
            $body
        }
    };
    (|$data:ident: &str| $body:block) => {
        pub(crate) fn run(data: &[u8]) {
            if let Ok($data) = std::str::from_utf8(data) {
                $body
            }
        }
    };
}
pub(crate) use fuzz_target;

/// How long each target is run.
const SECONDS: Duration = Duration::from_secs(2);

/// Longest input.
const MAX_BYTES: usize = 4096;

/// Texts that mean something to one target or another.
const WORDS: &[&str] = &[
    "a.b.c 1 1700000000\n",
    "disk;rack=a1;dc=b 2.5e3 -1\r\n",
    "servers.*.host1[0-9].{cpu,mem}.load?",
    "**.{a,{b,c}}",
    "aliasByNode(movingAverage(a.{b,c}.*, '5min'), 1, -1)",
    "sumSeries(a.b,  \"x\", 1e3, true, None)|alias('z')",
    "name=cpu\ndc=~e.*\nhost!=a1\nenv=",
    "dc!=~^(ea|we)st$\nname=~[a-m]",
    "-1h+5min",
    "now-3d_2026-01-31 23:59",
    "\u{80}\u{2}](X\u{3}\0\0\0a.bJ\0\0\0\0G\0\0\0\0\0\0\0\0\u{86}\u{86}e.",
    "(lp0\n(S'a.b'\np1\n(I1\nF2.5\ntp2\ntp3\na.",
    "(dS'type'\nS'cache-query'\nsS'metric'\nVa.b\ns.",
    "}(U\u{4}typeU\u{10}cache-query-bulkU\u{7}metrics](U\u{1}aq\u{1}h\u{1}eu.",
    "1s:1h,10s:1d",
    "nan inf -inf 1_000 1e999 0x10",
];

/// Runs a target over seeds and mutations of them. A panic in the target is the failure.
fn hold(name: &str, target: fn(&[u8])) {
    let seeds = seeds(name);
    seeds.iter().for_each(|seed| target(seed));
    let mut random = Random(std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap().as_nanos() as u64 | 1);
    let (began, mut runs) = (Instant::now(), 0);
    while began.elapsed() < SECONDS {
        let input = mutated(&seeds, &mut random);
        // Shown only if the target fails: without it nobody could find the input again.
        let shown = Shown { name, input: &input };
        target(&input);
        std::mem::forget(shown);
        runs += 1;
    }
    println!("{name}: {runs} inputs");
}

/// Says which input it was when the target panics.
struct Shown<'a> {
    name: &'a str,
    input: &'a [u8],
}

impl Drop for Shown<'_> {
    fn drop(&mut self) {
        eprintln!("{} fails for \"{}\"", self.name, self.input.escape_ascii());
    }
}

/// The seeds of a target, which cargo fuzz begins with too, and the words that all of them get.
fn seeds(name: &str) -> Vec<Vec<u8>> {
    let words = WORDS.iter().map(|word| word.as_bytes().to_vec());
    seed_files(name).into_iter().chain(words).collect()
}

/// What is in `fuzz/seeds` for a target.
fn seed_files(name: &str) -> Vec<Vec<u8>> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/seeds").join(name);
    let entries = fs::read_dir(&directory).unwrap_or_else(|error| panic!("{}: {error}", directory.display()));
    entries.map(|entry| fs::read(entry.unwrap().path()).unwrap()).collect()
}

struct Random(u64);

impl Random {
    /// A number below `bound`, which must not be 0.
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % bound
    }
}

fn mutated(seeds: &[Vec<u8>], random: &mut Random) -> Vec<u8> {
    let mut input = seeds[random.below(seeds.len())].clone();
    for _ in 0..=random.below(6) {
        let at = random.below(input.len() + 1);
        match random.below(6) {
            0 if at < input.len() => input[at] ^= 1 << random.below(8),
            1 if at < input.len() => {
                input[at] = [0, 1, 0x7f, 0x80, 0xff, b'{', b'}', b'*', b'.', b'\n'][random.below(10)]
            }
            2 => input.truncate(at),
            3 => input.insert(at, random.below(256) as u8),
            4 => {
                let other = &seeds[random.below(seeds.len())];
                let from = random.below(other.len() + 1);
                input.splice(at..at, other[from..].iter().copied());
            }
            _ => {
                let piece = input[at..].to_vec();
                input.extend_from_slice(&piece);
            }
        }
    }
    input.truncate(MAX_BYTES);
    input
}

#[test]
fn every_target_has_seeds_and_no_seed_is_without_a_target() {
    let few: Vec<&&str> = NAMES.iter().filter(|name| seed_files(name).len() < 2).collect();
    assert!(few.is_empty(), "{few:?} have less than two seeds in fuzz/seeds");
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/seeds");
    let mut names: Vec<String> = fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(names, NAMES);
}

#[test]
fn every_target_is_run() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/fuzz_targets");
    let files = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    let mut names: Vec<String> =
        files.map(|path| path.file_stem().unwrap().to_string_lossy().into_owned()).collect();
    names.sort();
    assert_eq!(names, NAMES);
}

#[test]
fn cargo_fuzz_knows_every_target() {
    let names: Vec<String> =
        array(&document("fuzz/Cargo.toml"), "bin").map(|target| field(target, "name")).collect();
    let mut sorted = names.clone();
    sorted.sort();
    assert_eq!(sorted, NAMES);
}

/// What is fuzzed is what is shipped: the same libraries in the same versions.
#[test]
fn cargo_fuzz_builds_what_we_build() {
    let (ours, theirs) = (document("Cargo.lock"), document("fuzz/Cargo.lock"));
    let package = |package: &toml::Value| (field(package, "name"), field(package, "version"));
    let known: BTreeSet<(String, String)> = array(&ours, "package").map(package).collect();
    let names: BTreeSet<&String> = known.iter().map(|(name, _)| name).collect();
    let other: Vec<(String, String)> = array(&theirs, "package")
        .map(package)
        .filter(|package| names.contains(&package.0) && !known.contains(package))
        .collect();
    let plumbago = array(&theirs, "package").find(|package| field(package, "name") == "plumbago").unwrap();
    // A name stands with its version where there are several.
    let used: BTreeSet<&str> = plumbago["dependencies"]
        .as_array()
        .unwrap()
        .iter()
        .map(|name| name.as_str().unwrap().split(' ').next().unwrap())
        .collect();
    let manifest = document("Cargo.toml");
    let is_optional =
        |about: &toml::Value| about.get("optional").and_then(toml::Value::as_bool) == Some(true);
    let missing: Vec<&String> = manifest["dependencies"]
        .as_table()
        .unwrap()
        .iter()
        .filter(|(name, about)| !used.contains(name.as_str()) && !is_optional(about))
        .map(|(name, _)| name)
        .collect();
    assert!(
        other.is_empty() && missing.is_empty(),
        "fuzz/Cargo.lock is out of date, in {other:?}, without {missing:?}: cp Cargo.lock fuzz/Cargo.lock && \
         cargo metadata --format-version 1 --manifest-path fuzz/Cargo.toml >/dev/null"
    );
}

fn document(path: &str) -> toml::Value {
    let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap();
    toml::from_str(&text).unwrap()
}

fn array<'a>(table: &'a toml::Value, key: &str) -> impl Iterator<Item = &'a toml::Value> {
    table[key].as_array().unwrap().iter()
}

fn field(table: &toml::Value, key: &str) -> String {
    table[key].as_str().unwrap().to_owned()
}
