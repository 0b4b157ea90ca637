//! How far long work is, on stderr: files (or metrics, or targets), points, rate and the time that is left.
//!
//! On a terminal it is one line that is written over. In a log file or a pipe it is a line every ten seconds, so that short work
//! says nothing. Workers add to a [`Tally`]; a thread of its own looks at it, so that they never wait for a terminal.

mod screen;

use std::io::{self, IsTerminal as _, Write};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

pub use screen::{Done, Form, Screen};

use crate::telemetry::Counter;

/// How often the thread looks. The screen itself decides whether anything is shown.
const LOOK: Duration = Duration::from_millis(100);

/// What is done so far, counted by all workers at once.
#[derive(Debug, Default)]
pub struct Tally {
    /// Files, or what else is counted, that are done, with those that failed.
    pub files: Counter,
    /// Points in them.
    pub points: Counter,
    /// Files that failed.
    pub failed: Counter,
}

impl Tally {
    fn done(&self) -> Done {
        Done { files: self.files.get(), points: self.points.get(), failed: self.failed.get() }
    }
}

/// Shows how far work is until it is finished or dropped.
#[derive(Debug)]
pub struct Progress<W: Write + Send + 'static = io::Stderr> {
    shared: Arc<Shared<W>>,
    watcher: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared<W> {
    tally: Tally,
    began: Instant,
    screen: Mutex<Screen<W>>,
    over: Mutex<bool>,
    ends: Condvar,
}

impl Progress {
    /// Begins to show on stderr: of how many files, if that is known; nothing at all if `quiet`.
    pub fn start(total: Option<u64>, quiet: bool) -> io::Result<Self> {
        let form = if quiet { Form::Silent } else { form_of_stderr() };
        Self::start_on(io::stderr(), form, total)
    }

    /// Begins to show on stderr how many of other things than files are done.
    pub fn counting(noun: &'static str, total: u64) -> io::Result<Self> {
        Self::show(Screen::new(io::stderr(), form_of_stderr(), Some(total)).counting(noun))
    }
}

fn form_of_stderr() -> Form {
    if io::stderr().is_terminal() { Form::Terminal } else { Form::Log }
}

impl<W: Write + Send + 'static> Progress<W> {
    /// Begins to show somewhere else.
    pub fn start_on(out: W, form: Form, total: Option<u64>) -> io::Result<Self> {
        Self::show(Screen::new(out, form, total))
    }

    fn show(screen: Screen<W>) -> io::Result<Self> {
        let shared = Arc::new(Shared {
            tally: Tally::default(),
            began: Instant::now(),
            screen: Mutex::new(screen),
            over: Mutex::new(false),
            ends: Condvar::new(),
        });
        let watched = Arc::clone(&shared);
        let watcher = thread::Builder::new().name("progress".to_owned()).spawn(move || watched.watch())?;
        Ok(Self { shared, watcher: Some(watcher) })
    }

    /// Where the workers count.
    pub fn tally(&self) -> &Tally {
        &self.shared.tally
    }

    /// Prints a message without mixing it up with the line.
    pub fn say(&self, text: &str) {
        self.shared.screen.lock().say(text);
    }

    /// Takes the line away and returns what was done, in words.
    pub fn finish(mut self) -> String {
        self.end();
        self.shared.screen.lock().summary(self.shared.began.elapsed(), self.shared.tally.done())
    }

    fn end(&mut self) {
        *self.shared.over.lock() = true;
        self.shared.ends.notify_all();
        // If the thread has panicked, nothing is shown any more and the work goes on.
        let _ = self.watcher.take().map(JoinHandle::join);
        self.shared.screen.lock().clear();
    }
}

impl<W: Write + Send + 'static> Drop for Progress<W> {
    fn drop(&mut self) {
        if self.watcher.is_some() {
            self.end();
        }
    }
}

impl<W: Write> Shared<W> {
    fn watch(&self) {
        let mut over = self.over.lock();
        while !*over {
            self.screen.lock().tick(self.began.elapsed(), self.tally.done());
            self.ends.wait_for(&mut over, LOOK);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{self, Receiver, Sender};

    use super::*;

    /// Sends what is written on to the test.
    struct Pipe(Sender<String>);

    impl Write for Pipe {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let _ = self.0.send(String::from_utf8_lossy(bytes).into_owned());
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn start(form: Form, total: Option<u64>) -> (Progress<Pipe>, Receiver<String>) {
        let (sender, receiver) = mpsc::channel();
        (Progress::start_on(Pipe(sender), form, total).unwrap(), receiver)
    }

    #[test]
    fn workers_count_and_the_line_follows() {
        let (progress, shown) = start(Form::Terminal, Some(8));
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    progress.tally().points.add(1000);
                    progress.tally().files.add(2);
                });
            }
        });
        // The line is shown again and again until it is finished: this waits for one that has all of it.
        assert!(shown.iter().any(|text| text.contains("100 %") && text.contains("4.0k points")));
        let summary = progress.finish();
        assert!(summary.starts_with("8 files, 4000 points in "), "{summary}");
        assert_eq!(shown.iter().last().unwrap(), screen::ERASE, "the line is taken away");
    }

    #[test]
    fn messages_come_on_lines_of_their_own() {
        let (progress, shown) = start(Form::Terminal, None);
        assert!(shown.recv().unwrap().contains("0 files"));
        progress.say("a.wsp: the file is empty");
        drop(progress);
        let all: String = shown.iter().collect();
        assert!(all.contains(&format!("{}a.wsp: the file is empty\n", screen::ERASE)), "{all:?}");
    }

    #[test]
    fn a_silent_one_shows_messages_only() {
        let (progress, shown) = start(Form::Silent, Some(1));
        progress.tally().files.add(1);
        progress.say("something is wrong");
        assert!(progress.finish().starts_with("1 file, 0 points in"));
        assert_eq!(shown.iter().collect::<Vec<_>>(), ["something is wrong\n"]);
    }
}
