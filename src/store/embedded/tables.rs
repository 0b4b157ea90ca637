//! The tables of the catalogue as a whole: copied into a backup, written into a [transcript](super::transcript), and made of one.

use redb::{Database, Key, ReadTransaction, ReadableTable as _, TableDefinition, Value, WriteTransaction};

use super::calendar::{CREATED, USED};
use super::catalogue::{
    BLOCKS, DELETED, NAMES, OWNERS, PARCELS, POLICIES, POLICY_HISTORY, RENAMED, SETTINGS, failed,
};
use super::events::EVENTS;
use super::memos::MEMOS;
use super::spans::SPANS;
use super::transcript::{Filling, Row};
use crate::store::StoreError;

/// The tables of a transcript. Their numbers are part of its format. What is missing can be found out from blocks (spans), or may be lost
/// (days of the last use).
const KEPT: [&str; 12] = [
    "names",
    "deleted",
    "renamed",
    "owners",
    "policies",
    "policy_history",
    "blocks",
    "parcels",
    "events",
    "memos",
    "created",
    "settings",
];

/// The setting with the number of the last change. It is not in the transcript, where each frame has its number.
pub(super) const CHANGES: &str = "changes";

/// The number in a transcript of a table that is kept.
pub(super) fn number(table: &str) -> Option<u8> {
    KEPT.iter().position(|kept| *kept == table).and_then(|at| u8::try_from(at + 1).ok())
}

/// Calls a function with every table that is kept.
macro_rules! with_kept {
    ($visit:ident($($argument:expr),*)) => {{
        $visit(NAMES, $($argument),*)?;
        $visit(DELETED, $($argument),*)?;
        $visit(RENAMED, $($argument),*)?;
        $visit(OWNERS, $($argument),*)?;
        $visit(POLICIES, $($argument),*)?;
        $visit(POLICY_HISTORY, $($argument),*)?;
        $visit(BLOCKS, $($argument),*)?;
        $visit(PARCELS, $($argument),*)?;
        $visit(EVENTS, $($argument),*)?;
        $visit(MEMOS, $($argument),*)?;
        $visit(CREATED, $($argument),*)?;
        $visit(SETTINGS, $($argument),*)?;
    }};
}

/// Copies every row into a new database.
pub(super) fn copy_all(from: &ReadTransaction, db: &Database) -> Result<(), redb::Error> {
    let to = db.begin_write()?;
    with_kept!(copy(from, &to));
    copy(SPANS, from, &to)?;
    copy(USED, from, &to)?;
    Ok(to.commit()?)
}

fn copy<K: Key + 'static, V: Value + 'static>(
    table: TableDefinition<'_, K, V>,
    from: &ReadTransaction,
    to: &WriteTransaction,
) -> Result<(), redb::Error> {
    let (from, mut to) = (from.open_table(table)?, to.open_table(table)?);
    for row in from.iter()? {
        let (key, value) = row?;
        to.insert(key.value(), value.value())?;
    }
    Ok(())
}

/// Writes every row that is kept into a transcript.
pub(super) fn fill(from: &ReadTransaction, filling: &mut Filling<'_>) -> Result<(), StoreError> {
    with_kept!(fill_from(from, filling));
    Ok(())
}

fn fill_from<K: Key + 'static, V: Value + 'static>(
    table: TableDefinition<'_, K, V>,
    from: &ReadTransaction,
    filling: &mut Filling<'_>,
) -> Result<(), StoreError> {
    use redb::TableHandle as _;
    let Some(number) = number(table.name()) else { return Ok(()) };
    for row in from.open_table(table).map_err(failed)?.iter().map_err(failed)? {
        let (key, value) = row.map_err(failed)?;
        let (key, value) = (key.value(), value.value());
        let (key, value) = (K::as_bytes(&key), V::as_bytes(&value));
        if is_counter(number, key.as_ref()) {
            continue;
        }
        let row = Row { table: number, key: key.as_ref(), value: Some(value.as_ref()) };
        filling.put(&row).map_err(|error| failed(redb::StorageError::Io(error)))?;
    }
    Ok(())
}

fn is_counter(table: u8, key: &[u8]) -> bool {
    Some(table) == number("settings") && key == CHANGES.as_bytes()
}

/// Puts a row of a transcript into its table.
pub(super) fn put(row: &Row<'_>, to: &WriteTransaction) -> Result<(), StoreError> {
    with_kept!(put_if(row, to));
    Ok(())
}

fn put_if<K: Key + 'static, V: Value + 'static>(
    table: TableDefinition<'_, K, V>,
    row: &Row<'_>,
    to: &WriteTransaction,
) -> Result<(), StoreError> {
    use redb::TableHandle as _;
    if number(table.name()) != Some(row.table) {
        return Ok(());
    }
    let mut table = to.open_table(table).map_err(failed)?;
    let key = K::from_bytes(row.key);
    match row.value {
        Some(value) => table.insert(key, V::from_bytes(value)).map(drop),
        None => table.remove(key).map(drop),
    }
    .map_err(failed)
}
