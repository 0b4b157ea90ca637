//! What is wrong with the items of a body, as its sender is told.

use std::fmt;

use plumbago_model::Reject;

/// A list of errors, up to a length, and how many points were refused for which reason.
#[derive(Debug)]
pub struct Faults {
    most: usize,
    errors: Vec<String>,
    unlisted: u64,
    refused: Vec<(Reject, u64)>,
}

impl Faults {
    /// Lists so many errors at most.
    pub fn new(most: usize) -> Self {
        Self { most, errors: Vec::new(), unlisted: 0, refused: Vec::new() }
    }

    /// Adds an error, for which so many points are not stored. They are counted here.
    pub fn refuse(&mut self, reason: Reject, points: u64, text: fmt::Arguments<'_>) {
        match self.refused.iter_mut().find(|(of, _)| *of == reason) {
            Some((_, count)) => *count += points,
            None => self.refused.push((reason, points)),
        }
        self.note(text);
    }

    /// Adds an error about points that are counted elsewhere.
    pub fn note(&mut self, text: fmt::Arguments<'_>) {
        if self.errors.len() < self.most {
            self.errors.push(text.to_string());
        } else {
            self.unlisted += 1;
        }
    }

    /// Is nothing wrong?
    pub fn is_empty(&self) -> bool {
        self.errors.is_empty() && self.unlisted == 0
    }

    /// Points refused here, by reason.
    pub fn refused(&self) -> &[(Reject, u64)] {
        &self.refused
    }

    /// The errors, in order.
    pub fn into_errors(self) -> Vec<String> {
        let mut errors = self.errors;
        if self.unlisted > 0 {
            errors.push(format!("and {} more errors (kairosdb.max_errors)", self.unlisted));
        }
        errors
    }
}
