//! What quotas allow and how much of it is used. There are as many samples as limits in the configuration, whatever is sent.

use serde::Serialize;

use super::text::Text;

/// One limit of one quota.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct QuotaUse {
    /// The name of the quota.
    pub quota: String,
    /// Where it is configured.
    pub origin: String,
    /// The key of the limit.
    pub limit: &'static str,
    /// Is nothing refused?
    pub dry_run: bool,
    /// How much is used; where each directory has its own limit, by the fullest.
    pub used: f64,
    /// How much may be used.
    pub most: Option<f64>,
    /// Points that were refused, or would have been.
    pub refused: u64,
    /// The fullest directory.
    pub fullest: Option<String>,
}

pub(super) fn write(quotas: &[QuotaUse], text: &mut Text) {
    let name = "plumbago_quota_used";
    text.family("gauge", name, "How much of a quota is used, by quota and limit.");
    for quota in quotas {
        text.sample(name, &[("quota", &quota.quota), ("limit", quota.limit)], quota.used);
    }
    let name = "plumbago_quota_limit";
    text.family("gauge", name, "How much a quota allows, by quota and limit.");
    for (quota, most) in quotas.iter().filter_map(|quota| Some((quota, quota.most?))) {
        text.sample(name, &[("quota", &quota.quota), ("limit", quota.limit)], most);
    }
    let name = "plumbago_quota_refused_total";
    text.family(
        "counter",
        name,
        "Points over a quota, by quota and limit; in a dry run they were taken all the same.",
    );
    for quota in quotas {
        let dry_run = if quota.dry_run { "true" } else { "false" };
        let labels = [("quota", &*quota.quota), ("limit", quota.limit), ("dry_run", dry_run)];
        text.sample(name, &labels, quota.refused);
    }
}
