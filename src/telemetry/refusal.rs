//! Why a query has no answer although nothing is wrong with it or the server.

/// Why a query was refused, or given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// It needs more names, series, points or calls than one query may have.
    Limit,
    /// It needs more memory than one query may have.
    Memory,
    /// Other queries had all the memory for too long.
    Crowded,
    /// Too many queries were running for too long.
    Busy,
    /// Too many queries of the same user were running for too long.
    User,
    /// It took too long.
    Deadline,
    /// Its client left.
    Abandoned,
    /// A call cancelled it.
    Cancelled,
}

impl Refusal {
    /// Every reason.
    pub const ALL: [Refusal; 8] = [
        Refusal::Limit,
        Refusal::Memory,
        Refusal::Crowded,
        Refusal::Busy,
        Refusal::User,
        Refusal::Deadline,
        Refusal::Abandoned,
        Refusal::Cancelled,
    ];

    /// The label of its counter.
    pub const fn label(self) -> &'static str {
        match self {
            Refusal::Limit => "limit",
            Refusal::Memory => "memory",
            Refusal::Crowded => "crowded",
            Refusal::Busy => "busy",
            Refusal::User => "user",
            Refusal::Deadline => "deadline",
            Refusal::Abandoned => "abandoned",
            Refusal::Cancelled => "cancelled",
        }
    }
}
