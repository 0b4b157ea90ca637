use std::path::Path;

use super::super::catalogue::CATALOGUE_FILE;
use super::*;
use plumbago_model::{MetricRecord, PolicyId, Span};

/// A midnight.
const TODAY: u32 = 1_794_700_800;

fn open(dir: &Path) -> Catalogue {
    Catalogue::open(&crate::disk::real(), &dir.join(CATALOGUE_FILE)).unwrap()
}

fn ids(ids: std::ops::Range<u32>) -> Vec<MetricId> {
    ids.map(MetricId).collect()
}

/// Metrics come into being, and may be recorded.
fn announce(catalogue: &Catalogue, metrics: std::ops::Range<u32>, time: u32) {
    let named: Vec<(MetricId, &str)> = metrics.map(|id| (MetricId(id), "m")).collect();
    catalogue.announce(&named, time);
}

fn record(catalogue: &Catalogue, metrics: std::ops::Range<u32>) {
    let record = |id| MetricRecord {
        id: MetricId(id),
        name: format!("m{id}"),
        policies: vec![PolicyId(0)],
        span: Span::EMPTY,
    };
    catalogue.create(&metrics.map(record).collect::<Vec<_>>()).unwrap();
}

fn dates(catalogue: &Catalogue, id: u32) -> Dates {
    catalogue.calendar().dates(&[MetricId(id)])[0]
}

fn created(catalogue: &Catalogue, id: u32) -> Option<u32> {
    dates(catalogue, id).created
}

#[test]
fn creations_are_kept_to_the_minute_and_survive_with_the_names() {
    let dir = tempfile::tempdir().unwrap();
    let catalogue = open(dir.path());
    announce(&catalogue, 0..3, TODAY + 5);
    announce(&catalogue, 3..4, TODAY + 59);
    announce(&catalogue, 4..6, TODAY + 61);
    record(&catalogue, 0..5);
    announce(&catalogue, 6..7, TODAY + 300);
    let expected = [Some(TODAY), Some(TODAY), Some(TODAY + 60), Some(TODAY + 60), Some(TODAY + 300)];
    assert_eq!([0, 3, 4, 5, 6].map(|id| created(&catalogue, id)), expected);
    drop(catalogue);
    // Metric 6 was not recorded. What comes next gets its id, later.
    let catalogue = open(dir.path());
    assert_eq!([0, 4].map(|id| created(&catalogue, id)), [Some(TODAY), Some(TODAY + 60)]);
    announce(&catalogue, 5..6, TODAY + 7200);
    record(&catalogue, 5..6);
    drop(catalogue);
    assert_eq!(created(&open(dir.path()), 5), Some(TODAY + 7200));
}

#[test]
fn old_creations_are_kept_to_the_hour() {
    let dir = tempfile::tempdir().unwrap();
    let catalogue = open(dir.path());
    let long_ago = TODAY - 40 * DAY;
    for (id, time) in [(0, long_ago), (1, long_ago + 60), (2, long_ago + HOUR), (3, TODAY), (4, TODAY + 60)] {
        announce(&catalogue, id..id + 1, time);
    }
    record(&catalogue, 0..5);
    for _ in 0..2 {
        let calendar = Calendar::load(&catalogue, TODAY + 60).unwrap();
        let created: Vec<_> = calendar.dates(&ids(0..5)).into_iter().map(|dates| dates.created).collect();
        let hours = [long_ago, long_ago, long_ago + HOUR, TODAY, TODAY + 60];
        assert_eq!(created, hours.map(Some));
        assert_eq!(calendar.created.read().minutes.len(), 4);
    }
}

#[test]
fn metrics_from_before_the_calendar_have_no_date_of_creation() {
    let dir = tempfile::tempdir().unwrap();
    let catalogue = open(dir.path());
    record(&catalogue, 0..10);
    announce(&catalogue, 10..11, TODAY);
    assert_eq!([0, 9, 10].map(|id| created(&catalogue, id)), [None, None, Some(TODAY)]);
}

#[test]
fn days_survive_once_they_are_recorded() {
    let dir = tempfile::tempdir().unwrap();
    let catalogue = open(dir.path());
    record(&catalogue, 0..3000);
    let calendar = catalogue.calendar();
    calendar.note_read(&[MetricId(1), MetricId(2999)], TODAY + 4000);
    calendar.note_updated(&ids(0..2), TODAY - DAY);
    let expected = |catalogue: &Catalogue| {
        let days = |id| (dates(catalogue, id).updated, dates(catalogue, id).read);
        assert_eq!(days(0), (Some(TODAY - DAY), None));
        assert_eq!(days(1), (Some(TODAY - DAY), Some(TODAY)));
        assert_eq!(days(2), (None, None));
        assert_eq!(days(2999), (None, Some(TODAY)));
        assert_eq!(days(90_000), (None, None), "it was never there");
    };
    expected(&catalogue);
    catalogue.record_days().unwrap();
    drop(catalogue);
    let catalogue = open(dir.path());
    expected(&catalogue);
    // What is not recorded is lost in a crash, and nothing else.
    catalogue.calendar().note_read(&[MetricId(2)], TODAY);
    drop(catalogue);
    expected(&open(dir.path()));
}

#[test]
fn a_day_is_written_once() {
    let dir = tempfile::tempdir().unwrap();
    let catalogue = open(dir.path());
    record(&catalogue, 0..10);
    let is_new = || catalogue.calendar().pages.read()[0].is_new.load(Ordering::Relaxed);
    catalogue.calendar().note_read(&ids(0..10), TODAY);
    assert!(is_new());
    catalogue.record_days().unwrap();
    catalogue.calendar().note_read(&ids(0..10), TODAY + 3600);
    assert!(!is_new());
    catalogue.calendar().note_read(&ids(0..10), TODAY + DAY);
    assert!(is_new());
}

#[test]
fn a_metric_that_is_not_recorded_leaves_no_days_behind() {
    let dir = tempfile::tempdir().unwrap();
    let catalogue = open(dir.path());
    record(&catalogue, 0..5);
    catalogue.calendar().note_read(&ids(0..8), TODAY);
    catalogue.record_days().unwrap();
    // The log of the last three was lost. Others get their ids.
    drop(catalogue);
    let catalogue = open(dir.path());
    record(&catalogue, 5..8);
    assert_eq!([4, 5, 7].map(|id| dates(&catalogue, id).read), [Some(TODAY), None, None]);
    // Without a crash, their days follow as soon as they are recorded.
    catalogue.calendar().note_read(&ids(8..9), TODAY);
    catalogue.record_days().unwrap();
    record(&catalogue, 8..9);
    catalogue.record_days().unwrap();
    drop(catalogue);
    assert_eq!(dates(&open(dir.path()), 8).read, Some(TODAY));
}

#[test]
fn a_deleted_metric_has_no_days() {
    let dir = tempfile::tempdir().unwrap();
    let catalogue = open(dir.path());
    record(&catalogue, 0..3);
    catalogue.calendar().note_read(&ids(0..3), TODAY);
    catalogue.calendar().note_updated(&ids(0..3), TODAY);
    catalogue.record_days().unwrap();
    catalogue.delete(&[MetricId(1)]).unwrap();
    let used = |catalogue: &Catalogue| [0, 1, 2].map(|id| dates(catalogue, id).read.is_some());
    assert_eq!(used(&catalogue), [true, false, true]);
    catalogue.record_days().unwrap();
    drop(catalogue);
    let catalogue = open(dir.path());
    assert_eq!(used(&catalogue), [true, false, true]);
    assert_eq!(dates(&catalogue, 1).updated, None);
}
