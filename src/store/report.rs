//! What a check of a data directory finds.

/// The result of a check.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Metrics in the catalogue.
    pub metrics: u64,
    /// Blocks in use.
    pub blocks: u64,
    /// Their bytes.
    pub bytes: u64,
    /// The id of the store, which its log segments name.
    pub store: u64,
    /// The first log segment that holds points not in the blocks.
    pub log_floor: u64,
    /// Everything that is wrong, one line each.
    pub problems: Vec<String>,
    /// What is odd but harmless, one line each.
    pub remarks: Vec<String>,
}
