//! Pages of names: the metrics of one batch of creations. Each name is the length it shares with the previous one, and the rest.

use super::codec::varint;
use plumbago_model::MetricRecord;

/// The bytes of a page. `first` is the key of the page; ids must ascend.
pub(super) fn encode(first: u32, metrics: &[&MetricRecord]) -> Vec<u8> {
    let mut out = Vec::with_capacity(metrics.len() * 12);
    let mut previous = "";
    let mut next = first;
    for metric in metrics {
        let policy = metric.policies.last().map_or(0, |p| p.0);
        let shared = shared_bytes(previous, &metric.name);
        varint::put(u64::from(metric.id.0 - next), &mut out);
        varint::put(u64::from(policy), &mut out);
        varint::put(shared as u64, &mut out);
        varint::put((metric.name.len() - shared) as u64, &mut out);
        out.extend_from_slice(&metric.name.as_bytes()[shared..]);
        previous = &metric.name;
        next = metric.id.0 + 1;
    }
    out
}

/// Visits id, policy and name of each metric in a page.
pub fn decode(first: u32, page: &[u8], mut visit: impl FnMut(u32, u32, &str)) -> Result<(), String> {
    const SHORT: &str = "the page ends early";
    let mut reader = varint::Reader::new(page);
    let mut name = Vec::new();
    let mut next = first;
    while !reader.rest().is_empty() {
        let skipped = reader.varint_u32().ok_or(SHORT)?;
        let policy = reader.varint_u32().ok_or(SHORT)?;
        let shared = reader.varint_u32().ok_or(SHORT)? as usize;
        let rest = reader.varint_u32().ok_or(SHORT)? as usize;
        let rest = reader.take(rest).ok_or(SHORT)?;
        if shared > name.len() {
            return Err("a name shares more than the one before has".to_owned());
        }
        name.truncate(shared);
        name.extend_from_slice(rest);
        let text = std::str::from_utf8(&name).map_err(|e| format!("a name is not UTF-8: {e}"))?;
        let id = next.checked_add(skipped).ok_or("ids run over")?;
        visit(id, policy, text);
        next = id.checked_add(1).ok_or("ids run over")?;
    }
    Ok(())
}

fn shared_bytes(a: &str, b: &str) -> usize {
    a.bytes().zip(b.bytes()).take_while(|(x, y)| x == y).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use plumbago_model::{MetricId, PolicyId, Span};

    proptest::proptest! {
        #[test]
        fn pages_round_trip(names in proptest::collection::vec(("[a-cü.]{1,12}", 0u32..3, 0u32..4), 1..40)) {
            let mut id = 7;
            let records: Vec<MetricRecord> = names.iter().map(|(name, gap, policy)| {
                id += gap + 1;
                MetricRecord { id: MetricId(id), name: name.clone(), policies: vec![PolicyId(*policy)], span: Span::EMPTY }
            }).collect();
            let refs: Vec<&MetricRecord> = records.iter().collect();
            let page = encode(8, &refs);
            let mut got = Vec::new();
            decode(8, &page, |id, policy, name| got.push((id, policy, name.to_owned()))).unwrap();
            let want: Vec<_> = records.iter().map(|r| (r.id.0, r.policies[0].0, r.name.clone())).collect();
            proptest::prop_assert_eq!(got, want);
        }

        #[test]
        fn arbitrary_bytes_never_panic(bytes: Vec<u8>, first: u32) {
            let _ = decode(first, &bytes, |_, _, _| ());
        }
    }
}
