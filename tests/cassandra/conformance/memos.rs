//! Claims about memos.
//!
//! Those in a cluster are everybody's, so each claim has a keeper of its own.

use plumbago_model::MemoPlace;

use super::Subject;

/// A keeper who has nothing yet.
fn keeper() -> String {
    uuid::Uuid::new_v4().to_string()
}

fn place<'a>(keeper: &'a str, [service, service_key, key]: [&'a str; 3]) -> MemoPlace<'a> {
    MemoPlace { keeper, service, service_key, key }
}

pub(crate) fn a_memo_comes_back_and_survives(mut subject: impl Subject) {
    let keeper = keeper();
    let odd = place(&keeper, ["Metric Service", "größe/ü", "a\nb"]);
    let empty = place(&keeper, ["Metric Service", "größe/ü", "empty"]);
    let gone = place(&keeper, ["Metric Service", "größe/ü", "gone"]);
    assert_eq!(subject.memos().read(odd).unwrap(), None);
    assert!(subject.memos().write(odd, "first", 10).unwrap());
    assert!(subject.memos().write(odd, "line 1\nline 2 \"ü\"", 10).unwrap());
    assert!(subject.memos().write(empty, "", 10).unwrap());
    assert!(subject.memos().write(gone, "x", 10).unwrap());
    subject.memos().remove(gone).unwrap();
    subject.memos().remove(gone).unwrap();
    for reopened in [false, true] {
        if reopened {
            subject.reopen();
        }
        assert_eq!(subject.memos().read(odd).unwrap().as_deref(), Some("line 1\nline 2 \"ü\""));
        assert_eq!(subject.memos().read(empty).unwrap().as_deref(), Some(""));
        assert_eq!(subject.memos().read(gone).unwrap(), None);
    }
}

pub(crate) fn memos_are_listed_by_service_and_key(subject: impl Subject) {
    let keeper = keeper();
    for at in [
        ["s", "b", "2"],
        ["s", "b", "1"],
        ["s", "a", "x"],
        ["s", "a\0", "x"],
        ["s", "ab", "x"],
        ["s\0", "c", "x"],
        ["st", "d", "x"],
    ] {
        assert!(subject.memos().write(place(&keeper, at), "text", 10).unwrap());
    }
    assert_eq!(subject.memos().service_keys(&keeper, "s").unwrap(), ["a", "a\0", "ab", "b"]);
    assert_eq!(subject.memos().keys(&keeper, "s", "b").unwrap(), ["1", "2"]);
    assert_eq!(subject.memos().keys(&keeper, "s", "a").unwrap(), ["x"]);
    assert!(subject.memos().keys(&keeper, "s", "").unwrap().is_empty());
    assert!(subject.memos().service_keys(&keeper, "none").unwrap().is_empty());
}

pub(crate) fn a_keeper_has_no_more_memos_than_allowed_and_none_of_others(subject: impl Subject) {
    let (keeper, other) = (keeper(), keeper());
    let memos = subject.memos();
    let write = |keeper: &str, key: &str| memos.write(place(keeper, ["s", "k", key]), "text", 2).unwrap();
    assert!(write(&keeper, "1") && write(&keeper, "2"));
    assert!(!write(&keeper, "3"));
    // What is there may change, and what is removed makes room.
    assert!(write(&keeper, "2"));
    memos.remove(place(&keeper, ["s", "k", "1"])).unwrap();
    assert!(write(&keeper, "3"));
    assert_eq!(memos.keys(&keeper, "s", "k").unwrap(), ["2", "3"]);
    assert!(memos.keys(&other, "s", "k").unwrap().is_empty());
    assert!(write(&other, "1"));
    assert_eq!(memos.read(place(&other, ["s", "k", "2"])).unwrap(), None);
}
