//! The image of docker/Dockerfile: its last stage is built by buildah, and the server in there starts, is healthy and stops.
//!
//! Registries are not asked. What the first stage would compile is the program under test, and the base image has what distroless has:
//! the C library and no shell. `cargo build` in the first stage is therefore not tried.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::harness::{find_program, wait_for_end, wait_until};
use crate::skip::skip;

/// A folder with images and containers, and a network of its own.
struct Host {
    directory: tempfile::TempDir,
    /// Keeps the network alive.
    anchor: Child,
    server: Option<Child>,
}

impl Host {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let mut anchor = Command::new("unshare")
            .args(["--net", "sh", "-c", "ip link set lo up && echo ready && exec sleep 100000"])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(anchor.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line, "ready\n", "there is no network of its own");
        Self { directory, anchor, server: None }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn buildah(&self, words: &[&str]) -> Command {
        let mut command = Command::new("nsenter");
        command.args([
            "--target",
            &self.anchor.id().to_string(),
            "--net",
            "buildah",
            "--storage-driver",
            "vfs",
        ]);
        command.arg("--root").arg(self.path("store")).arg("--runroot").arg(self.path("run"));
        command.args(words).env("BUILDAH_ISOLATION", "chroot").stdin(Stdio::null());
        command
    }

    fn ask(&self, words: &[&str]) -> String {
        let output = self.buildah(words).output().unwrap();
        assert!(output.status.success(), "{words:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    /// The folder from which the image is built, with its recipe.
    fn context(&self) -> PathBuf {
        let context = self.path("context");
        let binary = context.join("build/src/target/release/plumbago");
        fs::create_dir_all(binary.parent().unwrap()).unwrap();
        fs::create_dir(context.join("build/data")).unwrap();
        let strip = Command::new("strip").arg("-o").arg(&binary).arg(env!("CARGO_BIN_EXE_plumbago")).status();
        assert!(strip.unwrap().success());
        for library in libraries(&binary) {
            let copy = context.join("base").join(library.strip_prefix("/").unwrap());
            fs::create_dir_all(copy.parent().unwrap()).unwrap();
            fs::copy(&library, copy).unwrap();
        }
        // Where the loader's path says `/lib`, distributions of today have a link.
        if !context.join("base/lib").exists() {
            symlink("usr/lib", context.join("base/lib")).unwrap();
        }
        let recipe = Path::new(env!("CARGO_MANIFEST_DIR")).join("docker/Dockerfile");
        let recipe = fs::read_to_string(recipe).unwrap();
        let (_, last) = recipe.rsplit_once("\nFROM ").unwrap();
        let (_, steps) = last.split_once('\n').unwrap();
        let stages = format!(
            "FROM scratch AS build\nCOPY build /\nFROM scratch AS base\nCOPY base /\nFROM base\n{steps}"
        );
        fs::write(context.join("Containerfile"), stages).unwrap();
        context
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        for child in self.server.iter_mut().chain([&mut self.anchor]) {
            // Fails only if it has ended already.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// What the program is linked with, its loader among it.
fn libraries(binary: &Path) -> Vec<PathBuf> {
    let output = Command::new("ldd").arg(binary).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let words = text.split_whitespace().filter(|word| word.starts_with('/'));
    words.map(PathBuf::from).collect()
}

/// The process of the server in the container: buildah and its own child are between it and us. Any thread of theirs may have started it.
fn server_of(container: &Child) -> Option<u32> {
    let mut left = vec![container.id()];
    while let Some(process) = left.pop() {
        let name = fs::read(format!("/proc/{process}/cmdline")).unwrap_or_default();
        if name.starts_with(b"/usr/local/bin/plumbago\0serve") {
            return Some(process);
        }
        for thread in fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten() {
            let children = fs::read_to_string(thread.path().join("children")).unwrap_or_default();
            left.extend(children.split_whitespace().filter_map(|child| child.parse::<u32>().ok()));
        }
    }
    None
}

#[test]
fn the_image_runs_a_healthy_server_without_privileges() {
    let test = "the_image_runs_a_healthy_server_without_privileges";
    if !rustix::process::geteuid().is_root() {
        return skip(test, "only root can build an image without an engine");
    }
    for program in ["buildah", "unshare", "nsenter", "ip", "ldd", "strip"] {
        if find_program(program).is_none() {
            return skip(test, &format!("there is no {program} here; scripts/test installs buildah"));
        }
    }
    let mut host = Host::new();
    let context = host.context();
    let recipe = context.join("Containerfile");
    let (recipe, folder) = (recipe.to_str().unwrap(), context.to_str().unwrap());
    host.ask(&["build", "--pull-never", "--format", "docker", "--file", recipe, "--tag", "plumbago", folder]);
    let container = host.ask(&["from", "--pull-never", "localhost/plumbago"]);
    let config = host.ask(&["inspect", "--type", "image", "localhost/plumbago"]);
    let config: serde_json::Value = serde_json::from_str(&config).unwrap();
    let config = &config["Docker"]["config"];
    let words = |key: &str| -> Vec<String> { serde_json::from_value(config[key].clone()).unwrap() };
    let program = [words("Entrypoint"), words("Cmd")].concat();
    let run: Vec<&str> =
        ["run", &container, "--"].into_iter().chain(program.iter().map(String::as_str)).collect();
    host.server = Some(host.buildah(&run).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());

    // As the platform asks, again and again.
    let check: Vec<String> = serde_json::from_value(config["Healthcheck"]["Test"].clone()).unwrap();
    let check: Vec<&str> =
        ["run", &container, "--"].into_iter().chain(check[1..].iter().map(String::as_str)).collect();
    wait_until("a healthy container", || host.buildah(&check).output().unwrap().status.success());

    let process = server_of(host.server.as_ref().unwrap()).expect("the server is a child of buildah");
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let field =
        |name: &str| status.lines().find_map(|line| line.strip_prefix(name)).unwrap().trim().to_owned();
    assert_eq!(field("Uid:").split_whitespace().next(), Some("10001"), "{status}");
    assert_eq!(field("CapEff:").trim_start_matches('0'), "", "{status}");
    assert!(fs::read_link(format!("/proc/{process}/cwd")).unwrap().ends_with("etc/plumbago"));
    let written =
        host.ask(&["run", &container, "--", "/usr/local/bin/plumbago", "write", "hello.world", "42"]);
    let found = host.ask(&["run", &container, "--", "/usr/local/bin/plumbago", "find", "hello.*"]);
    assert_eq!(found, "hello.world", "{written}");

    let process = rustix::process::Pid::from_raw(process.try_into().unwrap()).unwrap();
    assert_eq!(config["StopSignal"], "SIGTERM");
    rustix::process::kill_process(process, rustix::process::Signal::TERM).unwrap();
    let mut server = host.server.take().unwrap();
    assert!(wait_for_end(&mut server).is_some_and(|status| status.success()), "the server did not stop");
}
