//! How long each part of an answer took, for the header `Server-Timing`.

use std::time::Duration;

use hyper::header::HeaderValue;
use serving::timing;

/// The parts, as `Server-Timing` names them.
pub const PARTS: [&str; 4] = ["exchange", "decode", "encode", "front"];

/// Each part of one answer; what was not done took no time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Times {
    /// From the question being understood until the producer's answer was there and judged.
    pub exchange: Duration,
    /// JSON read.
    pub decode: Duration,
    /// JSON written anew.
    pub encode: Duration,
    /// From the request being read until its answer is handed over: all of them, and what lies between.
    pub front: Duration,
}

impl Times {
    /// The value of `Server-Timing`.
    pub fn header(&self) -> HeaderValue {
        let Self { exchange, decode, encode, front } = *self;
        let [first, second, third, last] = PARTS;
        timing::header([(first, exchange), (second, decode), (third, encode), (last, front)])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_told_to_the_nanosecond() {
        let times = Times {
            exchange: Duration::from_nanos(12_345),
            decode: Duration::from_nanos(1_000_007),
            encode: Duration::ZERO,
            front: Duration::from_secs(61),
        };
        assert_eq!(
            times.header().to_str().unwrap(),
            "exchange;dur=0.012345, decode;dur=1.000007, encode;dur=0.000000, front;dur=61000.000000"
        );
    }
}
