//! The counts of observers, read after the drain.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;

use super::probe;

/// One observer's answer, or why there is none.
#[derive(Debug, Clone, PartialEq)]
pub struct Observation {
    /// Its name in the experiment.
    pub name: String,
    /// The expectation as written, if there is one.
    pub expect: Option<String>,
    /// Its counts; a sentence if they could not be read.
    pub answer: Result<Observed, String>,
}

/// The answer of an observer.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
pub struct Observed {
    /// What `received` counts, as a plural noun such as `answers judged`.
    #[serde(default)]
    pub counts: Option<String>,
    /// Arrived.
    pub received: u64,
    /// Arrived more than once.
    #[serde(default)]
    pub duplicates: u64,
    /// Arrived without having been sent.
    #[serde(default)]
    pub unexpected: u64,
    /// Sent, and not arrived.
    #[serde(default)]
    pub lost: u64,
    /// From sending to arrival: a histogram in HdrHistogram's V2 compressed form, in base64.
    #[serde(default)]
    pub delivery_time: Option<String>,
    /// All other fields.
    #[serde(default)]
    pub detail: BTreeMap<String, Value>,
}

impl Observed {
    /// Reads an observer's counts.
    ///
    /// Errors: a sentence that says what went wrong
    pub(super) fn read(address: &str, within: Duration) -> Result<Self, String> {
        let (status, body) = probe::get(address, "/observed", within)
            .map_err(|error| format!("GET http://{address}/observed: {error}"))?;
        if status != 200 {
            return Err(format!("GET http://{address}/observed: status {status}"));
        }
        serde_json::from_slice(&body)
            .map_err(|error| format!("GET http://{address}/observed: {error}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_needs_a_count_and_may_lack_the_rest() {
        let whole: Observed = serde_json::from_str(
            r#"{"counts":"messages","received":10,"duplicates":1,"unexpected":2,"lost":3,
                "delivery_time":"HISTFAAA","detail":{"cast":12}}"#,
        )
        .unwrap();
        assert_eq!((whole.received, whole.lost), (10, 3));
        assert_eq!(whole.counts.as_deref(), Some("messages"));
        assert_eq!(whole.detail["cast"], 12);
        let short: Observed = serde_json::from_str(r#"{"received":4}"#).unwrap();
        assert_eq!(short, Observed { received: 4, ..Observed::default() });
        assert!(serde_json::from_str::<Observed>("{}").is_err());
    }
}
