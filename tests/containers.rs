//! The image, the chart and the service start the program as it wants to be started, and ask it what it answers.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use plumbago::cli::{Arguments, Command};
use plumbago::config::{Loaded, Sources};
use serde_json::Value;

fn read(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn yaml(path: &str) -> Value {
    serde_saphyr::from_str(&read(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The words of a line of the Dockerfile whose instruction has a list.
fn words(dockerfile: &str, instruction: &str) -> Vec<String> {
    let line = dockerfile.lines().find_map(|line| line.strip_prefix(instruction));
    serde_json::from_str(line.unwrap_or_else(|| panic!("no {instruction} in {dockerfile}"))).unwrap()
}

#[test]
fn the_image_starts_the_server_and_asks_it_for_its_health() {
    let dockerfile = read("docker/Dockerfile");
    let (_, last) = dockerfile.rsplit_once("\nFROM ").unwrap();
    assert!(last.starts_with("gcr.io/distroless/cc-"), "{last}");
    let program = words(last, "ENTRYPOINT ");
    let line = [program.clone(), words(last, "CMD ")].concat();
    assert!(Arguments::from_line(&line).unwrap().is_serve());
    let (_, check) = last.split_once("HEALTHCHECK ").unwrap();
    let check = words(check.trim_start_matches(|c| c != '\n').trim_start(), "CMD ");
    assert_eq!(check.first(), program.first());
    assert!(matches!(Arguments::from_line(&check).unwrap().command, Some(Command::Health(_))), "{check:?}");
    let (_, rest) = last.split_once("\nENV ").unwrap();
    let variables = rest.lines().take_while(|line| line.contains('=')).map(|line| {
        let (name, value) = line.trim().trim_end_matches(" \\").split_once('=').unwrap();
        (name.into(), value.into())
    });
    let sources = Sources { environment: variables.collect(), ..Sources::default() };
    let config = Loaded::new(&sources).unwrap().config;
    let exposed = last.lines().find_map(|line| line.strip_prefix("EXPOSE ")).unwrap();
    let ports = [config.listen.http, config.listen.carbon, config.listen.pickle].map(|at| at.unwrap().port());
    assert_eq!(exposed, format!("{0} {1} {1}/udp {2}", ports[0], ports[1], ports[2]));
    let volume = last.lines().find_map(|line| line.strip_prefix("VOLUME ")).map(PathBuf::from);
    assert_eq!(volume, Some(config.store.path));
}

#[test]
fn the_service_starts_the_server() {
    let unit = read("docker/package/plumbago.service");
    let value =
        |key: &str| unit.lines().find_map(|line| line.strip_prefix(&format!("{key}="))).unwrap().to_owned();
    let arguments = Arguments::from_line(value("ExecStart").split(' ')).unwrap();
    assert!(arguments.is_serve());
    assert_eq!(arguments.global.config, Some("/etc/plumbago/plumbago.toml".into()));
    assert_eq!(value("Type"), "notify");
    assert!(read("docker/package/plumbago.sysusers").contains(&format!("\nu {} ", value("User"))));
    assert_eq!(format!("/var/lib/{}", value("StateDirectory")), "/var/lib/plumbago");
}

#[test]
fn the_chart_is_of_this_version_and_its_values_are_described() {
    let chart = yaml("docker/helm/plumbago/Chart.yaml");
    assert_eq!(chart["appVersion"], env!("CARGO_PKG_VERSION"));
    assert_eq!(chart["version"], env!("CARGO_PKG_VERSION"));
    let values = yaml("docker/helm/plumbago/values.yaml");
    let schema: Value = serde_json::from_str(&read("docker/helm/plumbago/values.schema.json")).unwrap();
    let keys = |value: &Value| value.as_object().unwrap().keys().cloned().collect::<BTreeSet<String>>();
    let mut described = keys(&schema["properties"]);
    assert!(described.remove("global"), "Helm itself adds it");
    assert_eq!(keys(&values), described);
    for (name, part) in schema["properties"].as_object().unwrap() {
        if let Some(parts) = part.get("properties") {
            assert_eq!(keys(&values[name]), keys(parts), "{name}");
        }
    }
    // What is set in the chart is a value, and every value is used.
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("docker/helm/plumbago/templates");
    let templates: String =
        fs::read_dir(folder).unwrap().map(|file| fs::read_to_string(file.unwrap().path()).unwrap()).collect();
    let used = regex::Regex::new(r"\.Values\.(\w+)").unwrap();
    let used: BTreeSet<String> = used.captures_iter(&templates).map(|found| found[1].to_owned()).collect();
    assert_eq!(used, keys(&values));
}

#[test]
fn a_pod_is_scraped_once() {
    let services = read("docker/helm/plumbago/templates/service.yaml");
    let apart = "app.kubernetes.io/component";
    let marked: Vec<bool> = services.split("\n---\n").map(|service| service.contains(apart)).collect();
    assert_eq!(marked, [false, true], "{services}");
    let monitor = read("docker/helm/plumbago/templates/servicemonitor.yaml");
    assert!(monitor.contains(&format!("{{ key: {apart}, operator: DoesNotExist }}")), "{monitor}");
}

#[test]
fn probes_and_monitors_ask_what_the_server_answers() {
    let calls = read("docs/HTTP.md");
    let path = regex::Regex::new(r"\bpath: (/\S+?),? ").unwrap();
    let mut seen = 0;
    for file in ["statefulset.yaml", "servicemonitor.yaml"] {
        let text = read(&format!("docker/helm/plumbago/templates/{file}")).replace('\n', " ");
        for found in path.captures_iter(&text) {
            seen += 1;
            assert!(calls.contains(&format!("`GET {}`", &found[1])), "{file}: {}", &found[1]);
        }
    }
    assert_eq!(seen, 4);
}
