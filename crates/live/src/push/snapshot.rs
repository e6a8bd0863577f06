//! Requests made of the metrics at an instant.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use prost::Message;

use super::backlog::Request;
use super::destination::Protocol;
use super::remote_write::WriteRequest;
use super::{otlp, remote_write};
use crate::metrics::Metrics;
use crate::metrics::families::{Family, families};

/// Servers limit what one request may hold.
const MOST_SERIES: usize = 2_000;

/// Time of day that never goes back: the wall clock is read once.
#[derive(Debug)]
pub struct Calendar {
    began: Instant,
    /// The time of day then, from the epoch.
    pub since: Duration,
    last_ms: i64,
}

impl Calendar {
    /// Reads both clocks.
    pub fn new() -> Self {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self { began: Instant::now(), since, last_ms: 0 }
    }

    /// The next time in milliseconds, later than all before: a series has one sample a millisecond.
    fn next_ms(&mut self) -> i64 {
        let now = self.since + self.began.elapsed();
        let now = i64::try_from(now.as_millis()).unwrap_or(i64::MAX);
        self.last_ms = now.max(self.last_ms + 1);
        self.last_ms
    }
}

/// The metrics now, as requests; with `ends`, the marks that their series have ended. None before the first trial.
pub fn snapshot(
    metrics: &Metrics,
    calendar: &mut Calendar,
    protocol: Protocol,
    ends: bool,
) -> Vec<Request> {
    let families = families(metrics);
    let samples: usize = families.iter().map(|family| family.series.len()).sum();
    if samples == 0 {
        return Vec::new();
    }
    let at_ms = calendar.next_ms();
    let at = Duration::from_millis(u64::try_from(at_ms).unwrap_or(0));
    match protocol {
        Protocol::RemoteWrite => written(&families, (at, at_ms), ends),
        Protocol::Otlp => {
            let request = otlp::request(&families, (metrics.since, at), ends);
            let body = request.encode_to_vec().into();
            vec![Request { body, samples: samples as u64, at }]
        }
    }
}

fn written(families: &[Family<'_>], (at, at_ms): (Duration, i64), ends: bool) -> Vec<Request> {
    let mut metadata = remote_write::metadata(families);
    let series = remote_write::series(families, at_ms, ends);
    let requests = series.chunks(MOST_SERIES).filter_map(|part| {
        let metadata = std::mem::take(&mut metadata);
        let message = WriteRequest { timeseries: part.to_vec(), metadata }.encode_to_vec();
        // It fails beyond 4 GiB alone.
        let body = snap::raw::Encoder::new().compress_vec(&message).ok()?;
        Some(Request { body: body.into(), samples: part.len() as u64, at })
    });
    requests.collect()
}
