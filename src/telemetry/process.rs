//! This process as the system sees it: memory, CPU, threads, files. It is read from `/proc`, and empty where there is none.

use std::fs;

use super::text::Text;

/// `/proc` counts time in these on every Linux that Rust runs on.
const TICKS_PER_SECOND: f64 = 100.0;

/// What `/proc` says of this process. A value that cannot be read is `None`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Process {
    /// Bytes of memory in use.
    pub resident_bytes: Option<f64>,
    /// Bytes of address space, most of which was never touched.
    pub virtual_bytes: Option<f64>,
    /// Open files and sockets.
    pub open_files: Option<f64>,
    /// How many of these there may be.
    pub max_files: Option<f64>,
    /// Threads.
    pub threads: Option<f64>,
    /// CPU seconds used since the start.
    pub cpu_seconds: Option<f64>,
    /// When the process started, in seconds since 1970.
    pub started: Option<f64>,
}

/// Kind, name, help and value of each sample. These names are the same for every program that Prometheus watches.
type Row = (&'static str, &'static str, &'static str, fn(&Process) -> Option<f64>);

const ROWS: [Row; 7] = [
    ("gauge", "process_resident_memory_bytes", "Bytes of memory in use.", |p| p.resident_bytes),
    ("gauge", "process_virtual_memory_bytes", "Bytes of address space.", |p| p.virtual_bytes),
    ("gauge", "process_open_fds", "Open files and sockets.", |p| p.open_files),
    ("gauge", "process_max_fds", "How many files and sockets may be open.", |p| p.max_files),
    ("gauge", "process_threads", "Threads.", |p| p.threads),
    ("counter", "process_cpu_seconds_total", "CPU seconds used.", |p| p.cpu_seconds),
    ("gauge", "process_start_time_seconds", "Start of the process, in seconds since 1970.", |p| p.started),
];

impl Process {
    /// Looks now.
    pub fn read() -> Self {
        let read = |file: &str| fs::read_to_string(format!("/proc/{file}")).unwrap_or_default();
        let mut process = Self { max_files: max_files(&read("self/limits")), ..Self::default() };
        process.read_status(&read("self/status"));
        process.read_stat(&read("self/stat"), boot_time(&read("stat")));
        process.open_files = open_files();
        process
    }

    fn read_status(&mut self, status: &str) {
        let number = |key: &str| -> Option<f64> {
            let line = status.lines().find_map(|line| line.strip_prefix(key))?;
            line.split_whitespace().next()?.parse().ok()
        };
        let bytes = |key: &str| number(key).map(|kib| kib * 1024.0);
        self.resident_bytes = bytes("VmRSS:");
        self.virtual_bytes = bytes("VmSize:");
        self.threads = number("Threads:");
    }

    /// `boot` is when the machine started: the kernel counts from there.
    fn read_stat(&mut self, stat: &str, boot: Option<f64>) {
        // The name of the program may hold anything; what follows its last bracket does not.
        let Some((_, fields)) = stat.rsplit_once(')') else { return };
        let fields: Vec<&str> = fields.split_whitespace().collect();
        let seconds = |at: usize| Some(fields.get(at)?.parse::<f64>().ok()? / TICKS_PER_SECOND);
        self.cpu_seconds = seconds(11).zip(seconds(12)).map(|(user, system)| user + system);
        self.started = seconds(19).zip(boot).map(|(after_boot, boot)| boot + after_boot);
    }

    pub(super) fn write(&self, text: &mut Text) {
        for (kind, name, help, value) in ROWS {
            if let Some(value) = value(self) {
                text.single(kind, name, help, value);
            }
        }
    }
}

/// The limit in force, not the one to which it may be raised.
fn max_files(limits: &str) -> Option<f64> {
    let line = limits.lines().find_map(|line| line.strip_prefix("Max open files"))?;
    line.split_whitespace().next()?.parse().ok()
}

/// When the machine started, in seconds since 1970.
fn boot_time(stat: &str) -> Option<f64> {
    stat.lines().find_map(|line| line.strip_prefix("btime "))?.trim().parse().ok()
}

/// Since Linux 6.2 the directory says how many there are; before, they must be counted, which takes milliseconds if there are thousands.
fn open_files() -> Option<f64> {
    const FILES: &str = "/proc/self/fd";
    match fs::metadata(FILES).ok()?.len() {
        // One is the directory that is being read.
        0 => Some(fs::read_dir(FILES).ok()?.count().saturating_sub(1) as f64),
        files => Some(files as f64),
    }
}

#[cfg(test)]
mod tests {
    use std::time::{SystemTime, UNIX_EPOCH};

    use super::*;

    #[test]
    fn this_process_can_be_looked_at() {
        let process = Process::read();
        assert!(process.resident_bytes.is_some_and(|bytes| bytes > 1e6), "{process:?}");
        assert!(process.virtual_bytes >= process.resident_bytes, "{process:?}");
        assert!(process.open_files.is_some_and(|files| files >= 3.0), "{process:?}");
        assert!(process.max_files.is_none_or(|most| most >= process.open_files.unwrap()), "{process:?}");
        assert!(process.threads.is_some_and(|threads| threads >= 1.0), "{process:?}");
        assert!(process.cpu_seconds.is_some_and(|seconds| seconds >= 0.0), "{process:?}");
        let age =
            SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs_f64() - process.started.unwrap();
        // The kernel gives the start of the machine in whole seconds.
        assert!((-2.0..86_400.0).contains(&age), "{process:?}");
    }

    #[test]
    fn proc_is_read_as_the_kernel_writes_it() {
        let mut process = Process::default();
        process.read_status("Name:\ta b\nVmSize:\t  2048 kB\nVmRSS:\t    1024 kB\nThreads:\t7\n");
        let stat = "42 (a) b (c)) S 1 42 42 0 -1 4194560 3412 0 0 0 150 50 0 0 20 0 7 0 6000 2097152 256";
        process.read_stat(stat, boot_time("cpu 1 2\nbtime 1000000\nprocesses 9\n"));
        process.max_files =
            max_files("Limit  Soft  Hard\nMax open files            1024                 524288\n");
        let expected = Process {
            resident_bytes: Some(1_048_576.0),
            virtual_bytes: Some(2_097_152.0),
            open_files: None,
            max_files: Some(1024.0),
            threads: Some(7.0),
            cpu_seconds: Some(2.0),
            started: Some(1_000_060.0),
        };
        assert_eq!(process, expected);
        assert_eq!(max_files("Max open files            unlimited            unlimited\n"), None);
    }

    #[test]
    fn without_proc_there_are_no_samples() {
        let mut process = Process::default();
        process.read_status("");
        process.read_stat("", boot_time(""));
        assert_eq!(process, Process::default());
        let mut text = Text::new();
        process.write(&mut text);
        assert_eq!(text.finish(), "");
    }
}
