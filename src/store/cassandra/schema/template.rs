//! The templates of `/schema`, and what is filled in.

pub(super) const KEYSPACE: &str = include_str!("../../../../schema/keyspace.cql");
pub(super) const POINTS_RAW: &str = include_str!("../../../../schema/points_raw.cql");
pub(super) const POINTS_AGGREGATED: &str = include_str!("../../../../schema/points_aggregated.cql");
pub(super) const NAMES: &str = include_str!("../../../../schema/names.cql");
pub(super) const METADATA: &str = include_str!("../../../../schema/metrics_metadata.cql");
pub(super) const WRITERS: &str = include_str!("../../../../schema/plumbago_writers.cql");
pub(super) const CREATED: &str = include_str!("../../../../schema/plumbago_created.cql");
pub(super) const EVENTS: &str = include_str!("../../../../schema/plumbago_events.cql");
pub(super) const MEMOS: &str = include_str!("../../../../schema/plumbago_memos.cql");
pub(super) const SETTINGS: &str = include_str!("../../../../schema/plumbago_settings.cql");
pub(super) const INDEX_SASI: &str = include_str!("../../../../schema/index_sasi.cql");
pub(super) const INDEX_SASI_SPARSE: &str = include_str!("../../../../schema/index_sasi_sparse.cql");
pub(super) const INDEX_SAI: &str = include_str!("../../../../schema/index_sai.cql");

/// Puts values into a template: `{table}` becomes the value of `table`.
pub(super) fn fill(template: &str, values: &[(&str, &str)]) -> String {
    values.iter().fold(template.to_owned(), |text, (name, value)| text.replace(&format!("{{{name}}}"), value))
}

/// A column of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Column {
    pub(super) name: String,
    pub(super) kind: String,
    /// `partition_key`, `clustering` or `regular`, as Cassandra calls them.
    pub(super) role: &'static str,
    /// Place in its part of the key; -1 for others.
    pub(super) position: i32,
}

/// The columns that a `CREATE TABLE` of ours makes: each stands on a line of its own.
pub(super) fn columns(cql: &str) -> Vec<Column> {
    let body = cql.lines().skip(1).take_while(|line| !line.starts_with(')'));
    let (mut columns, mut partition, mut clustering) = (Vec::new(), Vec::new(), Vec::new());
    for line in body.map(|line| line.trim().trim_end_matches(',')) {
        if let Some(key) = line.strip_prefix("PRIMARY KEY (").and_then(|rest| rest.strip_suffix(')')) {
            (partition, clustering) = key_parts(key);
        } else if let Some((name, kind)) = line.split_once(' ') {
            let own_key = kind.strip_suffix(" PRIMARY KEY");
            if own_key.is_some() {
                partition = vec![name.to_owned()];
            }
            columns.push((name.to_owned(), own_key.unwrap_or(kind).to_owned()));
        }
    }
    let place = |list: &[String], name: &String| {
        list.iter().position(|part| part == name).and_then(|at| i32::try_from(at).ok())
    };
    let with_role = |(name, kind): (String, String)| {
        let (role, position) = match (place(&partition, &name), place(&clustering, &name)) {
            (Some(at), _) => ("partition_key", at),
            (_, Some(at)) => ("clustering", at),
            _ => ("regular", -1),
        };
        Column { name, kind, role, position }
    };
    columns.into_iter().map(with_role).collect()
}

/// `(a, b), c` or `a, c`.
fn key_parts(key: &str) -> (Vec<String>, Vec<String>) {
    let names = |text: &str| {
        text.split(',').map(|name| name.trim().to_owned()).filter(|name| !name.is_empty()).collect::<Vec<_>>()
    };
    match key.strip_prefix('(').and_then(|rest| rest.split_once(')')) {
        Some((partition, clustering)) => (names(partition), names(clustering)),
        None => {
            let mut all = names(key);
            let rest = all.split_off(1.min(all.len()));
            (all, rest)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_have_their_places_in_the_key() {
        let told = |cql| {
            let told = |c: Column| format!("{} {} {} {}", c.name, c.kind, c.role, c.position);
            columns(cql).into_iter().map(told).collect::<Vec<_>>()
        };
        assert_eq!(
            told(POINTS_AGGREGATED),
            [
                "metric uuid partition_key 0",
                "time_start_ms bigint partition_key 1",
                "offset smallint clustering 0",
                "shard smallint clustering 1",
                "value double regular -1",
                "count smallint regular -1"
            ]
        );
        assert_eq!(told(METADATA).first().map(String::as_str), Some("name text partition_key 0"));
        assert_eq!(told(METADATA).last().map(String::as_str), Some("config map<text, text> regular -1"));
        assert_eq!(told(WRITERS)[..2], ["replica smallint partition_key 0", "writer smallint clustering 0"]);
    }
}
