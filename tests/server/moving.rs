//! Moving in and out: files of the real whisper library are imported, and answer as whisper does; what is exported whisper reads.

mod tree;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

use crate::harness::{Server, Setup, now};
use crate::skip::skip;

/// The Python that has carbon and whisper.
fn python(test: &str) -> Option<PathBuf> {
    match std::env::var_os("TEST_CARBON") {
        Some(place) => Some(PathBuf::from(place).join("bin/python")),
        None => {
            skip(
                test,
                "carbon's library is not here: set TEST_CARBON to the environment of `scripts/peers carbon`",
            );
            None
        }
    }
}

/// A question to a metric, and what whisper answers.
struct Question {
    name: String,
    from: u64,
    until: u64,
    points: Vec<(f64, u64)>,
}

/// Makes files, and gives what whisper reads from them.
fn make_files(python: &Path, root: &Path, files: u32, now: u64) -> Vec<Question> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/server/moving/whisper_files.py");
    let output =
        Command::new(python).arg(script).arg(root).args([files.to_string(), now.to_string()]).output();
    let output = output.unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let question = |line: &str| {
        let line: Value = serde_json::from_str(line).unwrap();
        let point = |point: &Value| (point[0].as_f64().unwrap(), point[1].as_u64().unwrap());
        Question {
            name: line["name"].as_str().unwrap().to_owned(),
            from: line["from"].as_u64().unwrap(),
            until: line["until"].as_u64().unwrap(),
            points: line["points"].as_array().unwrap().iter().map(point).collect(),
        }
    };
    String::from_utf8(output.stdout).unwrap().lines().map(question).collect()
}

/// Runs a command beside the server, which it finds by its configuration.
fn ask(server: &Server, arguments: &[&str]) -> Output {
    let http = format!("listen.http={}", server.http);
    server.setup().run(&[&["--set", http.as_str()], arguments].concat())
}

#[track_caller]
fn report(output: &Output) -> Value {
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{said}\n{}", String::from_utf8_lossy(&output.stdout));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[track_caller]
fn answers_as_whisper(server: &Server, questions: &[Question]) {
    assert!(questions.iter().filter(|question| !question.points.is_empty()).count() > questions.len() / 2);
    for Question { name, from, until, points } in questions {
        let tags = name.contains(';');
        let target =
            if tags { format!("seriesByTag('name=disk.used','host={}')", host(name)) } else { name.clone() };
        let answer = server.points(&target, *from, *until);
        let differs = answer.iter().zip(points).position(|(ours, theirs)| ours != theirs);
        let at = differs.unwrap_or(answer.len().min(points.len()));
        assert!(
            answer == *points,
            "{name} from {from} until {until}: {} points, whisper has {}; from {at} on {:?} instead of {:?}",
            answer.len(),
            points.len(),
            answer.iter().skip(at).take(3).collect::<Vec<_>>(),
            points.iter().skip(at).take(3).collect::<Vec<_>>()
        );
    }
}

fn host(name: &str) -> &str {
    name.split("host=").nth(1).unwrap().split(';').next().unwrap()
}

#[test]
fn whisper_files_answer_as_before_after_an_import_into_a_running_server() {
    let Some(python) = python("whisper_files_answer_as_before_after_an_import_into_a_running_server") else {
        return;
    };
    let server = Server::start();
    let root = server.setup().directory().join("whisper");
    let at = now();
    let questions = make_files(&python, &root, 45, at);
    // What is no whisper file costs a line, and the rest goes on.
    fs::write(root.join("empty.wsp"), "").unwrap();
    fs::write(root.join("cut.wsp"), &fs::read(root.join("servers/web0/cpu/load0.wsp")).unwrap()[..200])
        .unwrap();
    fs::write(root.join("notes.txt"), "a text").unwrap();

    let dir = root.to_str().unwrap();
    let trial = ask(&server, &["import", "whisper", dir, "--dry-run", "--output", "json"]);
    assert_eq!(trial.status.code(), Some(1));
    assert!(server.json("/metrics/index.json").as_array().unwrap().is_empty());

    let imported = ask(&server, &["import", "whisper", dir, "--keep-policy", "--output", "json"]);
    assert_eq!(imported.status.code(), Some(1), "two files cannot be read");
    let told: Value = serde_json::from_slice(&imported.stdout).unwrap();
    assert_eq!((&told["files"], &told["metrics_created"]), (&45.into(), &45.into()), "{told}");
    let broken: BTreeMap<&str, &str> = told["broken_files"]
        .as_array()
        .unwrap()
        .iter()
        .map(|file| {
            (file["what"].as_str().unwrap().rsplit('/').next().unwrap(), file["why"].as_str().unwrap())
        })
        .collect();
    assert_eq!(broken.keys().copied().collect::<Vec<_>>(), ["cut.wsp", "empty.wsp"], "{told}");
    assert_eq!(told["skipped"][0]["why"], "not a whisper file", "{told}");
    answers_as_whisper(&server, &questions);

    // Once more: all of it is there, and nothing changes.
    for name in ["empty.wsp", "cut.wsp"] {
        fs::remove_file(root.join(name)).unwrap();
    }
    let again = report(&ask(&server, &["import", "whisper", dir, "--keep-policy", "--output", "json"]));
    assert_eq!((&again["metrics_created"], &again["points"]), (&0.into(), &0.into()), "{again}");
    answers_as_whisper(&server, &questions);
}

#[test]
fn an_import_keeps_what_senders_sent_and_goes_on_where_it_was() {
    let Some(python) = python("an_import_keeps_what_senders_sent_and_goes_on_where_it_was") else { return };
    let server = Server::start();
    let root = server.setup().directory().join("whisper");
    let at = now();
    let questions = make_files(&python, &root, 4, at);
    let first = &questions[0];
    let (_, time) = *first.points.last().unwrap();
    server.store(&format!("{} 4711 {time}\n", first.name));

    let dir = root.to_str().unwrap();
    let journal = server.setup().directory().join("plumbago-import.journal");
    // An import that was killed when it was done with one file.
    let done = root.join("servers/web1/cpu/load1.wsp");
    let head = format!("plumbago import whisper {dir} into the server at {}", server.http);
    fs::write(&journal, format!("{head}\n{}\n", done.display())).unwrap();
    let told = report(&ask(&server, &["import", "whisper", dir, "--output", "json"]));
    assert_eq!((&told["files"], &told["files_done_earlier"]), (&3.into(), &1.into()), "{told}");
    assert!(!journal.exists());
    assert!(server.points("servers.web1.cpu.load1", at - 86_400, at).is_empty());

    let points = server.points(&first.name, at - 3500, at);
    // All of it is durable.
    let server = server.kill().start();
    assert_eq!(server.points(&first.name, at - 3500, at), points);
    assert_eq!(points.iter().find(|point| point.1 == time), Some(&(4711.0, time)));
    // The files keep ten seconds, and so does the server: the other points are whisper's.
    let others: Vec<_> =
        points.into_iter().filter(|point| point.1 != time && point.1 <= first.until).collect();
    let expected: Vec<_> = first.points.iter().copied().filter(|point| point.1 != time).collect();
    assert_eq!(others, expected);
}

#[test]
fn whisper_reads_what_was_exported() {
    let Some(python) = python("whisper_reads_what_was_exported") else { return };
    let setup = Setup::new().set("retention.default", "10s:6h,1m:7d");
    let (first, second) = (setup.directory().join("first"), setup.directory().join("second"));
    let at = now();
    let questions = make_files(&python, &first, 9, at);
    // On a store without a server.
    report(&setup.run(&["import", "whisper", first.to_str().unwrap(), "--keep-policy", "--output", "json"]));
    let told = report(&setup.run(&["export", "whisper", second.to_str().unwrap(), "--output", "json"]));
    assert_eq!(told["files"], 9, "{told}");
    let script = "import sys, json, whisper\n\
        for line in sys.stdin:\n\
        \x20   path, start, end, now = json.loads(line)\n\
        \x20   (begin, _, step), values = whisper.fetch(path, start, end, now=now)\n\
        \x20   print(json.dumps([[v, begin + i * step] for i, v in enumerate(values) if v is not None]))\n";
    for Question { name, from, until, points } in
        questions.iter().filter(|question| !question.name.contains(';'))
    {
        let path = second.join(format!("{}.wsp", name.replace('.', "/")));
        let line = serde_json::json!([path, from, until, at]).to_string();
        let read = Command::new("sh")
            .arg("-c")
            .arg("printf '%s\\n' \"$0\" | \"$1\" -c \"$2\"")
            .arg(&line)
            .arg(&python)
            .arg(script)
            .output()
            .unwrap();
        assert!(read.status.success(), "{name}: {}", String::from_utf8_lossy(&read.stderr));
        let read: Vec<(f64, u64)> = serde_json::from_slice(&read.stdout).unwrap();
        assert_eq!(&read, points, "{name} from {from} until {until}");
    }
    let csv = setup.run(&["export", "csv", "servers.web0.cpu.load0", "--from", "-1h"]);
    let text = String::from_utf8(csv.stdout).unwrap();
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("name,time,value"));
    assert!(
        lines.all(|line| line.starts_with("servers.web0.cpu.load0,")) && text.lines().count() > 10,
        "{text}"
    );
}
