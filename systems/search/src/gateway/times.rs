//! How long each part took, as answers and the header `Server-Timing` tell it.

use std::io::Write;
use std::time::Duration;

use hyper::header::HeaderValue;

/// The parts by their names in `Server-Timing`; the last holds the others.
pub(crate) const PARTS: [&str; 4] = ["embed", "search", "join", "gateway"];

/// Nanoseconds of each part of one search.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Times {
    /// Text to vector.
    pub embed: u64,
    /// Vector to rows.
    pub search: u64,
    /// Boosts and metadata of the rows.
    pub join: u64,
    /// From the request being read to the answer being rendered.
    pub gateway: u64,
}

/// Nanoseconds as JSON numbers; saturates after 584 years.
pub(super) fn nanoseconds(time: Duration) -> u64 {
    time.as_nanos() as u64
}

impl Times {
    /// The value of `Server-Timing`, in milliseconds (W3C Server Timing).
    pub fn header(&self) -> HeaderValue {
        let Self { embed, search, join, gateway } = *self;
        let mut text = Vec::with_capacity(112);
        for (name, time) in PARTS.iter().zip([embed, search, join, gateway]) {
            let separator = if text.is_empty() { "" } else { ", " };
            let _ = write!(text, "{separator}{name};dur=");
            push(&mut text, time, 1_000_000);
        }
        HeaderValue::from_maybe_shared(bytes(text)).expect("names, digits and points")
    }

    /// Appends the object `took_us`, in microseconds.
    pub fn render(&self, to: &mut Vec<u8>) {
        let Self { embed, search, join, gateway } = *self;
        for (lead, time) in [
            (r#"{"embed":"#, embed),
            (r#","search":"#, search),
            (r#","join":"#, join),
            (r#","total":"#, gateway),
        ] {
            to.extend_from_slice(lead.as_bytes());
            push(to, time, 1_000);
        }
        to.push(b'}');
    }
}

fn bytes(text: Vec<u8>) -> hyper::body::Bytes {
    text.into()
}

/// Appends nanoseconds in a unit of so many of them, exactly: `0.012345`.
fn push(to: &mut Vec<u8>, time_ns: u64, unit: u64) {
    let (whole, rest) = (time_ns / unit, time_ns % unit);
    // Writing to a vector cannot fail.
    let _ = match unit {
        1_000 => write!(to, "{whole}.{rest:03}"),
        _ => write!(to, "{whole}.{rest:06}"),
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_told_to_the_nanosecond_in_both_units() {
        let times = Times { embed: 12_345, search: 1_000_007, join: 0, gateway: 999 };
        assert_eq!(
            times.header().to_str().unwrap(),
            "embed;dur=0.012345, search;dur=1.000007, join;dur=0.000000, gateway;dur=0.000999"
        );
        let mut json = Vec::new();
        times.render(&mut json);
        let text = String::from_utf8(json).unwrap();
        assert_eq!(text, r#"{"embed":12.345,"search":1000.007,"join":0.000,"total":0.999}"#);
    }
}
