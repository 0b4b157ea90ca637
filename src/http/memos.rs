//! Memos: what KairosDB calls metadata. Clients keep texts here, under a service, a service key and a key.

use plumbago_model::QueryError;

/// The memos of one keeper. All methods may block.
pub trait Memos {
    /// The text of a memo.
    fn read(&self, service: &str, service_key: &str, key: &str) -> Result<Option<String>, QueryError>;

    /// Writes a memo, unless there are too many.
    fn write(&self, service: &str, service_key: &str, key: &str, text: &str) -> Result<(), QueryError>;

    /// Removes a memo, if it is there.
    fn remove(&self, service: &str, service_key: &str, key: &str) -> Result<(), QueryError>;

    /// What the memos of a service are about, in order.
    fn service_keys(&self, service: &str) -> Result<Vec<String>, QueryError>;

    /// The keys of the memos about something, in order.
    fn keys(&self, service: &str, service_key: &str) -> Result<Vec<String>, QueryError>;
}
