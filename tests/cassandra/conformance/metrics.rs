//! Claims about names, policies and spans.

use plumbago_model::{MetricId, MetricRecord, Policy, PolicyId, Span};

use super::Subject;

fn record(id: u32, name: &str) -> MetricRecord {
    MetricRecord { id: MetricId(id), name: name.to_owned(), policies: vec![PolicyId(0)], span: Span::EMPTY }
}

fn load(subject: &dyn Subject) -> Vec<MetricRecord> {
    let mut all = Vec::new();
    subject.metrics().load(&mut |m| all.push(m)).unwrap();
    all
}

pub(crate) fn metrics_come_back_in_the_order_of_their_ids(mut subject: impl Subject) {
    subject.metrics().create(&[record(0, "a.b"), record(1, "a.b.c")]).unwrap();
    subject.metrics().create(&[record(5, "ü.x")]).unwrap();
    subject.reopen();
    let names: Vec<_> = load(&subject).into_iter().map(|m| (m.id.0, m.name)).collect();
    assert_eq!(names, [(0, "a.b".into()), (1, "a.b.c".into()), (5, "ü.x".into())]);
}

pub(crate) fn creating_again_changes_nothing(subject: impl Subject) {
    subject.metrics().create(&[record(0, "a"), record(1, "b")]).unwrap();
    subject.metrics().create(&[record(1, "other"), record(2, "c")]).unwrap();
    let names: Vec<_> = load(&subject).into_iter().map(|m| m.name).collect();
    assert_eq!(names, ["a", "b", "c"]);
}

pub(crate) fn deleted_metrics_are_gone(mut subject: impl Subject) {
    subject.metrics().create(&[record(0, "a"), record(1, "b")]).unwrap();
    subject.metrics().delete(&[MetricId(0)]).unwrap();
    subject.reopen();
    assert_eq!(load(&subject).len(), 1);
}

pub(crate) fn spans_only_grow(mut subject: impl Subject) {
    subject.metrics().create(&[record(0, "a"), record(3000, "b")]).unwrap();
    let touch = |id, first, last| subject.metrics().touch(&[(MetricId(id), Span { first, last })]).unwrap();
    touch(0, 100, 200);
    touch(0, 150, 300);
    touch(3000, 5, 6);
    subject.reopen();
    let spans: Vec<_> = load(&subject).into_iter().map(|m| m.span).collect();
    assert_eq!(spans, [Span { first: 100, last: 300 }, Span { first: 5, last: 6 }]);
}

pub(crate) fn earlier_policies_are_remembered(mut subject: impl Subject) {
    let policy = |text: &str| text.parse::<Policy>().unwrap();
    let policies = [(PolicyId(0), policy("6*10s|sum|0")), (PolicyId(1), policy("60*60s|max|0.5"))];
    subject.metrics().add_policies(&policies).unwrap();
    subject.metrics().create(&[record(0, "a"), record(1, "b")]).unwrap();
    subject.metrics().set_policies(&[(MetricId(1), vec![PolicyId(0), PolicyId(1)])]).unwrap();
    subject.reopen();
    assert_eq!(subject.metrics().policies().unwrap(), policies);
    let all: Vec<_> = load(&subject).into_iter().map(|m| m.policies).collect();
    assert_eq!(all, [vec![PolicyId(0)], vec![PolicyId(0), PolicyId(1)]]);
}
