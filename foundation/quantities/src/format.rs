//! Quantities to texts, which read back as they were.

use std::time::Duration;

/// The shortest exact text: `20ms`, `1.5s`, `2m`.
pub fn format_duration(duration: Duration) -> String {
    let ns = duration.as_nanos();
    let whole = [("h", 3_600_000_000_000), ("m", 60_000_000_000)];
    for (unit, factor) in whole {
        if ns > 0 && ns.is_multiple_of(factor) {
            return format!("{}{unit}", ns / factor);
        }
    }
    for (unit, factor) in [("s", 1_000_000_000_u128), ("ms", 1_000_000), ("us", 1_000)] {
        if ns >= factor {
            return format!("{}{unit}", decimal(ns, factor));
        }
    }
    if ns == 0 { "0s".to_owned() } else { format!("{ns}ns") }
}

/// `value / factor` in decimal digits, exactly.
fn decimal(value: u128, factor: u128) -> String {
    let width = factor.ilog10() as usize;
    let text = format!("{}.{:0width$}", value / factor, value % factor);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// `500/s`, `0.5/s`.
pub fn format_rate(per_second: f64) -> String {
    let rounded = (per_second * 1e6).round() / 1e6;
    format!("{rounded}/s")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse_duration;

    #[test]
    fn durations_are_written_as_they_are_read() {
        for text in ["500us", "20ms", "1.5s", "2m", "1h", "0s", "7ns", "90s", "61.25ms"] {
            let parsed = parse_duration(text).unwrap();
            assert_eq!(parse_duration(&format_duration(parsed)), Some(parsed), "{text}");
        }
        assert_eq!(format_duration(Duration::from_millis(1500)), "1.5s");
        assert_eq!(format_duration(Duration::from_secs(90)), "90s");
        assert_eq!(format_duration(Duration::from_secs(120)), "2m");
    }

    #[test]
    fn rates_are_written_by_the_second() {
        assert_eq!(format_rate(0.5), "0.5/s");
        assert_eq!(format_rate(500.0), "500/s");
    }
}
