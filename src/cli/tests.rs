//! The command line as people type it.

use super::*;
use crate::config::{Config, Origin};

fn parse(line: &[&str]) -> Result<Arguments, String> {
    Arguments::from_line([&["plumbago"], line].concat()).map_err(|e| e.to_string())
}

/// What `check-config` prints for a configuration file.
fn check(toml: &str, name: Option<&str>, output: Output) -> anyhow::Result<String> {
    let dir = tempfile::tempdir()?;
    let file = dir.path().join("plumbago.toml");
    std::fs::write(&file, toml)?;
    let loaded = Loaded::new(&Sources { file: Some(file), ..Sources::default() })?;
    let mut out = Vec::new();
    check_config::run(&loaded, &CheckConfig { name: name.map(str::to_owned) }, output, &mut out)?;
    Ok(String::from_utf8(out)?.replace(&format!("{}/", dir.path().display()), ""))
}

#[test]
fn the_declarations_are_consistent() {
    Arguments::declaration().debug_assert();
}

#[test]
fn no_command_means_serve() {
    assert!(parse(&[]).unwrap().command.is_none());
    assert!(matches!(parse(&["serve"]).unwrap().command, Some(Command::Serve(_))));
}

#[test]
fn global_flags_stand_before_or_after_the_command() {
    for line in [
        &["--set", "a.b=1", "--set", "c.d=2", "--output", "json", "stats"][..],
        &["stats", "--set", "a.b=1", "--set", "c.d=2", "--output", "json"],
        &["--set", "a.b=1", "stats", "--set", "c.d=2", "--output", "json"],
    ] {
        let arguments = parse(line).unwrap();
        assert_eq!(arguments.global.set, ["a.b=1", "c.d=2"], "{line:?}");
        assert_eq!(arguments.global.output, Output::Json);
    }
}

#[test]
fn times_and_values_may_be_negative() {
    let Some(Command::Read(read)) =
        parse(&["read", "a.b", "--from", "-1h", "--until", "-5min"]).unwrap().command
    else {
        panic!("not a read")
    };
    assert_eq!((read.from.as_str(), read.until.as_str()), ("-1h", "-5min"));
    let Some(Command::Write(write)) = parse(&["write", "a.b", "-3.5", "60"]).unwrap().command else {
        panic!("not a write")
    };
    assert_eq!((write.value, write.timestamp), (-3.5, Some(60)));
}

#[test]
fn wrong_usage_is_refused() {
    assert!(parse(&["write", "a", "nan"]).unwrap_err().contains("NaN is not stored"));
    assert!(parse(&["write", "a", "many"]).unwrap_err().contains("not a number"));
    assert!(parse(&["write", "a", "1", "yesterday"]).unwrap_err().contains("yesterday"));
    assert!(parse(&["fnid", "a"]).unwrap_err().contains("'find'"));
    assert!(parse(&["find"]).unwrap_err().contains("GLOB"));
    assert!(parse(&["-v", "-q"]).unwrap_err().contains("cannot be used with"));
}

#[test]
fn exit_codes_tell_wrong_input_from_failed_work() {
    let code = |error: anyhow::Error| format!("{:?}", exit_code(&error));
    let two = format!("{:?}", ExitCode::from(2));
    assert_eq!(code(UsageError("x".to_owned()).into()), two);
    assert_eq!(code(anyhow::Error::new(ConfigError::BadFlag("x".to_owned())).context("while reading")), two);
    assert_eq!(code(anyhow::anyhow!("disk full")), format!("{:?}", ExitCode::FAILURE));
    let gone = io::Error::from(io::ErrorKind::BrokenPipe);
    assert_eq!(code(anyhow::Error::new(gone).context("printing")), format!("{:?}", ExitCode::SUCCESS));
}

#[test]
fn a_cause_is_printed_once() {
    let missing = || io::Error::other("no such file");
    let error = anyhow::Error::new(ConfigError::Read { path: "p.toml".into(), source: missing() });
    assert_eq!(message(&error), "cannot read p.toml: no such file");
    let error = anyhow::Error::new(missing()).context("opening the log").context("starting");
    assert_eq!(message(&error), "starting: opening the log: no such file");
}

#[test]
fn the_time_zone_is_checked_when_the_config_is_read() {
    let arguments = parse(&["--set", "query.timezone=Mars/Base"]).unwrap();
    let text = load(&arguments.global).unwrap_err().to_string();
    assert!(text.starts_with("--set: query.timezone: `Mars/Base` is not a time zone"), "{text}");
}

#[test]
fn the_settings_are_printed_as_toml_with_their_origins() {
    let toml = "[query]\nmax_series = 7\n[ingest]\nidle_timeout = 90\n\
                [[retention.rule]]\npattern = 'x'\nretentions = '1m:1h'\n";
    let text = check(toml, None, Output::Table).unwrap();
    assert!(text.starts_with("# read from plumbago.toml\nquota = []"), "{text}");
    assert!(text.contains("\n\n[listen]\nhttp = \"127.0.0.1:8080\" "), "{text}");
    let line = |start: &str| text.lines().find(|l| l.starts_with(start)).unwrap_or_default().to_owned();
    assert!(line("max_series = 7 ").ends_with(" # plumbago.toml:2"));
    assert!(line("idle_timeout = \"90s\" ").ends_with(" # plumbago.toml:4"));
    assert!(line("max_points = 50000000 ").ends_with(" # default"));
    assert!(text.contains("#   rule \"rule 1\" at plumbago.toml:5, pattern x: 1m for 1 hour\n"), "{text}");

    // What was printed gives the same configuration again.
    let again = check(&text, Some("x"), Output::Table).unwrap();
    assert!(again.contains("retention    1m for 1 hour\n"), "{again}");
}

#[test]
fn the_settings_are_printed_as_json() {
    let toml = "[query]\nmax_series = 7\n";
    let json: serde_json::Value = serde_json::from_str(&check(toml, None, Output::Json).unwrap()).unwrap();
    assert_eq!(json["settings"]["query.max_series"]["value"], 7);
    assert_eq!(json["settings"]["query.max_series"]["origin"], "plumbago.toml:2");
    assert_eq!(json["settings"]["listen.http"]["origin"], Origin::Default.to_string());
    assert_eq!(json["retention_rules"], serde_json::json!([]));
}

const RULES: &str = "[[retention.rule]]\nname = 'web'\npattern = '^web'\nretentions = '10s:1d,1m:30d'\n\
                     aggregation = 'sum'\nx_files_factor = 0\n";

#[test]
fn the_rules_of_a_name_are_explained_in_words() {
    assert_eq!(
        check(RULES, Some("web..cpu"), Output::Table).unwrap(),
        "name         web.cpu\n\
         retention    10s for 1 day, 1m for 30 days\n\
         \x20            from rule \"web\" at plumbago.toml:1, pattern ^web\n\
         aggregation  sum, xFilesFactor 0\n\
         \x20            from rule \"web\" at plumbago.toml:1, pattern ^web\n"
    );
    assert_eq!(
        check("", Some("other"), Output::Table).unwrap(),
        "name         other\n\
         retention    10s for 1 day, 1m for 30 days, 1h for 2 years\n\
         \x20            no rule matches: from retention.default\n\
         aggregation  average, xFilesFactor 0.5\n\
         \x20            no rule matches: the built-in default\n"
    );
}

#[test]
fn the_rules_of_a_name_are_listed_as_json() {
    let json: serde_json::Value =
        serde_json::from_str(&check(RULES, Some("web.cpu"), Output::Json).unwrap()).unwrap();
    assert_eq!(json["retention"]["rule"]["origin"], "plumbago.toml:1");
    assert_eq!(json["retention"]["stages"][1]["step_secs"], 60);
    assert_eq!(json["aggregation"]["method"], "sum");
    let json: serde_json::Value =
        serde_json::from_str(&check(RULES, Some("db"), Output::Json).unwrap()).unwrap();
    assert_eq!(json["retention"]["rule"], serde_json::Value::Null);
}

#[test]
fn names_that_cannot_be_stored_are_refused_with_the_reason() {
    let limit = Config::default().ingest.max_name_bytes;
    for (name, reason) in [
        (vec!["c"; 64].join("."), "64 components"),
        ("x".repeat(limit + 1), "ingest.max_name_bytes"),
        ("...".to_owned(), "no component"),
        ("a\tb".to_owned(), "control character"),
    ] {
        let error = check("", Some(&name), Output::Table).unwrap_err();
        assert!(error.to_string().contains(reason), "{error}");
        assert!(error.is::<UsageError>());
    }
    assert!(check("", Some(&vec!["c"; 63].join(".")), Output::Table).is_ok());
}

#[test]
fn a_password_is_not_shown() {
    let toml = "[store.cassandra]\npassword = 'open sesame'\n";
    for output in [Output::Table, Output::Json] {
        let text = check(toml, None, output).unwrap();
        assert!(text.contains("password"), "{text}");
        assert!(!text.contains("sesame"), "{text}");
    }
    assert!(check(toml, None, Output::Table).unwrap().contains("# password is set, and not shown"));
}

#[test]
fn the_schema_command_takes_one_of_three_words() {
    for word in ["print", "apply", "check"] {
        assert!(parse(&["schema", word]).is_ok(), "{word}");
    }
    let line = [
        "schema",
        "apply",
        "--create-keyspaces",
        "--replication",
        "{}",
        "--set",
        "store.cassandra.keyspace=a",
    ];
    assert_eq!(parse(&line).unwrap().global.set, ["store.cassandra.keyspace=a"]);
    assert!(parse(&["schema", "drop"]).unwrap_err().contains("print"));
}
