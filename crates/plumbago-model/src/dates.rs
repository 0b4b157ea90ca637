//! When a metric came into being and was last in use.

/// Seconds since 1970. A store may round them down, to the minute or to the day; `None` means never, or that nobody noted it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Dates {
    /// When it was created.
    pub created: Option<u32>,
    /// When it last received a point.
    pub updated: Option<u32>,
    /// When a query last read it.
    pub read: Option<u32>,
}
