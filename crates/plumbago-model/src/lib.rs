//! The nouns every other module speaks in. Pure values: no I/O, no async, no clock.

mod account;
mod aggregator;
mod cancel;
mod event;
pub mod glob;
mod metric;
pub mod name;
pub mod pattern;
mod point;
mod policy;
mod query_error;
mod reject;
pub mod replacement;
mod retention;
mod selection;
mod stage;
pub mod suggest;
mod tag_condition;
mod verdict;
mod window;

pub use account::{Account, Phase};
pub use aggregator::{Aggregator, Partial, UnknownAggregator};
pub use cancel::{Cancel, Cancelled};
pub use event::{Event, EventFilter, EventId, TagFilter};
pub use metric::{MetricId, MetricRecord, Span};
pub use point::{Batch, Point};
pub use policy::{Policy, PolicyId};
pub use query_error::{Cause, QueryError};
pub use reject::Reject;
pub use retention::{Retention, RetentionError, parse_duration_secs};
pub use selection::Selection;
pub use stage::{Stage, StageKind};
pub use tag_condition::{TagCondition, TagWish, untagged};
pub use verdict::Verdict;
pub use window::{SlotRange, Window};
