//! Why a point was not taken. Each reason is a label of `plumbago_points_rejected_total`.

macro_rules! reasons {
    ($($(#[$doc:meta])* $variant:ident = $label:literal,)*) => {
        /// Why a point, line or frame was refused.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Reject { $($(#[$doc])* $variant,)* }

        impl Reject {
            /// Every reason.
            pub const ALL: &'static [Reject] = &[$(Reject::$variant,)*];

            /// The label in the counters and logs.
            pub fn label(self) -> &'static str {
                match self { $(Reject::$variant => $label,)* }
            }
        }
    };
}

impl Reject {
    /// Is nothing wrong with the point, but there are too many?
    pub fn is_too_much(self) -> bool {
        matches!(
            self,
            Reject::Quota
                | Reject::TagValues
                | Reject::CreateRate
                | Reject::MetricLimit
                | Reject::DiskFull
                | Reject::Overload
        )
    }
}

reasons! {
    /// Not three fields.
    BadLine = "bad_line",
    /// The value is not a number.
    BadValue = "bad_value",
    /// The value is NaN.
    NanValue = "nan_value",
    /// The value is infinite and the config says to drop those.
    InfiniteValue = "infinite_value",
    /// The time stamp is not a number, or negative.
    BadTimestamp = "bad_timestamp",
    /// Older than the metric's longest stage.
    TooOld = "too_old",
    /// Further ahead of the clock than allowed.
    TooFarInFuture = "too_far_in_future",
    /// Bytes that are not UTF-8.
    NotUtf8 = "not_utf8",
    /// A line over the limit.
    LineTooLong = "line_too_long",
    /// No component is left after dropping empty ones.
    EmptyName = "empty_name",
    /// A tag without a key or without a value, or no tag where there must be one.
    EmptyTag = "empty_tag",
    /// A name over the limit.
    NameTooLong = "name_too_long",
    /// More than 63 components.
    TooManyComponents = "too_many_components",
    /// A control character in the name.
    ControlCharacter = "control_character",
    /// The pickle could not be read, or uses what is not data.
    BadPickle = "bad_pickle",
    /// An element of a pickle list that is not `(name, (timestamp, value))`.
    BadPickleElement = "bad_pickle_element",
    /// A pickle frame over the limit.
    FrameTooLarge = "frame_too_large",
    /// What KairosDB, OpenTSDB or Ceres clients sent and is no point.
    BadItem = "bad_item",
    /// A value of a type that is not kept: text, and types of KairosDB's plug-ins.
    UnsupportedType = "unsupported_type",
    /// A name outside its sender's scope.
    OutOfScope = "out_of_scope",
    /// A new metric over the creation rate.
    CreateRate = "create_rate",
    /// A new metric over the total cap.
    MetricLimit = "metric_limit",
    /// A new metric with a value of a tag that has as many values as it may.
    TagValues = "tag_values",
    /// Over a quota. The counters of the quotas say which.
    Quota = "quota",
    /// A new metric while the disk is nearly full.
    DiskFull = "disk_full",
    /// Found in the blacklist.
    Blacklisted = "blacklisted",
    /// Not found in the whitelist.
    NotWhitelisted = "not_whitelisted",
    /// A datagram that came while the server could not take it.
    Overload = "overload",
}
