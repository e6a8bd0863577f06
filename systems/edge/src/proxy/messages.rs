//! The messages that a proxy casts about each answer.
//!
//! A message is a line of JSON, filled up with spaces to its length: what is asked is what messages cost, and a
//! message of two thousand bytes costs the same with any content. One that is longer by itself is cut.

use std::fmt::Write as _;
use std::io::Write as _;
use std::time::Duration;

use hyper::{Method, StatusCode, Uri};

use super::tally::{CacheStatus, escaped, family};
use crate::cast::{Caster, Settings};

/// How many messages, and of which length.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Plan {
    /// Messages about each request.
    pub each: usize,
    /// Bytes of each.
    pub bytes: usize,
    /// To whom, and within which bounds.
    pub casts: Settings,
}

/// Casts them.
#[derive(Debug)]
pub(super) struct Messages {
    caster: Caster,
    each: usize,
    bytes: usize,
}

/// What a request asked for, kept until there is an answer.
pub(super) struct About(String);

impl Messages {
    /// Call it within a runtime.
    pub fn new(plan: &Plan) -> Self {
        Self { caster: Caster::new(&plan.casts), each: plan.each, bytes: plan.bytes }
    }

    /// What was asked for.
    pub fn about(&self, method: &Method, uri: &Uri) -> About {
        About(format!("\"method\":\"{method}\",\"path\":\"{}\"", escaped(uri.path())))
    }

    /// Casts what was answered; waits for the monitor only if casts are set to block, and returns how long.
    pub async fn cast(&self, about: &About, status: StatusCode, how: CacheStatus) -> Duration {
        let mut waited = Duration::ZERO;
        let mut message = Vec::with_capacity(self.bytes.max(256));
        for number in 0..self.each {
            message.clear();
            // Writing to memory cannot fail.
            let _ = write!(
                message,
                "{{\"message\":{number},\"status\":{},\"cache\":\"{}\",{}}}",
                status.as_u16(),
                how.name(),
                about.0
            );
            message.resize(self.bytes, b' ');
            waited += self.caster.cast_as_set(&message).await;
        }
        waited
    }

    /// What became of them, by monitor, in Prometheus's text format.
    pub fn render(&self, text: &mut String) {
        let accounts = self.caster.accounts();
        let columns: [(&str, &str, &str); 4] = [
            ("proxy_casts_total", "Messages cast.", "counter"),
            ("proxy_casts_dropped_total", "Messages dropped.", "counter"),
            ("proxy_casts_taken_total", "Messages that the monitor has.", "counter"),
            ("proxy_casts_pending", "Messages that are neither, yet.", "gauge"),
        ];
        for (column, (name, help, kind)) in columns.into_iter().enumerate() {
            family(text, name, help, kind);
            for one in &accounts {
                let account = &one.account;
                let values = [account.cast, account.all_dropped(), one.taken, one.pending];
                let peer = escaped(&one.peer);
                let _ = writeln!(text, "{name}{{to=\"{peer}\"}} {}", values[column]);
            }
        }
    }

    /// Ends within this time: what the monitors do not have by then is dropped, and counted.
    pub async fn finish(&self, within: Duration) {
        self.caster.finish(within).await;
    }
}
