//! `watch`: a graph in the terminal that goes on by itself. Into a pipe goes a line for each new point.

use std::collections::HashMap;
use std::io::{self, IsTerminal as _, Write as _};
use std::thread;
use std::time::Duration;

use anyhow::{Context as _, Result, anyhow, bail};
use jiff::tz::TimeZone;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use serde_json::json;
use tokio::runtime::Builder;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::oneshot;

use super::answer::{Series, series};
use super::remote::Server;
use super::{nothing_matches, summary};
use crate::cli::csv::quoted;
use crate::cli::look::{Look, Paint};
use crate::cli::plot::Plot;
use crate::cli::sparkline::number;
use crate::cli::{Output, UsageError, Watch, message, to_stdout};
use crate::config::Config;
use plumbago_model::parse_duration_secs;

/// Lines of a graph that can be told apart.
const SHOWN: usize = 6;
/// A graph of characters needs no more lines than this, and cannot do with fewer than the second.
const ROWS: (usize, usize) = (16, 3);
/// The size of a terminal that does not tell it.
const SIZE: (usize, usize) = (80, 24);

/// The other screen of the terminal, without a cursor, and back.
const ENTER: &str = "\x1b[?1049h\x1b[?25l";
const LEAVE: &str = "\x1b[?25h\x1b[?1049l";

/// Shows a target until Ctrl-C, SIGTERM or the end of the pipe.
pub(in crate::cli) fn watch(config: &Config, arguments: &Watch, output: Output) -> Result<()> {
    let every = parse_duration_secs(&arguments.every).ok().filter(|secs| *secs > 0);
    let every = every.ok_or_else(|| {
        UsageError(format!("--every: `{}` is not a time such as 2s or 1m", arguments.every))
    })?;
    let server = match &arguments.server.url {
        Some(url) => Server::at(url)?,
        None => Server::expected(config)?,
    };
    let tz = TimeZone::get(&config.query.timezone)?;
    let runtime = Builder::new_current_thread().enable_all().build().context("starting to wait")?;
    let question = Question { server, target: arguments.target.clone(), from: arguments.from.clone() };
    let outcome = if output == Output::Table && io::stdout().is_terminal() {
        let mut screen = Screen {
            arguments,
            tz,
            look: Look::of_stdout(),
            series: Vec::new(),
            trouble: None,
            is_open: false,
        };
        let outcome = runtime.block_on(follow(&question, every, &mut |answer| screen.show(answer)));
        outcome.and(screen.close())
    } else {
        let mut tail = Tail { output, tz, printed: HashMap::new() };
        runtime.block_on(follow(&question, every, &mut |answer| tail.print(answer)))
    };
    // A server that does not answer must not hold up the end.
    runtime.shutdown_background();
    outcome
}

/// What the server is asked, again and again.
#[derive(Clone)]
struct Question {
    server: Server,
    target: String,
    from: String,
}

impl Question {
    fn ask(&self) -> Result<Vec<Series>> {
        let params = [("target", &*self.target), ("from", &*self.from), ("format", "json"), ("noCache", "1")];
        let found = series(&self.server.get("/render", &params)?)?;
        if found.is_empty() { Err(nothing_matches(&self.target)) } else { Ok(found) }
    }
}

/// Asks until somebody stops it, and hands each answer on: the last one is `None` and draws the same again.
async fn follow(
    question: &Question,
    every: u64,
    show: &mut dyn FnMut(Option<Result<Vec<Series>>>) -> Result<()>,
) -> Result<()> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let mut resize = signal(SignalKind::window_change())?;
    let mut unread = unread()?;
    loop {
        let asked = question.clone();
        let answer = tokio::task::spawn_blocking(move || asked.ask());
        tokio::select! {
            answer = answer => show(Some(answer.map_err(|error| anyhow!(error)).flatten()))?,
            () = either(&mut interrupt, &mut terminate) => return Ok(()),
            _ = &mut unread => return Ok(()),
        }
        let pause = tokio::time::sleep(Duration::from_secs(every));
        tokio::pin!(pause);
        loop {
            tokio::select! {
                () = &mut pause => break,
                _ = resize.recv() => show(None)?,
                () = either(&mut interrupt, &mut terminate) => return Ok(()),
                _ = &mut unread => return Ok(()),
            }
        }
    }
}

async fn either(one: &mut Signal, other: &mut Signal) {
    tokio::select! {
        _ = one.recv() => {}
        _ = other.recv() => {}
    }
}

/// Tells when nobody reads what is printed any more, so that `watch … | head` ends without another point.
fn unread() -> Result<oneshot::Receiver<()>> {
    let (tell, told) = oneshot::channel();
    // It waits in the kernel, and ends with the process.
    let waiting = thread::Builder::new().name("pipe".to_owned()).spawn(move || {
        let out = io::stdout();
        // No event is asked for: an error and a closed end are told all the same, and nothing ever of a file.
        let mut polled = [PollFd::new(&out, PollFlags::empty())];
        while poll(&mut polled, None) == Err(Errno::INTR) {}
        // Nobody listens any more if the command is at its end.
        let _ = tell.send(());
    });
    waiting.context("starting to watch the pipe")?;
    Ok(told)
}

/// The graph on a terminal.
struct Screen<'a> {
    arguments: &'a Watch,
    tz: TimeZone,
    look: Look,
    series: Vec<Series>,
    /// Why the last answer is missing. The one before it stays.
    trouble: Option<String>,
    is_open: bool,
}

impl Screen<'_> {
    fn show(&mut self, answer: Option<Result<Vec<Series>>>) -> Result<()> {
        match answer {
            Some(Ok(series)) => (self.series, self.trouble) = (series, None),
            // Without any answer there is nothing to watch.
            Some(Err(error)) if self.series.is_empty() => bail!(error),
            Some(Err(error)) => self.trouble = Some(message(&error)),
            None => self.look = Look::of_stdout(),
        }
        let mut text = String::new();
        if !self.is_open {
            text.push_str(ENTER);
            self.is_open = true;
        }
        // Each line is erased behind its end, and then the rest of the screen, so that nothing flickers.
        text.push_str("\x1b[H");
        text.push_str(&self.lines(self.look.height.unwrap_or(SIZE.1)).join("\x1b[K\r\n"));
        text.push_str("\x1b[K\x1b[J");
        print(&text)
    }

    /// Goes back to where the terminal was, and leaves the last graph there.
    fn close(&self) -> Result<()> {
        if !self.is_open {
            return Ok(());
        }
        print(&format!("{LEAVE}{}\r\n", self.lines(SIZE.1).join("\r\n")))
    }

    /// The lines, of which there are at most so many.
    fn lines(&self, height: usize) -> Vec<String> {
        let width = self.look.width.unwrap_or(SIZE.0);
        let shown = self.series.get(..SHOWN).unwrap_or(&self.series);
        let Watch { target, from, every, .. } = self.arguments;
        let title = format!("{from} to now, every {every}; Ctrl-C ends it");
        let room = width.saturating_sub(title.chars().count() + 2).max(3);
        let title = format!("{}  {}", Look::fitted(target, room), self.look.paint(Paint::Faint, &title));
        let legend = shown.iter().enumerate().map(|(line, series)| self.entry(line, series, width));
        let more = self.series.len() - shown.len();
        let more = (more > 0).then(|| format!("and {more} more, which are not drawn"));
        let trouble =
            self.trouble.as_ref().map(|why| self.look.paint(Paint::Wrong, &Look::fitted(why, width)));
        let below: Vec<String> = legend.chain(more).chain(trouble).collect();
        let rows = height.saturating_sub(below.len() + 2).clamp(ROWS.1, ROWS.0);
        let values = shown.iter().flat_map(|series| series.points.iter().filter_map(|point| point.1));
        // The numbers beside the graph are seldom longer.
        let mut plot = Plot::new(width.saturating_sub(16).max(10), rows, values);
        for (line, series) in shown.iter().enumerate() {
            let values: Vec<Option<f64>> = series.points.iter().map(|point| point.1).collect();
            plot.draw(line, &values);
        }
        let mut lines = vec![title];
        lines.extend(plot.lines(self.look));
        lines.extend(below);
        lines
    }

    /// A line of the legend.
    fn entry(&self, line: usize, series: &Series, width: usize) -> String {
        let last = series.points.iter().rev().find_map(|&(time, value)| Some((time, value?)));
        let last = last.map_or_else(
            || "no value".to_owned(),
            |(at, value)| format!("{} at {}", number(value), summary::time(at, &self.tz)),
        );
        let room = width.saturating_sub(last.chars().count() + 6).max(3);
        format!("{}  {}  {last}", self.look.paint(Paint::Line(line), "──"), Look::fitted(&series.name, room))
    }
}

fn print(text: &str) -> Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    Ok(out.flush()?)
}

/// New points in a pipe: of each series first the last one, then each that follows. A slot that is still running may come again.
struct Tail {
    output: Output,
    tz: TimeZone,
    printed: HashMap<String, (i64, f64)>,
}

impl Tail {
    fn print(&mut self, answer: Option<Result<Vec<Series>>>) -> Result<()> {
        let series = match answer {
            Some(Ok(series)) => series,
            Some(Err(error)) if self.printed.is_empty() => bail!(error),
            Some(Err(error)) => {
                eprintln!("plumbago: {}", message(&error));
                return Ok(());
            }
            None => return Ok(()),
        };
        to_stdout(|out| {
            for Series { name, points } in &series {
                let seen = points.iter().filter_map(|&(time, value)| Some((time, value?)));
                let before = self.printed.get(name).copied();
                let new =
                    |point: &(i64, f64)| before.is_none_or(|before| point.0 >= before.0 && *point != before);
                let mut new: Vec<(i64, f64)> = seen.filter(new).collect();
                if before.is_none() {
                    new = new.pop().into_iter().collect();
                }
                for &(time, value) in &new {
                    match self.output {
                        Output::Json => {
                            writeln!(out, "{}", json!({ "target": name, "time": time, "value": value }))?
                        }
                        Output::Csv | Output::Table => {
                            writeln!(out, "{},{},{value}", quoted(name), summary::time(time, &self.tz))?;
                        }
                    }
                }
                if let Some(&last) = new.last() {
                    self.printed.insert(name.clone(), last);
                }
            }
            Ok(())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_graph_fits_the_screen_and_keeps_the_last_answer_when_the_server_is_away() {
        let arguments = Watch {
            target: "sumSeries(servers.*.requests-with-a-name-that-is-too-long-for-the-screen)".to_owned(),
            from: "-10min".to_owned(),
            every: "10s".to_owned(),
            server: crate::cli::Server { url: None },
        };
        let series =
            |number: usize| Series { name: format!("s{number}"), points: vec![(60, Some(1.0)), (120, None)] };
        let mut screen = Screen {
            arguments: &arguments,
            tz: TimeZone::UTC,
            look: Look { width: Some(60), ..Look::PLAIN },
            series: (0..8).map(series).collect(),
            trouble: Some("127.0.0.1:1: no server answers".to_owned()),
            is_open: false,
        };
        let lines = screen.lines(20);
        assert!(lines.len() <= 20, "{lines:#?}");
        assert!(lines.iter().all(|line| line.chars().count() <= 60), "{lines:#?}");
        assert!(lines.last().is_some_and(|line| line.contains("no server answers")), "{lines:#?}");
        assert!(lines.iter().any(|line| line == "and 2 more, which are not drawn"), "{lines:#?}");
        assert!(lines.iter().any(|line| line.ends_with("s5  1 at 1970-01-01 00:01:00")), "{lines:#?}");
        // Where there is no room at all, a graph of three lines is left.
        assert_eq!(screen.lines(1).iter().filter(|line| line.contains('│')).count(), 3);
        screen.series.clear();
        let nothing = screen.show(Some(Err(anyhow!("nothing matches `a`"))));
        assert_eq!(nothing.unwrap_err().to_string(), "nothing matches `a`");
    }
}
