//! Measures single parts of the server, to tune them: `cargo bench --bench parts -- index`, `tags`, `codec` or
//! `whisper`. The benchmark
//! `load` measures what a user sees.

#![allow(missing_docs, clippy::unwrap_used)]

mod codec;
mod index;
mod tags;
mod whisper;

fn main() {
    let parts: [(&str, fn()); 4] =
        [("codec", codec::run), ("index", index::run), ("tags", tags::run), ("whisper", whisper::run)];
    let asked: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with('-')).collect();
    for (name, run) in parts {
        if asked.is_empty() || asked.iter().any(|a| a == name) {
            println!("== {name}");
            run();
        }
    }
}
