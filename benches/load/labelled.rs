//! Points of tagged series as three kinds of clients write them: carbon's lines, those of telnet, and KairosDB's JSON.
//!
//! As in [`super::workload`], a text is made once, and a round only overwrites digits.

use super::tagged;
use super::workload::{Noise, STAMP, put_decimal};

/// How points are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// `name;tag=value 12.34 1700000000`
    Carbon,
    /// `put name 1700000000 12.34 tag=value`
    Telnet,
    /// `{"name":"name","timestamp":1700000000000,"value":12.34,"tags":{"tag":"value"}}` in lists.
    Json,
}

/// Text that stands for the digits of a time and of a value.
const DIGITS: (&str, &str) = ("0000000000", "00.00");

/// All points of one connection, in pieces that are sent one by one.
#[derive(Debug)]
pub(crate) struct Texts {
    text: Vec<u8>,
    /// Where the time and the value of each point begin.
    places: Vec<(usize, usize)>,
    /// Where each piece ends, and with which point.
    ends: Vec<(usize, usize)>,
    noise: Noise,
}

impl Texts {
    /// The first `series` series of hosts from number `first` on, in pieces of so many points.
    pub(crate) fn new(form: Form, first: usize, series: usize, together: usize) -> Self {
        let noise = Noise::new(first as u64 + 1);
        let mut texts = Self { text: Vec::new(), places: Vec::new(), ends: Vec::new(), noise };
        let names: Vec<String> = (first..).flat_map(tagged::names).take(series).collect();
        for piece in names.chunks(together) {
            for (nth, name) in piece.iter().enumerate() {
                texts.push(form, name, nth == 0);
            }
            if form == Form::Json {
                texts.text.push(b']');
            }
            texts.ends.push((texts.text.len(), texts.places.len()));
        }
        texts
    }

    /// Points of a round.
    pub(crate) fn len(&self) -> usize {
        self.places.len()
    }

    fn push(&mut self, form: Form, name: &str, is_first: bool) {
        let (stamp, value) = DIGITS;
        let (metric, tags) = name.split_once(';').unwrap_or((name, ""));
        let line = match form {
            Form::Carbon => format!("{name} {value} {stamp}\n"),
            Form::Telnet => format!("put {metric} {stamp} {value} {}\n", tags.replace(';', " ")),
            Form::Json => {
                let tags = tags.replace('=', "\":\"").replace(';', "\",\"");
                let start = if is_first { '[' } else { ',' };
                format!(
                    "{start}{{\"name\":\"{metric}\",\"timestamp\":{stamp}000,\"value\":{value},\"tags\":{{\"{tags}\"}}}}"
                )
            }
        };
        let at = |digits: &str| self.text.len() + line.find(digits).expect("the digits are in the line");
        self.places.push((at(stamp), at(value)));
        self.text.extend_from_slice(line.as_bytes());
    }

    /// Writes one round with the time `stamp`, piece by piece through `write`.
    pub(crate) fn round<E>(
        &mut self,
        stamp: u64,
        mut write: impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut digits = [0; STAMP];
        put_decimal(&mut digits, stamp);
        let (mut from, mut point) = (0, 0);
        for &(end, last) in &self.ends {
            for &(time, value) in &self.places[point..last] {
                self.text[time..time + STAMP].copy_from_slice(&digits);
                // From 10.00 on: JSON has no number that begins with a zero.
                let hundredths = u64::from(1000 + self.noise.below(8000));
                put_decimal(&mut self.text[value..value + 2], hundredths / 100);
                put_decimal(&mut self.text[value + 3..value + 5], hundredths % 100);
            }
            write(&self.text[from..end])?;
            (from, point) = (end, last);
        }
        Ok(())
    }
}
