//! JSON that is read as a whole, and the memory that it takes meanwhile: a body of two megabytes that is all `{"a":1},` becomes two
//! hundred. Points do not come here; they are read item by item.

use super::Api;
use super::error::Failure;
use super::queries::memory::{Loan, shown};
use plumbago_model::QueryError;

/// What an object, a list, and a value in either of them take, at most. A text takes what it takes in the body.
const OBJECT_BYTES: usize = 768;
const LIST_BYTES: usize = 384;
const VALUE_BYTES: usize = 256;

/// Documents up to this size need no memory of the queries: hardly any is larger.
const FREE: usize = 256 * 1024;

/// Borrows the memory that a document takes as long as it is taken apart.
pub(super) async fn lend(api: &Api, json: &[u8]) -> Result<Option<Loan>, Failure> {
    let memory = api.workers.queries().memory();
    let (bytes, each) = (room(json), memory.each());
    if bytes <= FREE {
        return Ok(None);
    }
    let lent = match bytes > each {
        true => Err(QueryError::Memory(format!(
            "the body takes up to {} of memory when it is read; query.memory_each allows {}: send less at once, or raise it",
            shown(bytes),
            shown(each)
        ))),
        false => memory.lend(bytes).await,
    };
    let lent = lent.map_err(Failure::from);
    lent.map(Some).inspect_err(|failure| {
        failure.refusal().into_iter().for_each(|refusal| api.telemetry.refuse(refusal))
    })
}

/// Bytes that a document takes, at most.
fn room(json: &[u8]) -> usize {
    let of = |byte: &u8| match byte {
        b'{' => OBJECT_BYTES,
        b'[' => LIST_BYTES,
        b',' => VALUE_BYTES,
        _ => 1,
    };
    json.iter().map(of).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ordinary_documents_need_nothing_and_odd_ones_much() {
        let query = r#"{"start_absolute":1,"metrics":[{"name":"cpu","tags":{"host":["a","b"]}}]}"#;
        assert!(room(query.as_bytes()) < FREE / 50);
        let odd = format!("[{}{{}}]", r#"{"a":1},"#.repeat(250_000));
        assert!(room(odd.as_bytes()) > 200 << 20);
    }
}
