//! A transaction of the catalogue that notes the rows it changes.

use std::borrow::Borrow;
use std::cell::RefCell;
use std::ops::Deref;

use redb::{Key, StorageError, Table, TableDefinition, TableError, TableHandle, Value, WriteTransaction};

use super::Row;
use crate::store::embedded::tables;

/// See the module documentation.
pub(crate) struct Changes<'t> {
    txn: &'t WriteTransaction,
    /// What was changed, as it goes into the transcript.
    rows: RefCell<Vec<u8>>,
}

impl<'t> Changes<'t> {
    pub(crate) fn of(txn: &'t WriteTransaction) -> Self {
        Self { txn, rows: RefCell::default() }
    }

    /// Opens a table, and creates it if it is not there.
    pub(crate) fn open_table<K: Key + 'static, V: Value + 'static>(
        &self,
        table: TableDefinition<'_, K, V>,
    ) -> Result<Kept<'_, K, V>, TableError> {
        let number = tables::number(table.name());
        Ok(Kept { table: self.txn.open_table(table)?, number, rows: &self.rows })
    }

    pub(crate) fn into_rows(self) -> Vec<u8> {
        self.rows.into_inner()
    }
}

/// A table whose changes are noted, if it is one that is kept.
pub(crate) struct Kept<'c, K: Key + 'static, V: Value + 'static> {
    table: Table<'c, K, V>,
    number: Option<u8>,
    rows: &'c RefCell<Vec<u8>>,
}

impl<K: Key + 'static, V: Value + 'static> Kept<'_, K, V> {
    /// Writes a row.
    pub(crate) fn insert<'k, 'v>(
        &mut self,
        key: impl Borrow<K::SelfType<'k>>,
        value: impl Borrow<V::SelfType<'v>>,
    ) -> Result<(), StorageError> {
        if let Some(table) = self.number {
            let (key, value) = (K::as_bytes(key.borrow()), V::as_bytes(value.borrow()));
            let row = Row { table, key: key.as_ref(), value: Some(value.as_ref()) };
            row.encode(&mut self.rows.borrow_mut());
        }
        self.table.insert(key, value).map(drop)
    }

    /// Removes a row, if it is there.
    pub(crate) fn remove<'k>(&mut self, key: impl Borrow<K::SelfType<'k>>) -> Result<(), StorageError> {
        let bytes = K::as_bytes(key.borrow()).as_ref().to_vec();
        let was_there = self.table.remove(key)?.is_some();
        if let Some(table) = self.number.filter(|_| was_there) {
            Row { table, key: &bytes, value: None }.encode(&mut self.rows.borrow_mut());
        }
        Ok(())
    }
}

impl<'c, K: Key + 'static, V: Value + 'static> Deref for Kept<'c, K, V> {
    type Target = Table<'c, K, V>;

    fn deref(&self) -> &Self::Target {
        &self.table
    }
}
