//! The form of numbers on every page: at least three significant digits, always with a unit.
//!
//! Not here: columns and tables (see `pages`).

/// A duration, in the unit that leaves one to three digits before the point.
///
/// Units:  nanoseconds in; `57.2 µs`, `1.06 ms`, `501 ms`, `25.0 s`, `1,230 s` out
pub fn duration(nanoseconds: u64) -> String {
    if nanoseconds < 1_000 {
        return format!("{nanoseconds} ns");
    }
    let value = nanoseconds as f64;
    for (unit, size) in [("µs", 1e3), ("ms", 1e6)] {
        let text = significant(value / size);
        if value / size < 999.5 {
            return format!("{text} {unit}");
        }
    }
    format!("{} s", significant(value / 1e9))
}

/// A duration that may not exist.
pub fn duration_or(nanoseconds: Option<u64>, absent: &str) -> String {
    nanoseconds.map_or_else(|| absent.to_owned(), duration)
}

/// A rate per second.
pub fn rate(per_second: f64) -> String {
    format!("{}/s", significant(per_second))
}

/// A ratio as a percentage. Never rounds up to a whole 100 %, nor down to 0 %.
pub fn percent(ratio: f64) -> String {
    if ratio <= 0.0 {
        return "0 %".to_owned();
    }
    if ratio < 1.0 && ratio > 0.9995 {
        return "> 99.9 %".to_owned();
    }
    if ratio < 0.000_05 {
        return "< 0.01 %".to_owned();
    }
    let value = ratio * 100.0;
    let digits = if value >= 99.95 {
        0
    } else if value >= 10.0 {
        1
    } else {
        2
    };
    format!("{value:.digits$} %")
}

/// A ratio as a change: `+12.3 %`, `−4.05 %`.
pub fn change(ratio: f64) -> String {
    let size = (ratio - 1.0).abs() * 100.0;
    let digits = if size >= 99.95 { 0 } else { 1 + usize::from(size < 9.995) };
    let sign = if ratio < 1.0 { '−' } else { '+' };
    if size < 0.005 { "±0 %".to_owned() } else { format!("{sign}{size:.digits$} %") }
}

/// A difference of shares, in percentage points.
pub fn points(difference: f64) -> String {
    let size = difference.abs() * 100.0;
    let sign = if difference < 0.0 { '−' } else { '+' };
    if size == 0.0 { "0 pp".to_owned() } else { format!("{sign}{size:.3} pp") }
}

/// A count, with thousands separated.
pub fn count(value: u64) -> String {
    let digits = value.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A size in bytes, in binary units.
pub fn bytes(value: u64) -> String {
    const UNITS: [&str; 4] = ["KiB", "MiB", "GiB", "TiB"];
    if value < 1024 {
        return format!("{value} B");
    }
    let mut scaled = value as f64 / 1024.0;
    let mut unit = 0;
    while scaled >= 999.5 && unit + 1 < UNITS.len() {
        scaled /= 1024.0;
        unit += 1;
    }
    format!("{} {}", significant(scaled), UNITS[unit])
}

/// A plain number: three significant digits, whole from 100 on.
pub fn significant(value: f64) -> String {
    let size = value.abs();
    if !value.is_finite() {
        return "n/a".to_owned();
    }
    // Beyond this, not every whole number is a value.
    const WHOLE: f64 = 9e15;
    if size >= WHOLE {
        return format!("{value:.2e}");
    }
    if size >= 99.95 {
        let whole = count(size.round() as u64);
        return if value < 0.0 { format!("-{whole}") } else { whole };
    }
    let digits = if size >= 9.995 {
        1
    } else if size >= 0.9995 || size == 0.0 {
        2
    } else {
        // Leading zeros after the point do not count as significant.
        (2 - size.log10().floor() as i32).clamp(3, 9) as usize
    };
    if size == 0.0 { "0".to_owned() } else { format!("{value:.digits$}") }
}

/// `p99.9` for 0.999.
pub fn percentile(q: f64) -> String {
    let text = format!("{:.6}", q * 100.0);
    format!("p{}", text.trim_end_matches('0').trim_end_matches('.'))
}

/// A number in the unit of a criterion's bound: a unit of time, `%`, `/s`, or none. The text after
/// `over` is the length of windows.
pub fn in_unit_of(criterion: &str, value: f64) -> String {
    let bound = criterion.split(" over ").next().unwrap_or_default().trim_end();
    let unit: String = bound.chars().rev().take_while(|c| !c.is_ascii_digit()).collect();
    let unit: String = unit.chars().rev().collect();
    match unit.trim() {
        "ns" | "us" | "µs" | "ms" | "s" | "m" | "min" | "h" => duration(value.max(0.0) as u64),
        "%" => percent(value),
        "/s" | "/min" | "/m" | "/h" => rate(value),
        _ if value.fract() == 0.0 && value >= 0.0 => count(value as u64),
        _ => significant(value),
    }
}

/// These trials in words; `None` for an empty list.
pub fn trials(numbers: &[u32]) -> Option<String> {
    let named: Vec<String> = numbers.iter().map(ToString::to_string).collect();
    match numbers.len() {
        0 => None,
        1 => Some(format!("trial {}", named[0])),
        _ => Some(format!("trials {}", named.join(", "))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_keep_three_digits_and_change_unit_before_a_thousand() {
        for (nanoseconds, text) in [
            (0, "0 ns"),
            (812, "812 ns"),
            (1_000, "1.00 µs"),
            (57_249, "57.2 µs"),
            (999_400, "999 µs"),
            (999_600, "1.00 ms"),
            (1_058_000, "1.06 ms"),
            (500_900_000, "501 ms"),
            (1_000_300_000, "1.00 s"),
            (25_003_000_000, "25.0 s"),
            (1_234_000_000_000, "1,234 s"),
        ] {
            assert_eq!(duration(nanoseconds), text);
        }
    }

    #[test]
    fn a_ratio_is_never_rounded_to_all_or_nothing() {
        assert_eq!(percent(0.0), "0 %");
        assert_eq!(percent(1.0), "100 %");
        assert_eq!(percent(0.999_9), "> 99.9 %");
        assert_eq!(percent(0.000_001), "< 0.01 %");
        assert_eq!(percent(0.008_75), "0.88 %");
        assert_eq!(percent(0.423), "42.3 %");
    }

    #[test]
    fn a_ratio_reads_as_a_change() {
        for (ratio, text) in [
            (1.0, "±0 %"),
            (1.123_4, "+12.3 %"),
            (0.959_5, "−4.05 %"),
            (2.5, "+150 %"),
            (1.000_4, "+0.04 %"),
        ] {
            assert_eq!(change(ratio), text);
        }
        assert_eq!((points(0.0046), points(-0.001)), ("+0.460 pp".into(), "−0.100 pp".into()));
    }

    #[test]
    fn rates_counts_bytes_and_percentiles_read_as_people_write_them() {
        assert_eq!(rate(20_013.4), "20,013/s");
        assert_eq!(rate(24.91), "24.9/s");
        assert_eq!(rate(0.5), "0.500/s");
        assert_eq!(count(1_234_567), "1,234,567");
        assert_eq!(count(999), "999");
        assert_eq!(bytes(2_000), "1.95 KiB");
        assert_eq!(bytes(1 << 30), "1.00 GiB");
        assert_eq!(percentile(0.999), "p99.9");
        assert_eq!(percentile(0.5), "p50");
        assert_eq!(percentile(0.9999), "p99.99");
    }

    #[test]
    fn a_criterion_lends_its_unit() {
        assert_eq!(in_unit_of("p99 < 20ms", 18_400_000.0), "18.4 ms");
        assert_eq!(in_unit_of("p99 < 20ms over 10s windows", 18_400_000.0), "18.4 ms");
        assert_eq!(in_unit_of("failed == 0 over 10s windows", 3.0), "3");
        assert_eq!(in_unit_of("a / b == 100%", 0.92), "92.0 %");
        assert_eq!(in_unit_of("goodput >= 500/s", 498.2), "498/s");
        assert_eq!(in_unit_of("failed == 0", 3.0), "3");
    }
}
