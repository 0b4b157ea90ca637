//! Evaluates a target over a CSV file and prints a table: one line a time, one column a series.
//!
//!     cargo run --example csv -- 'movingAverage(web.load,5)' points.csv
//!
//! The lines of the file (or of standard input, without a file) are `name,time,value` with the time in epoch seconds. The
//! step of a series is the shortest distance between two of its points.

use std::collections::BTreeMap;
use std::error::Error;
use std::io::Read;

use graphite_render::{Cancel, MemorySource, Request, Series, render};

/// Points by name and time.
type Points = BTreeMap<String, BTreeMap<i64, f64>>;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let target = arguments.next().ok_or("usage: csv TARGET [FILE]")?;
    let text = match arguments.next() {
        Some(file) => std::fs::read_to_string(&file).map_err(|e| format!("{file}: {e}"))?,
        None => {
            let mut text = String::new();
            std::io::stdin().read_to_string(&mut text)?;
            text
        }
    };
    let points = read(&text)?;
    let times = || points.values().flat_map(BTreeMap::keys).copied();
    let (Some(first), Some(last)) = (times().min(), times().max()) else {
        return Err("there are no points; write lines such as web.load,60,1.5".into());
    };

    let mut source = MemorySource::new();
    for (name, series) in &points {
        let (start, step, values) = evenly(series);
        source.insert(name, start, step, values);
    }
    // The window leaves its first second out, so it begins one second early.
    let request = Request::new(first - 1, last, last);
    print!("{}", table(&render(&[target], &request, &source, &Cancel::never())?));
    Ok(())
}

fn read(text: &str) -> Result<Points, String> {
    let mut points = Points::new();
    for (number, line) in (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty()) {
        let wrong = || format!("line {number}: expected name,time,value, found `{line}`");
        // From the right: names may hold commas.
        let (rest, value) = line.rsplit_once(',').ok_or_else(wrong)?;
        let (name, time) = rest.rsplit_once(',').ok_or_else(wrong)?;
        let time: i64 = time.trim().parse().map_err(|_| wrong())?;
        let value: f64 = value.trim().parse().map_err(|_| wrong())?;
        points.entry(name.trim().to_owned()).or_default().insert(time, value);
    }
    Ok(points)
}

/// First time, step and values, with NaN where there is no point.
fn evenly(points: &BTreeMap<i64, f64>) -> (i64, i64, Vec<f64>) {
    let times: Vec<i64> = points.keys().copied().collect();
    let step = times.windows(2).map(|pair| pair[1] - pair[0]).min().unwrap_or(60);
    let slot = |time: i64| time.div_euclid(step);
    let (Some(first), Some(last)) = (times.first(), times.last()) else { return (0, step, Vec::new()) };
    let mut values = vec![f64::NAN; (slot(*last) - slot(*first) + 1) as usize];
    for (time, value) in points {
        values[(slot(*time) - slot(*first)) as usize] = *value;
    }
    (slot(*first) * step, step, values)
}

/// Times down, series across. Series may have different steps; a series has nothing to say between its own.
fn table(all: &[Series]) -> String {
    let mut rows: BTreeMap<i64, Vec<String>> = BTreeMap::new();
    for (column, series) in all.iter().enumerate() {
        for (i, value) in (0_i64..).zip(series.values.iter()) {
            let row =
                rows.entry(series.start + i * series.step).or_insert_with(|| vec![String::new(); all.len()]);
            row[column] = if value.is_nan() { "-".to_owned() } else { value.to_string() };
        }
    }
    let width = |column: usize| {
        let cells = rows.values().map(|row| row[column].chars().count());
        cells.chain([all[column].name.chars().count()]).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..all.len()).map(width).collect();
    let line = |time: String, cells: Vec<&str>| {
        let cells = cells.iter().zip(&widths).map(|(cell, width)| format!("  {cell:>width$}"));
        format!("{time:>11}{}\n", cells.collect::<String>())
    };
    let mut out = line("time".to_owned(), all.iter().map(|series| &*series.name).collect());
    for (time, row) in &rows {
        out.push_str(&line(time.to_string(), row.iter().map(String::as_str).collect()));
    }
    out
}
