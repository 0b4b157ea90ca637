//! Claims about events.
//!
//! Those in a cluster are everybody's, so each claim has a stretch of time of its own.

use std::collections::BTreeSet;
use std::ops::{ControlFlow, RangeInclusive};

use plumbago_model::{Event, EventId};

use super::Subject;

/// The start of a thousand seconds in which nothing happened yet.
fn quiet() -> u32 {
    let chance = uuid::Uuid::new_v4().as_u128() as u32;
    chance % 3_000_000 * 1000 + 1_000_000_000
}

fn event(when: u32, what: &str, tags: &str) -> Event {
    Event { when, what: what.to_owned(), tags: Event::tags_of(tags), data: format!("of {when}") }
}

fn scan(subject: &dyn Subject, seconds: RangeInclusive<u32>) -> Vec<(EventId, Event)> {
    let mut found = Vec::new();
    let mut visit = |id, event| {
        found.push((id, event));
        ControlFlow::Continue(())
    };
    subject.events().scan(seconds, &mut visit).unwrap();
    found
}

pub(crate) fn an_event_is_found_by_id_and_time_and_survives(mut subject: impl Subject) {
    let base = quiet();
    let full = Event { data: "line 1\nline 2 \"ü\"".to_owned(), ..event(base + 7, "Größe", "web prod") };
    let bare = Event { data: String::new(), ..event(base + 8, "", "") };
    let ids = [&full, &bare].map(|event| subject.events().add(event).unwrap());
    for reopened in [false, true] {
        if reopened {
            subject.reopen();
        }
        assert_eq!(scan(&subject, base..=base + 999), [(ids[0], full.clone()), (ids[1], bare.clone())]);
        assert_eq!(subject.events().get(ids[0]).unwrap(), Some(full.clone()));
        assert_eq!(subject.events().get(ids[1]).unwrap(), Some(bare.clone()));
    }
}

pub(crate) fn events_of_one_second_have_ids_of_their_own(mut subject: impl Subject) {
    let base = quiet();
    let mut ids = BTreeSet::new();
    for n in 0..20 {
        if n == 10 {
            subject.reopen();
        }
        let id = subject.events().add(&event(base, &format!("number {n}"), "")).unwrap();
        assert!(id.0 < 1 << 53 && id.when() == Some(base), "{id:?}");
        assert!(ids.insert(id), "{id:?} twice");
    }
    let found: Vec<EventId> = scan(&subject, base..=base).into_iter().map(|(id, _)| id).collect();
    assert_eq!(found, Vec::from_iter(ids));
}

/// The very same event twice is two events.
pub(crate) fn an_event_can_happen_twice(subject: impl Subject) {
    let base = quiet();
    let twin = event(base, "twin", "a");
    let ids = [(); 2].map(|()| subject.events().add(&twin).unwrap());
    assert_ne!(ids[0], ids[1]);
    assert_eq!(scan(&subject, base..=base).len(), 2);
}

pub(crate) fn events_come_in_the_order_of_time_edges_included(subject: impl Subject) {
    let base = quiet();
    for offset in [500, 0, 999, 1, 998] {
        subject.events().add(&event(base + offset, "x", "")).unwrap();
    }
    let offsets = |from: u32, until: u32| {
        let found = scan(&subject, base + from..=base + until);
        found.into_iter().map(|(_, event)| event.when - base).collect::<Vec<_>>()
    };
    assert_eq!(offsets(0, 999), [0, 1, 500, 998, 999]);
    assert_eq!(offsets(1, 998), [1, 500, 998]);
    assert!(offsets(2, 499).is_empty());
    assert_eq!(offsets(500, 500), [500]);
    assert!(scan(&subject, RangeInclusive::new(base + 1, base)).is_empty());
}

pub(crate) fn events_of_many_years_are_one_list(subject: impl Subject) {
    let name = uuid::Uuid::new_v4().to_string();
    let whens = [0, 86_400 * 6, 86_400 * 7, 1_000_000_000, 1_794_788_400, u32::MAX];
    for when in whens.iter().rev() {
        subject.events().add(&event(*when, &name, "")).unwrap();
    }
    let mut found = scan(&subject, 0..=u32::MAX);
    found.retain(|(_, event)| event.what == name);
    assert_eq!(found.iter().map(|(_, event)| event.when).collect::<Vec<_>>(), whens);
}

pub(crate) fn a_scan_ends_when_its_visitor_has_enough(subject: impl Subject) {
    let base = quiet();
    for offset in 0..5 {
        subject.events().add(&event(base + offset, "x", "")).unwrap();
    }
    let mut seen = 0;
    let mut visit = |_, _| {
        seen += 1;
        if seen == 3 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    subject.events().scan(base..=base + 999, &mut visit).unwrap();
    assert_eq!(seen, 3);
}

pub(crate) fn what_never_happened_is_not_found(subject: impl Subject) {
    let id = EventId::new(quiet(), 5);
    assert_eq!(subject.events().get(id).unwrap(), None);
    assert_eq!(subject.events().get(EventId(0)).unwrap(), None);
    assert_eq!(subject.events().get(EventId(u64::MAX)).unwrap(), None);
}
