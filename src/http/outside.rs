//! What the bytes of clients are read as here, for those who try whether any bytes do harm (`fuzz/fuzz_targets`).

use super::{carbonapi, events, request_line};
use plumbago_model::Event;

/// The event in the body of `POST /events/`.
pub fn event(body: &[u8]) -> Result<Event, String> {
    events::read(body, 1_700_000_000).map_err(|failure| failure.to_string())
}

/// The names in the requests that a message in carbonapi's protocol can be: a find, a render, and an info.
pub fn carbonapi(message: &[u8]) -> [Result<Vec<String>, String>; 3] {
    carbonapi::names(message).map(|names| names.map_err(|failure| failure.to_string()))
}

/// What the HTTP library sees of the bytes of a connection that arrive in pieces of some length.
pub fn mended(bytes: &[u8], piece: usize) -> Vec<u8> {
    request_line::mended(bytes, piece)
}
