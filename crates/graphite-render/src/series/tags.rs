//! Tags of a series, worked out from its name only when somebody asks.

use std::sync::Arc;

/// Tag names and values in the order in which they were set.
#[derive(Clone, Debug)]
pub struct Tags(Repr);

#[derive(Clone, Debug)]
enum Repr {
    /// The tags of a metric name. Most series never get beyond this.
    Name(Arc<str>),
    Pairs(Arc<Vec<(String, String)>>),
}

impl Tags {
    /// The tags of a name: `cpu;host=a` has `host` and `name`; any other text is just a `name`.
    pub fn of_name(name: Arc<str>) -> Self {
        Tags(Repr::Name(name))
    }

    /// Exactly these.
    pub fn of_pairs(pairs: Vec<(String, String)>) -> Self {
        Tags(Repr::Pairs(Arc::new(pairs)))
    }

    /// All of them.
    pub fn pairs(&self) -> Vec<(String, String)> {
        match &self.0 {
            Repr::Name(name) => parse(name),
            Repr::Pairs(pairs) => pairs.as_ref().clone(),
        }
    }

    /// One value.
    pub fn get(&self, tag: &str) -> Option<String> {
        let find =
            |pairs: &[(String, String)]| pairs.iter().find(|(key, _)| key == tag).map(|(_, v)| v.clone());
        match &self.0 {
            Repr::Name(name) => find(&parse(name)),
            Repr::Pairs(pairs) => find(pairs),
        }
    }

    /// Does the tag have this value? Cheap for names without tags, of which there may be thousands.
    pub fn has(&self, tag: &str, value: &str) -> bool {
        match &self.0 {
            Repr::Name(name) if !name.contains(';') && !name.starts_with('~') => {
                tag == "name" && **name == *value
            }
            _ => self.get(tag).is_some_and(|found| found == value),
        }
    }

    /// Sets one value.
    pub fn set(&mut self, tag: &str, value: impl Into<String>) {
        if let Repr::Name(name) = &self.0 {
            self.0 = Repr::Pairs(Arc::new(parse(name)));
        }
        let Repr::Pairs(pairs) = &mut self.0 else { return };
        let pairs = Arc::make_mut(pairs);
        match pairs.iter_mut().find(|(key, _)| key == tag) {
            Some((_, old)) => *old = value.into(),
            None => pairs.push((tag.to_owned(), value.into())),
        }
    }

    /// What all of these have in common, in the order of the first.
    pub fn common<'a>(mut all: impl Iterator<Item = &'a Tags>) -> Vec<(String, String)> {
        let mut shared = all.next().map(Tags::pairs).unwrap_or_default();
        for tags in all {
            if shared.is_empty() {
                break;
            }
            shared.retain(|(tag, value)| tags.has(tag, value));
        }
        shared
    }
}

fn parse(name: &str) -> Vec<(String, String)> {
    let plain = || vec![("name".to_owned(), name.to_owned())];
    if is_call(name) { plain() } else { parse_tagged(name).unwrap_or_else(plain) }
}

/// A name a function gave, such as `sumSeries(a.*)`: whatever is inside, it has no tags of its own.
fn is_call(name: &str) -> bool {
    name.split_once('(').is_some_and(|(function, rest)| {
        let letters = !function.is_empty() && function.bytes().all(|b| b.is_ascii_alphabetic());
        letters && rest.len() > 1 && rest.ends_with(')')
    })
}

/// `metric;tag=value;...`, with the rules for what a tag and a value may be.
fn parse_tagged(name: &str) -> Option<Vec<(String, String)>> {
    let mut segments = name.split(';');
    let metric = segments.next()?.trim_start_matches('~');
    let mut pairs: Vec<(String, String)> = Vec::new();
    for segment in segments {
        let (tag, value) = segment.split_once('=')?;
        if tag.is_empty() || value.is_empty() || tag.contains(['!', '^']) || value.starts_with('~') {
            return None;
        }
        pairs.retain(|(known, _)| known != tag);
        pairs.push((tag.to_owned(), value.to_owned()));
    }
    if metric.is_empty() {
        return None;
    }
    pairs.retain(|(tag, _)| tag != "name");
    pairs.push(("name".to_owned(), metric.to_owned()));
    Some(pairs)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(name: &str) -> Vec<(String, String)> {
        Tags::of_name(name.into()).pairs()
    }

    fn owned(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect()
    }

    #[test]
    fn names_have_tags() {
        assert_eq!(pairs("a.b"), owned(&[("name", "a.b")]));
        assert_eq!(pairs("cpu;dc=east;host=a"), owned(&[("dc", "east"), ("host", "a"), ("name", "cpu")]));
        assert_eq!(pairs("sumSeries(cpu;dc=east)"), owned(&[("name", "sumSeries(cpu;dc=east)")]));
        for bad in ["cpu;dc", "cpu;=x", "cpu;dc=", "cpu;d!c=x", "cpu;dc=~x", ";a=b", ""] {
            assert_eq!(pairs(bad), owned(&[("name", bad)]));
        }
        assert_eq!(pairs("~cpu"), owned(&[("name", "cpu")]));
    }

    #[test]
    fn setting_keeps_the_order() {
        let mut tags = Tags::of_name("cpu;dc=east".into());
        tags.set("scale", "2.0");
        tags.set("dc", "west");
        assert_eq!(tags.pairs(), owned(&[("dc", "west"), ("name", "cpu"), ("scale", "2.0")]));
    }

    #[test]
    fn common_is_what_all_have() {
        let all: Vec<Tags> =
            ["cpu;dc=east;host=a", "cpu;dc=east;host=b"].map(|n| Tags::of_name(n.into())).into();
        assert_eq!(Tags::common(all.iter()), owned(&[("dc", "east"), ("name", "cpu")]));
        let all: Vec<Tags> = ["a", "b"].map(|n| Tags::of_name(n.into())).into();
        assert_eq!(Tags::common(all.iter()), []);
    }
}
