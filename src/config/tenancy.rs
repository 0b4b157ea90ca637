//! `[tenants]` as the rest of the program sees it.

use super::ConfigError;
use super::raw;
use super::settings::Settings;
use plumbago_model::glob::Glob;
use plumbago_model::{Tenants, name};

/// Whether callers are tenants, and where their metrics are.
#[derive(Clone, Debug, Default)]
pub struct Tenancy {
    /// Does everybody below the role admin have to be a tenant?
    pub enabled: bool,
    /// Where their metrics are.
    pub tenants: Tenants,
    /// The tenant of those who name none.
    pub default: Option<String>,
}

impl Tenancy {
    pub(super) fn resolve(raw: raw::Tenants, settings: &Settings) -> Result<Self, ConfigError> {
        let bad = |key: &str, message: String| {
            Err(ConfigError::BadValue { at: settings.origin(key), key: key.to_owned(), message })
        };
        let (directory, tag) = (raw.directory.0, raw.tag.0);
        let is_path = name::canonical(&directory, 1024).is_ok_and(|name| name == directory);
        if !is_path || directory.contains(';') || !Glob::parse(&directory).is_ok_and(|glob| glob.is_literal())
        {
            return bad("tenants.directory", format!("`{directory}` is not a directory such as `tenants`"));
        }
        let is_tag = name::is_tagged(&format!("x;{tag}=x")) && !tag.contains([' ', '~', '*']);
        if !is_tag || tag == "name" {
            return bad("tenants.tag", format!("`{tag}` cannot be that tag; use a word such as `tenant`"));
        }
        let tenancy =
            Self { enabled: raw.enabled.0, tenants: Tenants::new(&directory, &tag), default: raw.default.0 };
        match tenancy.default.as_deref().map(|name| tenancy.tenants.tenant(name)) {
            Some(Err(error)) => bad("tenants.default", error.to_string()),
            _ => Ok(tenancy),
        }
    }
}
