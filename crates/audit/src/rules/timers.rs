//! Times that match known timers: R20.

use crate::imports::report::{Row, Run};

use super::rule::{Noticed, time};

const QUANTA: &[(f64, f64, &str)] = &[
    (1.0, 0.10, "the first retransmission of a handshake"),
    (3.0, 0.05, "the second retransmission of a handshake, or an old first one"),
    (7.0, 0.05, "the third retransmission of a handshake"),
    (5.0, 0.02, "a name server's retry or a tool's time-out"),
    (10.0, 0.02, "a tool's time-out"),
    (30.0, 0.02, "a tool's time-out"),
];

/// R20: slow requests took about as long as a known timer.
pub fn quantum(_: &Run, row: &Row) -> Option<Noticed> {
    let median = row.quantile(0.5)?.value;
    if let Some(mass) = mass(row, median) {
        return Some(mass);
    }
    let tail = row.quantiles.iter().filter(|(q, _)| *q >= 0.99).map(|(_, value)| value.value);
    let tail: Vec<f64> = tail.chain(row.max.map(|max| max.value)).collect();
    let seen =
        |at: f64, width: f64| tail.iter().copied().find(|v| *v >= at && *v <= at * (1.0 + width));
    let (at, value, cause) = QUANTA
        .iter()
        .filter(|(at, ..)| median * 20.0 < *at)
        .find_map(|(at, width, cause)| Some((*at, seen(*at, *width)?, *cause)))?;
    Some(
        Noticed::new(format!(
            "the slowest took {}, the middle one {}: {at:.0} s is {cause}",
            time(value),
            time(median)
        ))
        .with("seen_ms", value * 1e3)
        .with("timer_ms", at * 1e3),
    )
}

/// Timers so close to ordinary times that a single slow time proves nothing.
const NEAR: &[(f64, &str)] = &[
    (0.2, "the least time after which a lost segment is sent again"),
    (0.04, "the time for which an acknowledgement may be held back"),
];

/// At least two tail percentiles are at a timer.
fn mass(row: &Row, median: f64) -> Option<Noticed> {
    let tail = || row.quantiles.iter().filter(|(q, _)| *q >= 0.9).map(|(_, value)| value.value);
    let at_timer = |at: f64| tail().filter(move |value| (at..=at * 1.1).contains(value));
    let (at, cause) =
        NEAR.iter().find(|(at, _)| median * 20.0 < *at && at_timer(*at).count() >= 2)?;
    let seen = at_timer(*at).next()?;
    Some(
        Noticed::new(format!(
            "several percentiles are near {}, the middle one is {}: {:.0} ms is {cause}",
            time(seen),
            time(median),
            at * 1e3
        ))
        .with("seen_ms", seen * 1e3)
        .with("timer_ms", at * 1e3),
    )
}
