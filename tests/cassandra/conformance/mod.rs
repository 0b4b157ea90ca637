//! The storage contract (`plumbago::store`), one test body per sentence, run for every store.

/// What every store promises, handed to a macro that makes tests of it.
macro_rules! every_claim {
    ($claims:ident) => {
        $claims! { points:
            a_cut_is_invisible_until_its_commit_and_durable_after_it,
            a_later_cut_replaces_slots_and_leaves_the_others,
            a_snapshot_stays_as_it_was,
            what_is_not_there_is_an_empty_window,
            a_batch_answers_in_the_order_asked,
            the_position_survives,
            expiry_never_drops_what_is_younger,
            deleting_removes_the_slots_of_those_metrics_only,
            partial_aggregates_keep_value_and_count,
        }

        $claims! { metrics:
            metrics_come_back_in_the_order_of_their_ids,
            creating_again_changes_nothing,
            deleted_metrics_are_gone,
            spans_only_grow,
            earlier_policies_are_remembered,
        }

        $claims! { events:
            an_event_is_found_by_id_and_time_and_survives,
            events_of_one_second_have_ids_of_their_own,
            an_event_can_happen_twice,
            events_come_in_the_order_of_time_edges_included,
            events_of_many_years_are_one_list,
            a_scan_ends_when_its_visitor_has_enough,
            what_never_happened_is_not_found,
        }

        $claims! { memos:
            a_memo_comes_back_and_survives,
            memos_are_listed_by_service_and_key,
            a_keeper_has_no_more_memos_than_allowed_and_none_of_others,
        }
    };
}
pub(crate) use every_claim;

mod clustered;
mod embedded;
mod events;
mod memos;
mod metrics;
mod points;

use plumbago::store::{EventStore, MemoStore, MetricStore, PointStore};

/// A store under test. Opening it again must show what was committed.
pub(crate) trait Subject {
    fn points(&self) -> &dyn PointStore;
    fn metrics(&self) -> &dyn MetricStore;
    fn events(&self) -> &dyn EventStore;
    fn memos(&self) -> &dyn MemoStore;
    /// Closes the store as a crash would, and opens it again.
    fn reopen(&mut self);
}
