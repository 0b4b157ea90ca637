//! Events: what happened when, for people who look at a graph and ask why.

use std::ops::RangeInclusive;

/// Bits of an id that tell the events of one second apart.
const NUMBER_BITS: u32 = 20;

/// The id of an event: the second it happened, and a number within that second.
///
/// So ids ascend with time, and the second is found again from the id alone. Both together have 52 bits: every id is a
/// whole number to JavaScript as well, which counts to 2^53.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct EventId(pub u64);

impl EventId {
    /// Events that one second can have.
    pub const PER_SECOND: u32 = 1 << NUMBER_BITS;

    /// One of the ids of a second; of `number` only the lowest 20 bits count.
    pub fn new(when: u32, number: u32) -> Self {
        Self(u64::from(when) << NUMBER_BITS | u64::from(number % Self::PER_SECOND))
    }

    /// The second of the event; `None` for a number that no event can have.
    pub fn when(self) -> Option<u32> {
        u32::try_from(self.0 >> NUMBER_BITS).ok()
    }

    /// The ids that the events of some seconds have.
    pub fn range(seconds: &RangeInclusive<u32>) -> RangeInclusive<u64> {
        Self::new(*seconds.start(), 0).0..=Self::new(*seconds.end(), Self::PER_SECOND - 1).0
    }
}

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// When, in epoch seconds.
    pub when: u32,
    /// In a few words.
    pub what: String,
    /// Words to find it by; none holds a blank.
    pub tags: Vec<String>,
    /// In more words.
    pub data: String,
}

impl Event {
    /// The tags as one text, in which blanks stand between them.
    pub fn tags_text(&self) -> String {
        self.tags.join(" ")
    }

    /// The tags of such a text.
    pub fn tags_of(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    /// Bytes of its texts.
    pub fn bytes(&self) -> usize {
        let tags: usize = self.tags.iter().map(|tag| tag.len() + 1).sum();
        self.what.len() + self.data.len() + tags
    }
}

/// Which events are wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventFilter {
    /// When they happened, both edges included.
    pub seconds: RangeInclusive<u32>,
    /// How they are tagged.
    pub tags: TagFilter,
}

/// Which tags an event must have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TagFilter {
    /// Any, or none at all.
    Whatever,
    /// All of these. An empty list is fulfilled by nothing, as in graphite-web.
    All(Vec<String>),
    /// One of these at least.
    OneOf(Vec<String>),
}

impl EventFilter {
    /// Events of a stretch of time that may begin before, and end behind, all events.
    pub fn between(from: i64, until: i64, tags: TagFilter) -> Self {
        let second = |time: i64| u32::try_from(time.max(0)).unwrap_or(u32::MAX);
        // A stretch that ends before all events is empty, not one second long.
        let seconds = if until < 0 { RangeInclusive::new(1, 0) } else { second(from)..=second(until) };
        Self { seconds, tags }
    }

    /// Is this one of them?
    pub fn takes(&self, event: &Event) -> bool {
        self.seconds.contains(&event.when) && self.tags.takes(&event.tags)
    }
}

impl TagFilter {
    fn takes(&self, tags: &[String]) -> bool {
        match self {
            TagFilter::Whatever => true,
            TagFilter::All(wanted) => !wanted.is_empty() && wanted.iter().all(|tag| tags.contains(tag)),
            TagFilter::OneOf(wanted) => wanted.iter().any(|tag| tags.contains(tag)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_hold_their_second_and_are_whole_numbers_to_javascript() {
        for when in [0, 1_794_788_400, u32::MAX] {
            let (first, last) = (EventId::new(when, 0), EventId::new(when, EventId::PER_SECOND - 1));
            assert_eq!((first.when(), last.when()), (Some(when), Some(when)));
            assert_eq!(EventId::range(&(when..=when)), first.0..=last.0);
            assert!(last.0 < 1 << 53);
        }
        assert!(EventId::new(7, EventId::PER_SECOND - 1) < EventId::new(8, 0));
        assert_eq!(EventId(1 << 52).when(), None);
    }

    #[test]
    fn filters_look_at_time_and_tags() {
        let event = |when, tags| Event {
            when,
            what: "deploy".to_owned(),
            tags: Event::tags_of(tags),
            data: String::new(),
        };
        let list = |tags: &str| Event::tags_of(tags);
        for (tags, with_ab, without) in [
            (TagFilter::Whatever, true, true),
            (TagFilter::All(list("a")), true, false),
            (TagFilter::All(list("b a")), true, false),
            (TagFilter::All(list("a c")), false, false),
            (TagFilter::All(list("")), false, false),
            (TagFilter::OneOf(list("c a")), true, false),
            (TagFilter::OneOf(list("c")), false, false),
            (TagFilter::OneOf(list("")), false, false),
        ] {
            let filter = EventFilter::between(10, 20, tags);
            assert_eq!(filter.takes(&event(10, "a b")), with_ab, "{filter:?}");
            assert_eq!(filter.takes(&event(20, "")), without, "{filter:?}");
            assert!(!filter.takes(&event(9, "a b")) && !filter.takes(&event(21, "a b")));
        }
    }

    #[test]
    fn a_stretch_may_reach_beyond_all_events() {
        let seconds = |from, until| EventFilter::between(from, until, TagFilter::Whatever).seconds;
        assert_eq!(seconds(-5, i64::MAX), 0..=u32::MAX);
        assert!(seconds(-10, -5).is_empty());
        assert!(seconds(20, 10).is_empty());
        assert_eq!(seconds(0, 0), 0..=0);
    }
}
