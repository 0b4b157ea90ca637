//! `aggregation-rules.conf`: `output (seconds) = method input`.

use std::path::Path;
use std::str::FromStr;
use std::sync::Arc;

use super::RuleError;
use plumbago_model::pattern::Pattern;

/// Longest time between two values of an aggregate.
const MAX_EVERY: u32 = 86_400;

/// How values are combined.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Method {
    Sum,
    Average,
    Min,
    Max,
    Count,
    /// The value below which this fraction of the others lies.
    Quantile(f64),
}

/// A rule: metrics whose names match are combined into others.
#[derive(Debug)]
pub(super) struct Rule {
    input: Pattern,
    output: Vec<Piece>,
    every: u32,
    method: Method,
}

/// An aggregate that a point belongs to.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Aggregate {
    pub(super) name: Arc<str>,
    pub(super) every: u32,
    pub(super) method: Method,
}

#[derive(Debug)]
enum Piece {
    Text(String),
    Field(String),
}

impl FromStr for Method {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Ok(match text {
            "sum" => Method::Sum,
            "avg" => Method::Average,
            "min" => Method::Min,
            "max" => Method::Max,
            "count" => Method::Count,
            "p50" => Method::Quantile(0.5),
            "p75" => Method::Quantile(0.75),
            "p80" => Method::Quantile(0.8),
            "p90" => Method::Quantile(0.9),
            "p95" => Method::Quantile(0.95),
            "p99" => Method::Quantile(0.99),
            "p999" => Method::Quantile(0.999),
            _ => {
                let known = "sum, avg, min, max, count, p50, p75, p80, p90, p95, p99 and p999";
                return Err(format!("method `{text}` is not known; there are {known}"));
            }
        })
    }
}

impl Rule {
    /// The aggregate that a metric belongs to.
    pub(super) fn aggregate(&self, name: &str) -> Option<Aggregate> {
        let found = self.input.regex().captures(name)?;
        let mut output = String::new();
        for piece in &self.output {
            output.push_str(match piece {
                Piece::Text(text) => text,
                Piece::Field(field) => found.name(field).map_or("", |part| part.as_str()),
            });
        }
        Some(Aggregate { name: output.into(), every: self.every, method: self.method })
    }

    fn parse(line: &str) -> Result<Self, String> {
        let form = || format!("`{line}` is not a rule; write `output (seconds) = method input`");
        let (left, right) = line.split_once('=').ok_or_else(form)?;
        let (output, every) = left.trim().rsplit_once(char::is_whitespace).ok_or_else(form)?;
        let (method, input) = right.trim().split_once(char::is_whitespace).ok_or_else(form)?;
        let seconds = every.trim_start_matches('(').trim_end_matches(')');
        let every = seconds.parse().ok().filter(|every| (1..=MAX_EVERY).contains(every));
        let every = every.ok_or_else(|| format!("({seconds}) must be 1 to {MAX_EVERY} seconds"))?;
        let input = input.trim();
        let pattern = Pattern::new(&expression(input)?).map_err(|error| error.to_string())?;
        let output = template(output.trim())?;
        let known = |field: &str| pattern.regex().capture_names().flatten().any(|name| name == field);
        for piece in &output {
            if let Piece::Field(field) = piece
                && !known(field)
            {
                return Err(format!("<{field}> of the output is not in the input `{input}`"));
            }
        }
        Ok(Self { input: pattern, output, every, method: method.parse()? })
    }
}

/// Reads a file.
pub(super) fn read(file: &Path, text: &str) -> Result<Vec<Rule>, RuleError> {
    let lines = text.lines().map(str::trim).enumerate();
    lines
        .filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
        .map(|(nth, line)| {
            Rule::parse(line).map_err(|message| RuleError { file: file.to_owned(), line: nth + 1, message })
        })
        .collect()
}

/// `<field>` is part of a component, `<<field>>` may span dots, `*` is anything within a component.
fn expression(input: &str) -> Result<String, String> {
    let mut out = String::from("^(?:");
    for (nth, component) in input.split('.').enumerate() {
        if nth > 0 {
            out.push_str("\\.");
        }
        let mut rest = component;
        while let Some(at) = rest.find('<') {
            out.push_str(&rest[..at].replace('*', "[^.]*"));
            let (field, wide, behind) = field(&rest[at..])?;
            out.push_str(&format!("(?P<{field}>{})", if wide { ".+?" } else { "[^.]+" }));
            rest = behind;
        }
        out.push_str(&if rest == "*" && component == "*" {
            "[^.]+".to_owned()
        } else {
            rest.replace('*', "[^.]*")
        });
    }
    out.push_str(")$");
    Ok(out)
}

fn template(output: &str) -> Result<Vec<Piece>, String> {
    let mut pieces = Vec::new();
    let mut rest = output;
    while let Some(at) = rest.find('<') {
        pieces.push(Piece::Text(rest[..at].to_owned()));
        let (field, _, behind) = field(&rest[at..])?;
        pieces.push(Piece::Field(field.to_owned()));
        rest = behind;
    }
    pieces.push(Piece::Text(rest.to_owned()));
    Ok(pieces)
}

/// The field at the start of a text, whether it may span dots, and what follows it.
fn field(text: &str) -> Result<(&str, bool, &str), String> {
    let wide = text.starts_with("<<");
    let (open, close) = if wide { ("<<", ">>") } else { ("<", ">") };
    let (name, behind) = text[open.len()..]
        .split_once(close)
        .ok_or_else(|| format!("`{text}` has no `{close}` behind its `{open}`"))?;
    let is_name = !name.is_empty()
        && !name.starts_with(|c: char| c.is_ascii_digit())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    if !is_name {
        return Err(format!("`{name}` cannot be the name of a field; use letters, digits and `_`"));
    }
    Ok((name, wide, behind))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn output(rule: &str, name: &str) -> Option<String> {
        Rule::parse(rule).unwrap().aggregate(name).map(|aggregate| aggregate.name.to_string())
    }

    #[test]
    fn fields_stars_and_ends() {
        let rule = "<env>.applications.<app>.all.requests (60) = sum <env>.applications.<app>.*.requests";
        assert_eq!(
            output(rule, "prod.applications.apache.www01.requests").as_deref(),
            Some("prod.applications.apache.all.requests")
        );
        assert_eq!(output(rule, "prod.applications.apache.www01.x.requests"), None);
        assert_eq!(output(rule, "prod.applications.apache.www01.requests.more"), None);
        assert_eq!(output(rule, "a.prod.applications.apache.www01.requests"), None);
        let rule = "all.<<path>> (10) = avg web-<n>.<<path>>";
        assert_eq!(output(rule, "web-7.a.b").as_deref(), Some("all.a.b"));
        assert_eq!(output("x (1) = max a*.b", "abc.b").as_deref(), Some("x"));
        assert_eq!(output("x (1) = max a.*.b", "a..b"), None);
    }

    #[test]
    fn what_a_rule_says() {
        let rule = Rule::parse("a (300) = p95 b").unwrap();
        assert_eq!((rule.every, rule.method), (300, Method::Quantile(0.95)));
    }

    #[test]
    fn mistakes_are_named_with_their_line() {
        for (text, part) in [
            ("# fine\na (60)", "aggregation-rules.conf:2: `a (60)` is not a rule"),
            ("a (0) = sum b", "(0) must be 1 to 86400 seconds"),
            ("a (x) = sum b", "(x) must be"),
            ("a (60) = middle b", "method `middle` is not known"),
            ("<x> (60) = sum b", "<x> of the output is not in the input `b`"),
            ("a (60) = sum <b", "has no `>`"),
            ("a (60) = sum <1>", "`1` cannot be the name of a field"),
            ("a (60) = sum (b", "unclosed group"),
        ] {
            let error = read(Path::new("aggregation-rules.conf"), text).unwrap_err().to_string();
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
