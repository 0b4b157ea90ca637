//! docs/INSTALL.md is true: its steps run in an empty Debian, with the packages that `scripts/package` makes of this program. Red Hat's
//! is installed by `rpm`, which this machine has, into a root whose list of packages says no more than that glibc and a shell are there.
//!
//! The root has a network of its own, so that the service has its usual ports. systemd cannot run in there. `systemctl` only writes down
//! what it is asked for, and the test does it: it starts the service as the unit file says, as the user of the unit, and waits until the
//! service says that it is ready.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use crate::harness::{PATIENCE, find_program, run_to_end, wait_for_end};
use crate::manual::{Stage, check_page_on};
use crate::notify::Manager;
use crate::skip::{note, skip};

const UNIT: &str = "usr/lib/systemd/system/plumbago.service";
/// Where a person puts it.
const OWN_UNIT: &str = "etc/systemd/system/plumbago.service";

/// A root with an empty Debian, and the service in there.
struct Machine {
    root: PathBuf,
    /// Keeps the namespaces of the machine alive.
    anchor: Child,
    manager: Manager,
    service: Option<Child>,
    /// Lines of `systemctl` that are done.
    done: usize,
    /// Where commands run.
    directory: PathBuf,
    _directory: tempfile::TempDir,
}

impl Machine {
    fn new(archive: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().join("root");
        fs::create_dir(&root).unwrap();
        run(Command::new("tar").arg("-xf").arg(archive).arg("-C").arg(&root));
        for made in ["dev", "proc", "packages", "run/systemd/system"] {
            fs::create_dir_all(root.join(made)).unwrap();
        }
        let systemctl = root.join("usr/bin/systemctl");
        fs::write(&systemctl, "#!/bin/sh\necho \"$*\" >>/run/systemctl\n").unwrap();
        fs::set_permissions(&systemctl, fs::Permissions::from_mode(0o755)).unwrap();
        let manager = Manager::new(&root.join("run/notify"));
        fs::set_permissions(root.join("run/notify"), fs::Permissions::from_mode(0o666)).unwrap();
        let mut anchor = Command::new("unshare")
            .args(["--mount", "--net", "sh", "-c"])
            .arg(
                "mount -t proc proc \"$0/proc\" && mount --rbind /dev \"$0/dev\" && chroot \"$0\" ip link set lo up && \
                 echo ready && exec sleep 100000",
            )
            .arg(&root)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(anchor.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line, "ready\n", "the machine did not start");
        let packages = root.join("packages");
        fs::set_permissions(&packages, fs::Permissions::from_mode(0o777)).unwrap();
        Self {
            root,
            anchor,
            manager,
            service: None,
            done: 0,
            directory: "/packages".into(),
            _directory: directory,
        }
    }

    /// Puts packages where the page has them, under their names on the most common machine.
    fn bring(&self, packages: &[PathBuf]) {
        for package in packages {
            let shown = name(package).replace("_arm64.deb", "_amd64.deb").replace("aarch64", "x86_64");
            fs::copy(package, self.root.join("packages").join(shown)).unwrap();
        }
    }

    /// A command outside, with the network and the devices of the machine.
    fn beside(&self, program: &str) -> Command {
        let mut command = Command::new("nsenter");
        command.args(["--target", &self.anchor.id().to_string(), "--mount", "--net", program]);
        command.stdin(Stdio::null());
        command
    }

    /// This machine's `rpm` works on the root, whose scripts it runs in there.
    fn rpm(&self, arguments: &str) -> Command {
        let mut command = self.beside("rpm");
        // Debian's does not like to be used, and keeps its list of packages with its user.
        command.args(["--force-debian", "--define", "_dbpath /var/lib/rpm", "--root"]).arg(&self.root);
        for argument in arguments.split(' ') {
            // Relative paths are not those of the machine.
            let file = self.root.join("packages").join(argument);
            command.arg(if file.is_file() { file.as_os_str() } else { argument.as_ref() });
        }
        command
    }

    /// A command in there, from its words on.
    fn inside(&self, words: &[&str]) -> Command {
        let mut command = self.beside("chroot");
        let path = "PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
        command.arg(&self.root).args(["env", "-i", path, "LC_ALL=C.UTF-8"]).args(words);
        command
    }

    /// Does what systemd was asked for meanwhile.
    fn obey(&mut self) {
        let asked = fs::read_to_string(self.root.join("run/systemctl")).unwrap_or_default();
        for line in asked.lines().skip(self.done) {
            match line {
                "daemon-reload" => {}
                "enable --now plumbago" => self.start(),
                "try-restart plumbago.service" if self.service.is_none() => {}
                "try-restart plumbago.service" => {
                    self.stop();
                    self.start();
                }
                "--no-reload disable --now plumbago.service" => self.stop(),
                other => panic!("nobody knows how to `systemctl {other}`"),
            }
        }
        self.done = asked.lines().count();
    }

    /// Value of a key of the installed unit.
    fn unit(&self, key: &str) -> String {
        let unit =
            [OWN_UNIT, UNIT].iter().find_map(|path| fs::read_to_string(self.root.join(path)).ok()).unwrap();
        let found = unit.lines().find_map(|line| line.strip_prefix(&format!("{key}=")));
        found.unwrap_or_else(|| panic!("no {key} in {unit}")).to_owned()
    }
}

impl Stage for Machine {
    fn start(&mut self) {
        assert_eq!(self.unit("Type"), "notify");
        let (user, group, directory) = (self.unit("User"), self.unit("Group"), self.unit("WorkingDirectory"));
        let watchdog: u64 = self.unit("WatchdogSec").parse().unwrap();
        let (line, watchdog) = (self.unit("ExecStart"), format!("WATCHDOG_USEC={}", watchdog * 1_000_000));
        let mut words = vec!["NOTIFY_SOCKET=/run/notify", &watchdog, "PLUMBAGO_STORE__RESERVE_BYTES=0"];
        words.extend(["setpriv", "--reuid", &user, "--regid", &group, "--clear-groups", "--no-new-privs"]);
        words.extend(["--bounding-set", "-all", "--inh-caps", "-all", "env", "-C", &directory]);
        words.extend(line.split(' '));
        let mut command = self.inside(&words);
        self.service = Some(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
        self.manager.hears("READY=1");
        self.manager.hears("WATCHDOG=1");
    }

    fn stop(&mut self) {
        let mut service = self.service.take().expect("the service runs");
        run(Command::new("kill").arg("-TERM").arg(service.id().to_string()));
        assert!(
            wait_for_end(&mut service).is_some_and(|status| status.success()),
            "the service did not stop"
        );
    }

    /// As root behind `sudo`, and as nobody without. What is sent without an answer may arrive a moment later, so questions are repeated.
    fn run(&mut self, line: &str, is_right: &dyn Fn(&str) -> bool) -> String {
        let (line, is_root) = line.strip_prefix("sudo ").map_or((line, false), |line| (line, true));
        if let Some(directory) = line.strip_prefix("cd ") {
            self.directory.push(directory);
            return String::new();
        }
        if let Some(arguments) = line.strip_prefix("rpm ").filter(|_| is_root) {
            let output = run_to_end(self.rpm(arguments));
            self.obey();
            return [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap()).concat();
        }
        let line = format!("exec 2>&1; cd {}; {line}", self.directory.display());
        let nobody = ["setpriv", "--reuid", "nobody", "--regid", "nogroup", "--clear-groups"];
        let words = [if is_root { &[][..] } else { &nobody }, &["bash", "-c", &line]].concat();
        let asks = ["find", "read", "health"].iter().any(|name| line.contains(&format!("plumbago {name} ")))
            || line.ends_with("plumbago health");
        let give_up = Instant::now() + PATIENCE;
        loop {
            let printed = String::from_utf8(run_to_end(self.inside(&words)).stdout).unwrap();
            if !asks || is_right(&printed) || Instant::now() > give_up {
                self.obey();
                return printed;
            }
        }
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        for child in self.service.iter_mut().chain([&mut self.anchor]) {
            // Fails only if it has ended already.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// The page, from an empty machine on for each way to install.
struct Machines {
    machine: Machine,
    /// What the root of a machine is made of.
    archive: String,
    packages: Vec<PathBuf>,
    /// What Red Hat has in place of Debian's essential packages.
    base: PathBuf,
}

impl Stage for Machines {
    fn section(&mut self, heading: &str) {
        if !["Red Hat and Fedora", "Without a package"].contains(&heading) {
            return;
        }
        self.machine = Machine::new(&self.archive);
        self.machine.bring(&self.packages);
        if heading.starts_with("Red Hat") {
            self.machine.bring(std::slice::from_ref(&self.base));
            run(&mut self.machine.rpm(&format!("-U {}", name(&self.base))));
        }
    }

    fn start(&mut self) {
        self.machine.start();
    }

    fn stop(&mut self) {
        self.machine.stop();
    }

    fn run(&mut self, line: &str, is_right: &dyn Fn(&str) -> bool) -> String {
        self.machine.run(line, is_right)
    }
}

/// A package without files, for what the packages of Red Hat need.
fn base(directory: &Path) -> PathBuf {
    let recipe = directory.join("base.yaml");
    let text = "{ name: base, arch: all, version: 1.0.0, maintainer: nobody, description: what is there already, \
                provides: [glibc = 99, libgcc, shadow-utils, /bin/sh] }";
    fs::write(&recipe, text).unwrap();
    let mut nfpm = Command::new(std::env::var("TEST_NFPM").unwrap());
    run(nfpm.args(["package", "--packager", "rpm", "--config"]).arg(&recipe).arg("--target").arg(directory));
    directory.join("base-1.0.0-1.noarch.rpm")
}

fn run(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(output.status.success(), "{command:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// Packages of the program under test, by their file names.
fn packages(directory: &Path, arguments: &[&str]) -> Vec<PathBuf> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts/package");
    let mut command = Command::new(script);
    command.args(["--binary", env!("CARGO_BIN_EXE_plumbago"), "--output"]).arg(directory).args(arguments);
    run(&mut command).lines().map(PathBuf::from).collect()
}

fn name(path: &Path) -> &str {
    path.file_name().unwrap().to_str().unwrap()
}

/// The programs and files that packages are made and tried with, or `None` and a skip.
fn debian(test: &str) -> Option<String> {
    if !rustix::process::geteuid().is_root() {
        skip(test, "only root can install packages into a directory");
        return None;
    }
    for program in ["dpkg", "rpm", "unshare", "nsenter", "setpriv"] {
        if find_program(program).is_none() {
            skip(test, &format!("there is no {program} here"));
            return None;
        }
    }
    let (nfpm, debian) = (std::env::var("TEST_NFPM"), std::env::var("TEST_DEBIAN"));
    if nfpm.is_err() || debian.is_err() {
        skip(test, "TEST_NFPM and TEST_DEBIAN are not set; scripts/test installs them");
        return None;
    }
    debian.ok()
}

#[test]
fn every_step_of_an_installation_does_what_the_page_says() {
    let Some(archive) = debian("every_step_of_an_installation_does_what_the_page_says") else { return };
    let made = tempfile::tempdir().unwrap();
    let mut all = packages(made.path(), &["deb", "rpm", "tar"]);
    all.extend(packages(made.path(), &["--release", "2", "deb", "rpm"]));
    assert_eq!(all.len(), 5, "{all:?}");
    let base = base(made.path());
    let machine = Machine::new(&archive);
    machine.bring(&all);
    let mut machines = Machines { machine, archive: archive.clone(), packages: all.clone(), base };
    check_page_on("INSTALL.md", &mut machines);
    assert!(machines.machine.service.is_some());
    drop(machines);

    let mut machine = Machine::new(&archive);
    machine.bring(&all);
    let debs: Vec<&PathBuf> = all.iter().filter(|path| name(path).ends_with(".deb")).collect();
    let install = |machine: &mut Machine, package: &Path| {
        let shown = name(package).replace("_arm64.deb", "_amd64.deb");
        machine.run(&format!("sudo dpkg -i {shown}"), &|_| true);
    };
    install(&mut machine, debs[0]);
    machine.run("sudo systemctl enable --now plumbago", &|_| true);
    has_its_files(&machine.root);
    let dependencies = run(Command::new("dpkg-deb").arg("--field").arg(debs[0]).arg("Depends"));
    assert!(dependencies.contains("libc6 (>= 2."), "{dependencies}");

    // A configuration that was changed is not touched by an upgrade.
    let config = machine.root.join("etc/plumbago/plumbago.toml");
    let text = fs::read_to_string(&config).unwrap();
    assert!(text.contains("\npath = \"/var/lib/plumbago\"\n"));
    fs::write(&config, format!("{text}# mine\n")).unwrap();
    let before = machine.service.as_ref().map(Child::id);
    install(&mut machine, debs[1]);
    assert!(fs::read_to_string(&config).unwrap().ends_with("# mine\n"));
    assert_ne!(machine.service.as_ref().map(Child::id), before, "the service did not become the new version");
    systemd_likes_the_unit(&machine.root);
}

/// What is in the package, and whose it is.
fn has_its_files(root: &Path) {
    for path in [
        "usr/share/man/man1/plumbago.1.gz",
        "usr/share/man/man1/plumbago-watch.1.gz",
        "usr/share/bash-completion/completions/plumbago",
        "usr/share/zsh/vendor-completions/_plumbago",
        "usr/share/fish/vendor_completions.d/plumbago.fish",
        "usr/share/doc/plumbago/copyright",
    ] {
        assert!(fs::metadata(root.join(path)).is_ok_and(|about| about.len() > 100), "{path}");
    }
    let data = fs::metadata(root.join("var/lib/plumbago")).unwrap();
    let users = fs::read_to_string(root.join("etc/passwd")).unwrap();
    let user = users.lines().find(|line| line.starts_with("plumbago:")).unwrap();
    assert_eq!(user.split(':').nth(2), Some(data.uid().to_string().as_str()), "{user}");
    assert_eq!(data.mode() & 0o777, 0o750);
}

/// What systemd itself thinks of the unit.
fn systemd_likes_the_unit(root: &Path) {
    let Some(analyze) = find_program("systemd-analyze") else {
        return skip("plumbago.service", "there is no systemd-analyze here");
    };
    // It looks for the program here, not in the root.
    let directory = tempfile::tempdir().unwrap();
    let unit = directory.path().join("plumbago.service");
    let text = fs::read_to_string(root.join(UNIT)).unwrap();
    fs::write(&unit, text.replace("=/usr/bin/plumbago ", &format!("={} ", env!("CARGO_BIN_EXE_plumbago"))))
        .unwrap();
    let verified = Command::new(&analyze).args(["verify", "--man=no"]).arg(&unit).output().unwrap();
    assert!(verified.status.success() && verified.stderr.is_empty(), "{verified:?}");
    run(Command::new(&analyze)
        .args(["security", "--offline=true", "--threshold=20", "--no-pager"])
        .arg(root.join(UNIT)));
}

#[test]
fn a_package_for_red_hat_has_the_same_files() {
    let test = "a_package_for_red_hat_has_the_same_files";
    if std::env::var_os("TEST_NFPM").is_none() {
        return skip(test, "TEST_NFPM is not set; scripts/test installs nfpm");
    }
    if find_program("rpm").is_none() {
        return skip(test, "there is no rpm here; scripts/test installs it");
    }
    let made = tempfile::tempdir().unwrap();
    let all = packages(made.path(), &["rpm"]);
    let [package] = &all[..] else { panic!("{all:?}") };
    let ask = |what: &str| run(Command::new("rpm").args(["--query", "--package", what]).arg(package));
    let files = ask("--list");
    for path in [
        "/usr/bin/plumbago",
        "/etc/plumbago/plumbago.toml",
        "/usr/lib/systemd/system/plumbago.service",
        "/usr/lib/sysusers.d/plumbago.conf",
        "/usr/share/zsh/site-functions/_plumbago",
        "/usr/share/man/man1/plumbago.1.gz",
    ] {
        assert!(files.lines().any(|line| line == path), "no {path} in {files}");
    }
    assert_eq!(ask("--configfiles").trim(), "/etc/plumbago/plumbago.toml");
    assert!(ask("--requires").lines().any(|line| line.starts_with("glibc >= 2.")));
    for script in ["postinstall scriptlet", "preuninstall scriptlet", "postuninstall scriptlet"] {
        assert!(ask("--scripts").contains(script), "no {script}");
    }
}

/// The shells themselves complete a command.
#[test]
fn the_completions_work_in_their_shells() {
    let directory = tempfile::tempdir().unwrap();
    let binary = env!("CARGO_BIN_EXE_plumbago");
    for (shell, arguments, script) in [
        (
            "bash",
            &["--norc", "-c"][..],
            "source $FILE; COMP_WORDS=(plumbago check-c) COMP_CWORD=1; _plumbago plumbago check-c plumbago; echo ${COMPREPLY[@]}",
        ),
        (
            "zsh",
            &["-f", "-c"],
            "autoload -Uz compinit; compinit -D; source $FILE; (( $+functions[_plumbago] )) && print -l ${(f)\"$(functions _plumbago_commands)\"} | grep -o check-config",
        ),
        ("fish", &["--no-config", "-c"], "source $FILE; complete -C 'plumbago check-c'"),
    ] {
        if find_program(shell).is_none() {
            note(&format!("completions for {shell}"), "this shell is not here");
            continue;
        }
        let file = directory.path().join(shell);
        fs::write(&file, run(Command::new(binary).args(["completions", shell]))).unwrap();
        let completed = run(Command::new(shell)
            .args(arguments)
            .arg(script)
            .env("FILE", &file)
            .env("HOME", directory.path()));
        assert!(completed.starts_with("check-config"), "{shell}: {completed}");
    }
}
