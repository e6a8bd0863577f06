//! Limits of one namespace or one request, and of the number of namespaces.

use std::time::Duration;

use serde::Serialize;
use serving::settings::Settings;
use tokio::sync::{Semaphore, SemaphorePermit};

use crate::api_error::{ApiError, Code};

const SECOND_NS: u64 = 1_000_000_000;

/// Limits, each with a default and a setting of the same name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Quotas {
    /// Most namespaces; 0 is unlimited.
    pub max_namespaces: u64,
    /// Most identities in a namespace; 0 is unlimited.
    pub max_identities: u64,
    /// Most bytes of one identity's metadata, as JSON.
    pub max_metadata_bytes: u64,
    /// Most bytes of one payload.
    pub max_payload_bytes: u64,
    /// Default time to live, in milliseconds; 0 is for ever.
    pub default_ttl_ms: u64,
    /// Longest time to live, in milliseconds; 0 is unlimited.
    pub max_ttl_ms: u64,
    /// Longest wait for acknowledgements, in milliseconds.
    pub max_timeout_ms: u64,
    /// Concurrent multicasts.
    pub multicasts_in_flight: usize,
    /// Largest page of an enumeration.
    pub max_page: usize,
    /// Most bytes of a page, as JSON; one identity is always allowed.
    pub max_page_bytes: u64,
    /// Deepest nesting of a filter.
    pub filter_depth: usize,
    /// Most clauses of a filter.
    pub filter_clauses: usize,
}

impl Quotas {
    /// Reads `max_namespaces`, `max_identities`, `max_metadata`, `max_payload`, `default_ttl`,
    /// `max_ttl`, `max_timeout`, `multicasts`, `max_page`, `max_page_bytes`, `filter_depth` and
    /// `filter_clauses`.
    pub fn read(settings: &Settings<'_>) -> Self {
        let milliseconds =
            |name, default_s: u64| settings.time(name, default_s * SECOND_NS) / 1_000_000;
        let count = |name, default: usize, most: u64| {
            usize::try_from(settings.count(name, default as u64, 1..=most)).unwrap_or(usize::MAX)
        };
        let bounds = filtering::Bounds::default();
        Self {
            max_namespaces: settings.count("max_namespaces", 1_000, 0..=u64::MAX),
            max_identities: settings.count("max_identities", 1_000_000, 0..=u64::MAX),
            max_metadata_bytes: settings.size("max_metadata", 16 << 10),
            max_payload_bytes: settings.size("max_payload", 256 << 10),
            default_ttl_ms: milliseconds("default_ttl", 300),
            max_ttl_ms: milliseconds("max_ttl", 0),
            max_timeout_ms: milliseconds("max_timeout", 60).max(1),
            multicasts_in_flight: count("multicasts", 256, 100_000),
            max_page: count("max_page", 10_000, 1_000_000),
            max_page_bytes: settings.size("max_page_bytes", 4 << 20),
            filter_depth: count("filter_depth", bounds.depth, 64),
            filter_clauses: count("filter_clauses", bounds.clauses, 10_000),
        }
    }

    /// The limits of filters.
    pub fn filters(&self) -> filtering::Bounds {
        filtering::Bounds { depth: self.filter_depth, clauses: self.filter_clauses }
    }

    /// The time to live of a registration: as requested, otherwise the default; 0 is for ever.
    ///
    /// Shape:  milliseconds; `None` for ever
    /// Errors: `QUOTA_EXCEEDED` beyond the longest allowed
    pub fn ttl_ms(&self, asked_ms: Option<u64>) -> Result<Option<u64>, ApiError> {
        let is_beyond = |ttl| self.max_ttl_ms > 0 && (ttl == 0 || ttl > self.max_ttl_ms);
        // A default above the limit is reduced to the limit: only requests can exceed it.
        let default = self.default_ttl_ms;
        let default = if is_beyond(default) { self.max_ttl_ms } else { default };
        let ttl = asked_ms.unwrap_or(default);
        if is_beyond(ttl) {
            let most = Duration::from_millis(self.max_ttl_ms).as_secs_f64();
            let what = format!("ttl_seconds must be 1 to {most} here, and not 0 (for ever)");
            return Err(ApiError::new(Code::QuotaExceeded, what).at("/ttl_seconds"));
        }
        Ok((ttl > 0).then_some(ttl))
    }
}

/// Limits concurrent multicasts; further ones get 429.
#[derive(Debug)]
pub struct MulticastLimiter {
    places: Semaphore,
}

impl MulticastLimiter {
    /// A limit of this many.
    pub fn new(places: usize) -> Self {
        Self { places: Semaphore::new(places) }
    }

    /// One of the places, until dropped.
    ///
    /// Errors: `QUOTA_EXCEEDED`, if all are taken; try again later
    pub fn acquire(&self) -> Result<SemaphorePermit<'_>, ApiError> {
        self.places.try_acquire().map_err(|_| {
            ApiError::new(Code::QuotaExceeded, "too many multicasts at a time; retry later")
                .retry_after(Duration::from_secs(1))
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn read(pairs: &[(&str, &str)]) -> Quotas {
        let given: BTreeMap<String, serde_json::Value> =
            pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).into())).collect();
        Quotas::read(&Settings::new(&given))
    }

    #[test]
    fn a_life_is_as_long_as_asked_for_and_allowed() {
        let free = read(&[]);
        assert_eq!(free.ttl_ms(None), Ok(Some(300_000)));
        assert_eq!(free.ttl_ms(Some(0)), Ok(None));
        assert_eq!(free.ttl_ms(Some(7)), Ok(Some(7)));
        let bound = read(&[("max_ttl", "1h"), ("default_ttl", "10s")]);
        assert_eq!(bound.ttl_ms(None), Ok(Some(10_000)));
        for default in ["5m", "0s"] {
            let short = read(&[("max_ttl", "1m"), ("default_ttl", default)]);
            assert_eq!(short.ttl_ms(None), Ok(Some(60_000)), "nobody asked for more");
        }
        for beyond in [0, 3_600_001] {
            let error = bound.ttl_ms(Some(beyond)).unwrap_err();
            assert_eq!(
                (error.code, error.at.as_deref()),
                (Code::QuotaExceeded, Some("/ttl_seconds"))
            );
        }
    }

    #[test]
    fn the_turnstile_has_as_many_places_as_it_says() {
        let limiter = MulticastLimiter::new(1);
        let permit = limiter.acquire().unwrap();
        assert_eq!(limiter.acquire().unwrap_err().code, Code::QuotaExceeded);
        drop(permit);
        assert!(limiter.acquire().is_ok());
    }
}
