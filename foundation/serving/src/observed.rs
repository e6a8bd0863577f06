//! What an observer answers at `GET /observed`: what arrived, counted where it arrived.

use serde::Serialize;
use serde_json::{Map, Value};

/// The answer of an observer after the drain.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Observed {
    /// Distinct things received.
    pub received: u64,
    /// Received again.
    pub duplicates: u64,
    /// Received although nobody sent them in this trial.
    pub unexpected: u64,
    /// Known to be sent and not received.
    pub lost: u64,
    /// Times under way as an HdrHistogram V2 compressed in base64; `null` where none is known.
    pub delivery_time: Option<String>,
    /// Whatever else the observer counts, by name; criteria may refer to it.
    pub detail: Map<String, Value>,
}

impl Observed {
    /// The body of the answer.
    pub fn body(&self) -> String {
        serde_json::to_string(self).expect("numbers, strings and JSON values always serialize")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shape_is_the_one_that_reports_read() {
        let mut observed = Observed { received: 3, lost: 1, ..Observed::default() };
        observed.detail.insert("late".into(), 2.into());
        assert_eq!(
            observed.body(),
            "{\"received\":3,\"duplicates\":0,\"unexpected\":0,\"lost\":1,\
             \"delivery_time\":null,\"detail\":{\"late\":2}}"
        );
    }
}
