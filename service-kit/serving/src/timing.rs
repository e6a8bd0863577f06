//! The header `Server-Timing`, in which a system reports how long the parts of an answer took (W3C Server Timing).
//!
//! Not here: measuring them (see [`crate::watch`]), and which parts there are, which is each system's own.

use std::fmt::Write;
use std::time::Duration;

use hyper::header::{HeaderName, HeaderValue};

/// Its name.
pub const SERVER_TIMING: HeaderName = HeaderName::from_static("server-timing");

/// Its value for these parts, each in milliseconds to the nanosecond.
///
/// Panics: a name is not a token
pub fn header<const N: usize>(parts: [(&str, Duration); N]) -> HeaderValue {
    let mut text = String::with_capacity(28 * N);
    for (name, time) in parts {
        let separator = if text.is_empty() { "" } else { ", " };
        // In integers: this is done for every answer.
        let (of_second, rest) = (time.subsec_millis(), time.subsec_nanos() % 1_000_000);
        let whole = time.as_secs() * 1_000 + u64::from(of_second);
        // Writing to a string cannot fail.
        let _ = write!(text, "{separator}{name};dur={whole}.{rest:06}");
    }
    HeaderValue::try_from(text).expect("names, digits and points")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_keep_their_order_and_to_the_nanosecond() {
        let parts = [("one", Duration::from_nanos(1_000_007)), ("other", Duration::from_secs(61))];
        assert_eq!(header(parts), "one;dur=1.000007, other;dur=61000.000000");
        assert_eq!(header([("none", Duration::ZERO)]), "none;dur=0.000000");
        assert_eq!(header([]), "");
    }
}
