//! The messages of carbonapi's protocol, version 3. Field numbers are all that the two sides have to agree on.

use prost::Message;

/// Patterns to look up.
///
/// The window that carbonapi sends along, in fields 2 and 3, is passed over: it looks names up before it fetches them, and a
/// metric without recent points is to be drawn as a gap and not to be missing.
#[derive(Clone, PartialEq, Eq, Message)]
pub(crate) struct MultiGlobRequest {
    #[prost(string, repeated, tag = "1")]
    pub(crate) metrics: Vec<String>,
}

/// What was found for each pattern.
#[derive(Clone, PartialEq, Eq, Message)]
pub(crate) struct MultiGlobResponse {
    #[prost(message, repeated, tag = "1")]
    pub(crate) metrics: Vec<GlobResponse>,
}

/// What was found for one pattern.
#[derive(Clone, PartialEq, Eq, Message)]
pub(crate) struct GlobResponse {
    /// The pattern.
    #[prost(string, tag = "1")]
    pub(crate) name: String,
    #[prost(message, repeated, tag = "2")]
    pub(crate) matches: Vec<GlobMatch>,
}

/// One node. A name that is a metric and a directory comes as two.
#[derive(Clone, PartialEq, Eq, Message)]
pub(crate) struct GlobMatch {
    #[prost(string, tag = "1")]
    pub(crate) path: String,
    #[prost(bool, tag = "2")]
    pub(crate) is_leaf: bool,
}

/// Series to fetch.
#[derive(Clone, PartialEq, Eq, Message)]
pub(crate) struct MultiFetchRequest {
    #[prost(message, repeated, tag = "1")]
    pub(crate) metrics: Vec<FetchRequest>,
}

/// A name or pattern and its window. More fields exist: what they ask for is not in our capabilities.
#[derive(Clone, PartialEq, Eq, Message)]
pub(crate) struct FetchRequest {
    #[prost(string, tag = "1")]
    pub(crate) name: String,
    #[prost(int64, tag = "2")]
    pub(crate) start_time: i64,
    #[prost(int64, tag = "3")]
    pub(crate) stop_time: i64,
    /// What the user wrote, where the name is one of those it stands for.
    #[prost(string, tag = "5")]
    pub(crate) path_expression: String,
}

/// The series that were found.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct MultiFetchResponse {
    #[prost(message, repeated, tag = "1")]
    pub(crate) metrics: Vec<FetchResponse>,
}

/// One series.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct FetchResponse {
    #[prost(string, tag = "1")]
    pub(crate) name: String,
    #[prost(string, tag = "2")]
    pub(crate) path_expression: String,
    #[prost(string, tag = "3")]
    pub(crate) consolidation_func: String,
    #[prost(int64, tag = "4")]
    pub(crate) start_time: i64,
    #[prost(int64, tag = "5")]
    pub(crate) stop_time: i64,
    #[prost(int64, tag = "6")]
    pub(crate) step_time: i64,
    #[prost(float, tag = "7")]
    pub(crate) x_files_factor: f32,
    /// NaN is null.
    #[prost(double, repeated, tag = "9")]
    pub(crate) values: Vec<f64>,
    #[prost(int64, tag = "11")]
    pub(crate) request_start_time: i64,
    #[prost(int64, tag = "12")]
    pub(crate) request_stop_time: i64,
}

/// Metrics to tell of.
#[derive(Clone, PartialEq, Eq, Message)]
pub(crate) struct MultiMetricsInfoRequest {
    #[prost(string, repeated, tag = "1")]
    pub(crate) names: Vec<String>,
}

/// What is known of them.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct MultiMetricsInfoResponse {
    #[prost(message, repeated, tag = "1")]
    pub(crate) metrics: Vec<MetricsInfoResponse>,
}

/// What is known of a metric.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct MetricsInfoResponse {
    #[prost(string, tag = "1")]
    pub(crate) name: String,
    #[prost(string, tag = "2")]
    pub(crate) consolidation_func: String,
    /// In seconds.
    #[prost(int64, tag = "3")]
    pub(crate) max_retention: i64,
    #[prost(float, tag = "4")]
    pub(crate) x_files_factor: f32,
    #[prost(message, repeated, tag = "5")]
    pub(crate) retentions: Vec<Retention>,
}

/// One stage.
#[derive(Clone, PartialEq, Eq, Message)]
pub(crate) struct Retention {
    #[prost(int64, tag = "1")]
    pub(crate) seconds_per_point: i64,
    #[prost(int64, tag = "2")]
    pub(crate) number_of_points: i64,
}

/// What a server can do.
#[derive(Clone, PartialEq, Eq, Message)]
pub(crate) struct CapabilityResponse {
    /// The first is the one that carbonapi's `auto` takes.
    #[prost(string, repeated, tag = "1")]
    pub(crate) supported_protocols: Vec<String>,
    /// The server.
    #[prost(string, tag = "2")]
    pub(crate) name: String,
    #[prost(bool, tag = "3")]
    pub(crate) high_precision_timestamps: bool,
    #[prost(bool, tag = "4")]
    pub(crate) support_filtering_functions: bool,
    /// Is one large request as good as several small ones?
    #[prost(bool, tag = "5")]
    pub(crate) like_splitted_requests: bool,
    #[prost(bool, tag = "6")]
    pub(crate) support_streaming: bool,
}
