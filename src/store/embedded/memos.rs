//! Memos, in a table of the catalogue.

use redb::{ReadableTable, TableDefinition};

use super::catalogue::{Catalogue, failed};
use crate::store::{MemoStore, StoreError};
use plumbago_model::MemoPlace;

/// Keeper, service, service key and key.
type Key = (&'static str, &'static str, &'static str, &'static str);

/// The texts.
pub(super) const MEMOS: TableDefinition<'_, Key, &str> = TableDefinition::new("memos");

fn key(place: MemoPlace<'_>) -> (&str, &str, &str, &str) {
    (place.keeper, place.service, place.service_key, place.key)
}

/// The text that comes next after this one, and after nothing that begins like it.
fn after(text: &str) -> String {
    format!("{text}\0")
}

impl MemoStore for Catalogue {
    fn read(&self, place: MemoPlace<'_>) -> Result<Option<String>, StoreError> {
        let table = Catalogue::read(self)?.open_table(MEMOS).map_err(failed)?;
        let text = table.get(key(place)).map_err(failed)?;
        Ok(text.map(|text| text.value().to_owned()))
    }

    fn write(&self, place: MemoPlace<'_>, text: &str, most: usize) -> Result<bool, StoreError> {
        Catalogue::write(self, |txn| {
            let mut table = txn.open_table(MEMOS).map_err(failed)?;
            let is_there = table.get(key(place)).map_err(failed)?.is_some();
            if !is_there {
                let (first, end) = (place.keeper, after(place.keeper));
                let own = table.range((first, "", "", "")..(&*end, "", "", "")).map_err(failed)?;
                if own.take(most).count() >= most {
                    return Ok(false);
                }
            }
            table.insert(key(place), text).map_err(failed)?;
            Ok(true)
        })
    }

    fn remove(&self, place: MemoPlace<'_>) -> Result<(), StoreError> {
        Catalogue::write(self, |txn| {
            txn.open_table(MEMOS).map_err(failed)?.remove(key(place)).map_err(failed)?;
            Ok(())
        })
    }

    fn service_keys(&self, keeper: &str, service: &str) -> Result<Vec<String>, StoreError> {
        let table = Catalogue::read(self)?.open_table(MEMOS).map_err(failed)?;
        let end = after(service);
        let mut found: Vec<String> = Vec::new();
        for row in table.range((keeper, service, "", "")..(keeper, &*end, "", "")).map_err(failed)? {
            let (key, _) = row.map_err(failed)?;
            let service_key = key.value().2;
            if found.last().is_none_or(|last| last != service_key) {
                found.push(service_key.to_owned());
            }
        }
        Ok(found)
    }

    fn keys(&self, keeper: &str, service: &str, service_key: &str) -> Result<Vec<String>, StoreError> {
        let table = Catalogue::read(self)?.open_table(MEMOS).map_err(failed)?;
        let end = after(service_key);
        let rows = table.range((keeper, service, service_key, "")..(keeper, service, &*end, ""));
        let key = |row: Result<(redb::AccessGuard<'_, Key>, _), _>| {
            row.map(|(key, _)| key.value().3.to_owned()).map_err(failed)
        };
        rows.map_err(failed)?.map(key).collect()
    }
}
