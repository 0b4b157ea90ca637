//! Reads single options of a request.

use super::colour::Colour;
use super::options::MAX_SIDE;
use super::ticks::{Top, Wish};

/// Reads through `get`, which knows the parameters of the request. All errors are texts for the client.
pub(super) struct Reader<'r, 'p> {
    pub(super) get: &'r dyn Fn(&str) -> Option<&'p str>,
}

impl<'p> Reader<'_, 'p> {
    /// A text that is not empty.
    pub(super) fn text(&self, name: &str) -> Option<&'p str> {
        (self.get)(name).map(str::trim).filter(|text| !text.is_empty())
    }

    /// Yes or no.
    pub(super) fn switch(&self, name: &str) -> bool {
        self.switched(name).unwrap_or(false)
    }

    /// Yes or no, if it is said.
    pub(super) fn switched(&self, name: &str) -> Option<bool> {
        self.text(name).map(is_true)
    }

    /// A number. Dashboards send parameters that are empty for those that are not set.
    pub(super) fn number(&self, name: &str) -> Result<Option<f64>, String> {
        let Some(text) = self.text(name) else { return Ok(None) };
        // Graphite's own page writes infinity in many ways; none of them is an end of an axis.
        match text.parse::<f64>() {
            Ok(number) => Ok(Some(number).filter(|number| number.is_finite())),
            Err(_) => Err(format!("parameter `{name}` must be a number, not `{text}`")),
        }
    }

    /// The number of the first of these names that is given.
    pub(super) fn first_number(&self, names: &[&str]) -> Result<Option<f64>, String> {
        names.iter().find_map(|name| self.number(name).transpose()).transpose()
    }

    /// One of some words.
    pub(super) fn choice<T: Copy>(&self, name: &str, words: &[(&str, T)], default: T) -> Result<T, String> {
        let Some(text) = self.text(name) else { return Ok(default) };
        let found = words.iter().find(|(word, _)| word.eq_ignore_ascii_case(text));
        let all = || words.iter().map(|(word, _)| *word).collect::<Vec<_>>().join(", ");
        let wrong = || format!("parameter `{name}`: `{text}` does not exist; use one of {}", all());
        found.map(|(_, value)| *value).ok_or_else(wrong)
    }

    /// Pixels of an edge.
    pub(super) fn side(&self, name: &str, default: u32) -> Result<u32, String> {
        match self.number(name)? {
            None => Ok(default),
            Some(side) if (1.0..=f64::from(MAX_SIDE)).contains(&side) => Ok(side as u32),
            Some(side) => Err(format!("parameter `{name}` must be between 1 and {MAX_SIDE}, not {side}")),
        }
    }

    /// A colour.
    pub(super) fn colour(&self, name: &str) -> Result<Option<Colour>, String> {
        self.text(name).map(|text| colour(name, text)).transpose()
    }

    /// Colours between commas.
    pub(super) fn colours(&self, name: &str) -> Result<Option<Vec<Colour>>, String> {
        let list = |text: &str| text.split(',').map(|one| colour(name, one)).collect();
        self.text(name).map(list).transpose()
    }

    /// The options of one axis of values; those without a side mean the left one, and the only one.
    pub(super) fn axis(&self, side: &str, plain: bool) -> Result<Wish, String> {
        let of = |name: &str, other: &[&str]| -> Result<Option<f64>, String> {
            match self.number(&format!("{name}{side}"))? {
                None if plain => self.first_number(other),
                found => Ok(found),
            }
        };
        let is_max = |name: &str| self.text(name).is_some_and(|text| text.eq_ignore_ascii_case("max"));
        let highest = format!("yMax{side}");
        let max = if is_max(&highest) || (plain && is_max("yMax")) {
            Top::Value
        } else {
            of("yMax", &["yMax", "max"])?.map_or(Top::Line, Top::At)
        };
        Ok(Wish {
            min: of("yMin", &["yMin", "min"])?,
            max,
            limit: of("yLimit", &["yLimit"])?,
            step: of("yStep", &["yStep"])?,
            divisors: self.divisors()?,
            log_base: match self.text("logBase") {
                Some("e") => Some(std::f64::consts::E),
                _ => self.number("logBase")?,
            },
        })
    }

    fn divisors(&self) -> Result<Vec<f64>, String> {
        let Some(list) = self.text("yDivisors") else { return Ok(Vec::new()) };
        let one = |text: &str| match text.trim().parse::<u32>() {
            Ok(parts @ 1..=1000) => Ok(f64::from(parts)),
            _ => Err(format!("parameter `yDivisors`: `{text}` must be a whole number from 1 to 1000")),
        };
        list.split(',').map(one).collect()
    }
}

fn colour(name: &str, text: &str) -> Result<Colour, String> {
    Colour::parse(text).ok_or_else(|| {
        format!("parameter `{name}`: `{text}` is no colour; use a name such as red, or digits such as ff8800")
    })
}

/// As Graphite reads switches.
fn is_true(text: &str) -> bool {
    matches!(text.to_ascii_lowercase().as_str(), "true" | "t" | "yes" | "y" | "1" | "on")
}
