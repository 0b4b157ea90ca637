//! Memos, between the API and the store: whose they are, and how many there may be.

use super::engine::Engine;
use crate::http::Memos;
use plumbago_model::{MemoPlace, QueryError, Tenant};

/// The keeper of the memos that belong to no tenant. No tenant has such a name.
const NOBODY: &str = ".";

/// The memos of one keeper.
pub(super) struct KeptMemos<'a> {
    engine: &'a Engine,
    keeper: &'a str,
}

impl<'a> KeptMemos<'a> {
    /// Those that belong to no tenant.
    pub(super) fn of_nobody(engine: &'a Engine) -> Self {
        Self { engine, keeper: NOBODY }
    }

    /// Those of a tenant.
    pub(super) fn of_tenant(engine: &'a Engine, tenant: &'a Tenant) -> Self {
        Self { engine, keeper: tenant.name() }
    }

    fn place(&self, service: &'a str, service_key: &'a str, key: &'a str) -> MemoPlace<'a> {
        MemoPlace { keeper: self.keeper, service, service_key, key }
    }
}

impl Memos for KeptMemos<'_> {
    fn read(&self, service: &str, service_key: &str, key: &str) -> Result<Option<String>, QueryError> {
        Ok(self.engine.store.memos.read(self.place(service, service_key, key))?)
    }

    fn write(&self, service: &str, service_key: &str, key: &str, text: &str) -> Result<(), QueryError> {
        let most = self.engine.config.kairosdb.max_metadata;
        if self.engine.store.memos.write(self.place(service, service_key, key), text, most)? {
            return Ok(());
        }
        Err(QueryError::Limit(format!(
            "there are {most} values of metadata already; delete some, or raise kairosdb.max_metadata"
        )))
    }

    fn remove(&self, service: &str, service_key: &str, key: &str) -> Result<(), QueryError> {
        Ok(self.engine.store.memos.remove(self.place(service, service_key, key))?)
    }

    fn service_keys(&self, service: &str) -> Result<Vec<String>, QueryError> {
        Ok(self.engine.store.memos.service_keys(self.keeper, service)?)
    }

    fn keys(&self, service: &str, service_key: &str) -> Result<Vec<String>, QueryError> {
        Ok(self.engine.store.memos.keys(self.keeper, service, service_key)?)
    }
}
