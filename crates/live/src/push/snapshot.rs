//! Requests made of the metrics at an instant.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use prost::Message;

use super::backlog::{Content, Request};
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
        // Samples have whole milliseconds, and none may come before the series began.
        let since = Duration::from_millis(u64::try_from(since.as_millis()).unwrap_or(0));
        Self { began: Instant::now(), since, last_ms: 0 }
    }

    /// The time of day, from the epoch.
    pub fn now(&self) -> Duration {
        self.since + self.began.elapsed()
    }

    /// The next time in milliseconds, later than all before: a series has one sample a millisecond.
    fn next_ms(&mut self) -> i64 {
        let now = i64::try_from(self.now().as_millis()).unwrap_or(i64::MAX);
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
            vec![Request { body, content: Content::Metrics, samples: samples as u64, at }]
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
        Some(Request {
            body: body.into(),
            content: Content::Metrics,
            samples: part.len() as u64,
            at,
        })
    });
    requests.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audience::Missed;
    use crate::tests::{measuring, plan};

    fn decoded(request: &Request) -> WriteRequest {
        let bytes = snap::raw::Decoder::new().decompress_vec(&request.body).expect("Snappy");
        WriteRequest::decode(&*bytes).expect("a message")
    }

    #[test]
    fn no_sample_comes_before_its_series_began() {
        let mut calendar = Calendar::new();
        let first = calendar.next_ms();
        assert!(calendar.since.as_nanos() <= first.unsigned_abs() as u128 * 1_000_000);
    }

    #[test]
    fn many_series_are_several_requests_of_one_instant() {
        let names: Vec<String> = (0..100).map(|number| format!("operation-{number}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let mut calendar = Calendar::new();
        let mut metrics = Metrics::new(calendar.since, Missed::default());
        let mut taken =
            |metrics: &Metrics| snapshot(metrics, &mut calendar, Protocol::RemoteWrite, false);
        assert!(taken(&metrics).is_empty(), "nothing has begun");
        measuring(&plan(&[], &names), &[]).iter().for_each(|news| metrics.take(news));
        let requests = taken(&metrics);
        assert_eq!(requests.len(), 2);
        let [first, second] = [&requests[0], &requests[1]];
        assert_eq!((first.at, first.samples), (second.at, 2_000));
        assert_eq!(decoded(first).timeseries.len(), 2_000);
        assert_eq!(decoded(second).timeseries.len() as u64, second.samples);
        assert!(!decoded(first).metadata.is_empty() && decoded(second).metadata.is_empty());
        let of_operation = record::FailureKind::ALL.len() as u64 + 4;
        assert_eq!(first.samples + second.samples, 100 * of_operation + 9);
    }

    #[test]
    fn no_two_instants_are_the_same() {
        let mut calendar = Calendar::new();
        let instants: Vec<i64> = (0..1_000).map(|_| calendar.next_ms()).collect();
        assert!(instants.is_sorted_by(|a, b| a < b));
    }
}
