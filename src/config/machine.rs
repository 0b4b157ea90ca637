//! The memory and the cores of this machine, from which limits follow.

use std::fs;
use std::num::NonZero;

/// What a machine is taken to have that does not say.
const UNKNOWN: u64 = 4 << 30;

/// Renders that run at once for each core, if they compute and wait for nobody.
const RENDERS_A_CORE: usize = 4;

/// The same on a machine with few cores.
const FEWEST_RENDERS: usize = 8;

/// Where a container finds its limit, by the two generations of control groups.
const CONTAINER: [&str; 2] = ["/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"];

/// Bytes that are so many percent of the memory that this process can have: the machine's, or its container's.
pub(super) fn share(percent: u64) -> u64 {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let machine = total(&read("/proc/meminfo")).unwrap_or(UNKNOWN);
    // Without a limit the file holds `max`, or a number beyond every machine.
    let container = CONTAINER.iter().filter_map(|path| read(path).trim().parse().ok());
    container.fold(machine, u64::min) / 100 * percent
}

/// How many queries that compute are worth running at once. Each of them has memory, and more of them are no faster.
pub(super) fn renders() -> usize {
    let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
    (cores * RENDERS_A_CORE).max(FEWEST_RENDERS)
}

fn total(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    line.split_whitespace().next()?.parse::<u64>().ok()?.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_read_as_the_kernel_writes_it() {
        assert_eq!(total("MemFree: 5 kB\nMemTotal:       2048 kB\n"), Some(2 << 20));
        assert_eq!(total(""), None);
        assert!(share(100) > share(25) && share(25) > 0);
    }
}
