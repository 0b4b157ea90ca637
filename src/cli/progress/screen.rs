//! What is printed about the progress, and when. It has no clock of its own: the time since the start comes in.

use plumbago_model::count;
use std::io::Write;
use std::time::Duration;

/// Goes to the start of the line and erases it.
pub(super) const ERASE: &str = "\r\x1b[K";

/// A bar that is drawn more often than this flickers.
const TERMINAL_INTERVAL: Duration = Duration::from_millis(200);
/// A log has room for this many lines.
const LOG_INTERVAL: Duration = Duration::from_secs(10);
/// Characters of the bar.
const BAR: u64 = 6;
/// Characters of the line with the bar. In a terminal that is narrower than a line, the line cannot be written over.
const WIDTH: usize = 79;
/// Rates are of about so many seconds: long enough to be steady, short enough to follow.
const MEMORY_SECS: f64 = 10.0;

/// For whom it is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// One line that is written over.
    Terminal,
    /// A line now and then.
    Log,
    /// Nothing but messages.
    Silent,
}

/// What is done so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Done {
    /// Files, with those that failed.
    pub files: u64,
    /// Points in them.
    pub points: u64,
    /// Files that failed.
    pub failed: u64,
}

/// Where the progress is printed.
#[derive(Debug)]
pub struct Screen<W> {
    out: W,
    form: Form,
    total: Option<u64>,
    noun: &'static str,
    shown: Option<Duration>,
    rates: Rates,
}

impl<W: Write> Screen<W> {
    /// Nothing is printed yet. `total` is the number of files, if it is known.
    pub fn new(out: W, form: Form, total: Option<u64>) -> Self {
        Self { out, form, total, noun: "file", shown: None, rates: Rates::default() }
    }

    /// Counts other things than files: `noun` is one of them.
    #[must_use]
    pub fn counting(self, noun: &'static str) -> Self {
        Self { noun, ..self }
    }

    /// Prints how far it is, if it is time to.
    pub fn tick(&mut self, elapsed: Duration, done: Done) {
        self.rates.update(elapsed, done);
        let since = elapsed.saturating_sub(self.shown.unwrap_or_default());
        let text = match self.form {
            Form::Terminal if self.shown.is_none() || since >= TERMINAL_INTERVAL => {
                format!("{ERASE}{}", self.bar(done))
            }
            Form::Log if since >= LOG_INTERVAL => format!("{}\n", self.line(done)),
            _ => return,
        };
        self.shown = Some(elapsed);
        self.print(&text);
    }

    /// Prints a message. The line is shown again by the next tick.
    pub fn say(&mut self, text: &str) {
        self.clear();
        self.print(&format!("{text}\n"));
    }

    /// Takes the line away.
    pub fn clear(&mut self) {
        if self.form == Form::Terminal && self.shown.take().is_some() {
            self.print(ERASE);
        }
    }

    /// What was done in all, in words.
    pub fn summary(&self, elapsed: Duration, done: Done) -> String {
        let (files, points) = (count(done.files, self.noun), count(done.points, "point"));
        let rate = done.points as f64 / elapsed.as_secs_f64().max(1e-3);
        let mut text = format!("{files}, {points} in {} ({} points/s)", time(elapsed), short(rate as u64));
        if done.failed > 0 {
            text.push_str(&format!(", {} failed", done.failed));
        }
        text
    }

    /// `[##----]  42 %  420k/1.0M files  29.1M points  3.1M/s  2m10s left`
    fn bar(&self, done: Done) -> String {
        let mut text = match self.total {
            Some(total) => {
                let full = (done.files.min(total) * BAR).checked_div(total).unwrap_or(BAR);
                let bar = "#".repeat(full as usize) + &"-".repeat((BAR - full) as usize);
                let (files, total) = (short(done.files), short(total));
                format!("[{bar}] {:3} %  {files}/{total} {}s", self.percent(done), self.noun)
            }
            None => format!("{} {}s", short(done.files), self.noun),
        };
        text.push_str(&format!("  {} points  {}/s", short(done.points), short(self.rates.points as u64)));
        if let Some(left) = self.left(done) {
            text.push_str(&format!("  {} left", time(left)));
        }
        if done.failed > 0 {
            text.push_str(&format!("  {} failed", short(done.failed)));
        }
        // All of it is ASCII. Only numbers that nobody has are so long.
        text.truncate(WIDTH);
        text
    }

    /// `420000 of 1000000 files (42 %), 29.1M points, 3.1M points/s, 2m10s left`
    fn line(&self, done: Done) -> String {
        let mut text = match self.total {
            Some(total) => {
                format!("{} of {total} {}s ({} %)", done.files, self.noun, self.percent(done))
            }
            None => format!("{} {}s", done.files, self.noun),
        };
        text.push_str(&format!(
            ", {} points, {} points/s",
            short(done.points),
            short(self.rates.points as u64)
        ));
        if let Some(left) = self.left(done) {
            text.push_str(&format!(", {} left", time(left)));
        }
        if done.failed > 0 {
            text.push_str(&format!(", {} failed", done.failed));
        }
        text
    }

    fn percent(&self, done: Done) -> u64 {
        let total = self.total.unwrap_or(0);
        (done.files.min(total) * 100).checked_div(total).unwrap_or(100)
    }

    /// How long the rest takes, if that can be told.
    fn left(&self, done: Done) -> Option<Duration> {
        let rest = self.total?.saturating_sub(done.files);
        let seconds = rest as f64 / self.rates.files;
        (self.rates.files > 0.0 && seconds < 1e9).then(|| Duration::from_secs_f64(seconds))
    }

    fn print(&mut self, text: &str) {
        // Talk: if nobody listens the work goes on.
        let _ = self.out.write_all(text.as_bytes()).and_then(|()| self.out.flush());
    }
}

/// How much is done in a second at present.
#[derive(Debug, Default)]
struct Rates {
    files: f64,
    points: f64,
    /// When they were last computed, and what was done then.
    at: Duration,
    done: Done,
}

impl Rates {
    /// Once a second a new measurement takes its share, so that old ones fade away.
    fn update(&mut self, elapsed: Duration, done: Done) {
        let seconds = elapsed.saturating_sub(self.at).as_secs_f64();
        if seconds < 1.0 {
            return;
        }
        let share = if self.at.is_zero() { 1.0 } else { 1.0 - (-seconds / MEMORY_SECS).exp() };
        let rate = |now: u64, before: u64| now.saturating_sub(before) as f64 / seconds;
        self.files += share * (rate(done.files, self.done.files) - self.files);
        self.points += share * (rate(done.points, self.done.points) - self.points);
        self.at = elapsed;
        self.done = done;
    }
}

/// Four digits at most: `999`, `12.3k`, `456k`, `7.8M`.
fn short(number: u64) -> String {
    let mut value = number as f64;
    for unit in ["", "k", "M", "G", "T"] {
        if value < 999.5 {
            return if unit.is_empty() || value >= 99.95 {
                format!("{value:.0}{unit}")
            } else {
                format!("{value:.1}{unit}")
            };
        }
        value /= 1000.0;
    }
    format!("{value:.0}P")
}

/// `45s`, `2m10s`, `3h05m`, `2d04h`.
fn time(duration: Duration) -> String {
    let seconds = duration.as_secs();
    match seconds {
        0..60 => format!("{seconds}s"),
        60..3600 => format!("{}m{:02}s", seconds / 60, seconds % 60),
        3600..86_400 => format!("{}h{:02}m", seconds / 3600, seconds / 60 % 60),
        _ => format!("{}d{:02}h", seconds / 86_400, seconds / 3600 % 24),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secs(seconds: f64) -> Duration {
        Duration::from_secs_f64(seconds)
    }

    fn done(files: u64, points: u64) -> Done {
        Done { files, points, failed: 0 }
    }

    /// What is printed between two calls.
    fn printed(screen: &mut Screen<Vec<u8>>) -> String {
        String::from_utf8(std::mem::take(&mut screen.out)).unwrap()
    }

    #[test]
    fn a_terminal_has_a_bar_with_rate_and_time_left() {
        let mut screen = Screen::new(Vec::new(), Form::Terminal, Some(1_000_000));
        screen.tick(secs(0.0), done(0, 0));
        assert_eq!(printed(&mut screen), "\r\x1b[K[------]   0 %  0/1.0M files  0 points  0/s");
        screen.tick(secs(100.0), done(420_000, 29_100_000));
        let wanted = "\r\x1b[K[##----]  42 %  420k/1.0M files  29.1M points  291k/s  2m18s left";
        assert_eq!(printed(&mut screen), wanted);
        screen.tick(secs(100.1), done(430_000, 29_200_000));
        assert_eq!(printed(&mut screen), "", "not so soon");
        screen.tick(secs(240.0), Done { files: 1_000_000, points: 69_000_000, failed: 12 });
        let text = printed(&mut screen);
        assert!(
            text.contains("[######] 100 %  1.0M/1.0M files") && text.ends_with("0s left  12 failed"),
            "{text}"
        );
        screen.clear();
        assert_eq!(printed(&mut screen), ERASE);
        screen.clear();
        assert_eq!(printed(&mut screen), "", "nothing is left to take away");
    }

    #[test]
    fn the_longest_bar_fits_into_a_narrow_terminal() {
        let mut screen = Screen::new(Vec::new(), Form::Terminal, Some(99_900_000_000));
        let most = Done { files: 99_800_000_000, points: 99_900_000_000, failed: 99_900 };
        screen.tick(secs(1e6), most);
        let width = printed(&mut screen).trim_start_matches(ERASE).chars().count();
        assert_eq!(width, WIDTH);
        let usual = Done { files: 123_456, points: 123_456_789, failed: 12 };
        let mut screen = Screen::new(Vec::new(), Form::Terminal, Some(10_000_000));
        screen.tick(secs(50_000.0), usual);
        assert!(printed(&mut screen).ends_with(" left  12 failed"));
    }

    #[test]
    fn a_log_has_a_line_every_ten_seconds() {
        let mut screen = Screen::new(Vec::new(), Form::Log, Some(200));
        (0..100u32).for_each(|tick| screen.tick(secs(f64::from(tick) / 10.0), done(tick.into(), 0)));
        assert_eq!(printed(&mut screen), "", "short work says nothing");
        screen.tick(secs(10.0), done(100, 12_345));
        let text = printed(&mut screen);
        assert!(text.starts_with("100 of 200 files (50 %), 12.3k points, "), "{text}");
        assert!(text.ends_with("s left\n") && !text.contains('\x1b'), "{text}");
        screen.tick(secs(19.9), done(150, 20_000));
        assert_eq!(printed(&mut screen), "");
        screen.tick(secs(20.0), Done { files: 160, points: 21_000, failed: 3 });
        let text = printed(&mut screen);
        assert!(text.starts_with("160 of 200 files (80 %)") && text.ends_with(", 3 failed\n"), "{text}");
        screen.clear();
        assert_eq!(printed(&mut screen), "", "a log is never erased");
    }

    #[test]
    fn without_a_total_nothing_is_promised() {
        let mut screen = Screen::new(Vec::new(), Form::Terminal, None);
        screen.tick(secs(2.0), done(10, 2000));
        assert_eq!(printed(&mut screen), "\r\x1b[K10 files  2.0k points  1.0k/s");
        let mut screen = Screen::new(Vec::new(), Form::Log, None);
        screen.tick(secs(10.0), done(10, 2000));
        assert_eq!(printed(&mut screen), "10 files, 2.0k points, 200 points/s\n");
    }

    #[test]
    fn things_that_are_no_files_have_their_own_noun() {
        let mut screen = Screen::new(Vec::new(), Form::Log, Some(20)).counting("target");
        screen.tick(secs(10.0), done(10, 2000));
        let text = printed(&mut screen);
        assert!(text.starts_with("10 of 20 targets (50 %), 2.0k points"), "{text}");
        assert!(screen.summary(secs(2.0), done(1, 2000)).starts_with("1 target, 2000 points"));
        let mut screen = Screen::new(Vec::new(), Form::Terminal, Some(20)).counting("metric");
        screen.tick(secs(10.0), done(10, 2000));
        assert!(printed(&mut screen).contains("10/20 metrics  "));
    }

    #[test]
    fn the_rate_follows_the_present() {
        let mut screen = Screen::new(Vec::new(), Form::Silent, Some(100_000));
        (1..=60)
            .for_each(|second: u32| screen.tick(secs(f64::from(second)), done(u64::from(second) * 100, 0)));
        assert_eq!(screen.rates.files.round(), 100.0);
        (61..=120).for_each(|second: u32| {
            screen.tick(secs(f64::from(second)), done(6000 + u64::from(second - 60) * 10, 0));
        });
        assert!((10.0..11.0).contains(&screen.rates.files), "{}", screen.rates.files);
        assert!(screen.left(done(6600, 0)).unwrap() > secs(8000.0));
        assert_eq!(printed(&mut screen), "");
    }

    #[test]
    fn work_that_stands_still_has_no_end() {
        let mut screen = Screen::new(Vec::new(), Form::Log, Some(5));
        screen.tick(secs(10.0), done(0, 0));
        assert_eq!(printed(&mut screen), "0 of 5 files (0 %), 0 points, 0 points/s\n");
        let mut empty = Screen::new(Vec::new(), Form::Log, Some(0));
        empty.tick(secs(10.0), done(0, 0));
        assert!(printed(&mut empty).starts_with("0 of 0 files (100 %)"));
    }

    #[test]
    fn messages_stand_alone() {
        let mut screen = Screen::new(Vec::new(), Form::Terminal, None);
        screen.say("first");
        screen.tick(secs(0.0), done(1, 1));
        printed(&mut screen);
        screen.say("second");
        screen.tick(secs(0.1), done(1, 1));
        assert_eq!(printed(&mut screen), "\r\x1b[Ksecond\n\r\x1b[K1 files  1 points  0/s");
    }

    #[test]
    fn numbers_and_times_are_short() {
        let numbers =
            [0, 999, 1000, 12_345, 99_949, 99_950, 456_789, 999_499, 999_500, 7_800_000, 3_000_000_000];
        let shown = ["0", "999", "1.0k", "12.3k", "99.9k", "100k", "457k", "999k", "1.0M", "7.8M", "3.0G"];
        assert_eq!(numbers.map(short), shown);
        let times = [0.4, 59.0, 60.0, 130.0, 3599.0, 3600.0, 90_000.0].map(|seconds| time(secs(seconds)));
        assert_eq!(times, ["0s", "59s", "1m00s", "2m10s", "59m59s", "1h00m", "1d01h"]);
    }

    #[test]
    fn the_summary_has_all_digits() {
        let screen = Screen::new(Vec::new(), Form::Silent, None);
        assert_eq!(screen.summary(secs(2.0), done(1, 2000)), "1 file, 2000 points in 2s (1.0k points/s)");
        let failed = Done { files: 12, points: 6_000_000, failed: 2 };
        assert_eq!(
            screen.summary(secs(2.0), failed),
            "12 files, 6000000 points in 2s (3.0M points/s), 2 failed"
        );
    }
}
