//! Time stamps of logs and recordings.

use jiff::civil::DateTime;
use jiff::tz::Offset;

/// An instant and how fine its stamp is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stamp {
    /// Nanoseconds since 1970, the beginning of what the stamp says.
    pub(crate) at: i128,
    /// Nanoseconds within which it may have been.
    pub(crate) within: u64,
}

const SECOND: i128 = 1_000_000_000;
const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// `10/Oct/2000:13:55:36 -0700`, as Apache and nginx write it.
pub(crate) fn common(text: &str) -> Option<Stamp> {
    let (time, zone) = text.split_once(' ')?;
    let (day, rest) = time.split_once('/')?;
    let (month, rest) = rest.split_once('/')?;
    let (year, clock) = rest.split_once(':')?;
    let month = MONTHS.iter().position(|known| *known == month)? + 1;
    stamp([number(year)?, month as i64, number(day)?], clock, zone)
}

/// `2016-04-15T20:17:00.310Z`, `2016-04-15 20:17:00,310+02:00`
pub(crate) fn iso(text: &str) -> Option<Stamp> {
    let (date, time) = text.split_once(['T', ' '])?;
    let mut parts = date.split('-');
    let date = [number(parts.next()?)?, number(parts.next()?)?, number(parts.next()?)?];
    let end = time.find(['Z', '+', '-', ' ']).unwrap_or(time.len());
    let (clock, zone) = time.split_at(end);
    stamp(date, clock, if zone.is_empty() { "Z" } else { zone.trim_start() })
}

/// Seconds, milliseconds, microseconds or nanoseconds since 1970.
pub(crate) fn number_since_1970(text: &str) -> Option<Stamp> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let is_number = whole.bytes().all(|byte| byte.is_ascii_digit());
    let value: i128 = is_number.then(|| whole.parse::<u64>().ok()).flatten()?.into();
    let unit = match whole.len() {
        0..=11 => SECOND,
        12..=14 => SECOND / 1000,
        15..=17 => SECOND / 1_000_000,
        _ => 1,
    };
    let (part, within) = fraction_of(fraction, unit)?;
    // A number loses the zeros at its end, so few digits do not say a coarse clock.
    let within = if fraction.is_empty() { within } else { within.min(1_000_000) };
    Some(Stamp { at: value.checked_mul(unit)? + part, within })
}

/// The nanoseconds of a fraction of a unit, and how fine it is.
fn fraction_of(digits: &str, unit: i128) -> Option<(i128, u64)> {
    if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let digits = &digits[..digits.len().min(9)];
    if digits.is_empty() {
        return Some((0, u64::try_from(unit).ok()?));
    }
    let scale = 10_i128.pow(u32::try_from(digits.len()).ok()?);
    let value = i128::from(number(digits)?);
    Some((value * unit / scale, u64::try_from((unit / scale).max(1)).ok()?))
}

fn stamp([year, month, day]: [i64; 3], clock: &str, zone: &str) -> Option<Stamp> {
    let mut parts = clock.split(':');
    let (hour, minute, second) = (number(parts.next()?)?, number(parts.next()?)?, parts.next()?);
    let (second, fraction) = second.split_once(['.', ',']).unwrap_or((second, ""));
    if parts.next().is_some() {
        return None;
    }
    let second = number(second)?;
    // A leap second has no instant of its own: it is the one after it.
    let is_leap = second == 60;
    let second = if is_leap { 59 } else { second };
    let [month, day, hour, minute, second] =
        [month, day, hour, minute, second].map(|part| i8::try_from(part).ok());
    let year = i16::try_from(year).ok()?;
    let time = DateTime::new(year, month?, day?, hour?, minute?, second?, 0).ok()?;
    let seconds = Offset::from_seconds(offset(zone)?).ok()?.to_timestamp(time).ok()?.as_second();
    let seconds = i128::from(seconds) + i128::from(is_leap);
    let (part, within) = fraction_of(fraction, SECOND)?;
    Some(Stamp { at: seconds * SECOND + part, within })
}

/// Seconds that a zone is ahead.
fn offset(zone: &str) -> Option<i32> {
    let sign = match zone.as_bytes().first()? {
        b'Z' | b'z' => return Some(0),
        b'+' => 1,
        b'-' => -1,
        _ => return None,
    };
    let digits = &zone[1..];
    let (hours, minutes) = match digits.split_once(':') {
        Some(parts) => parts,
        None if digits.len() == 4 && digits.is_ascii() => digits.split_at(2),
        None => (digits, "0"),
    };
    i32::try_from(sign * (number(hours)? * 3600 + number(minutes)? * 60)).ok()
}

fn number(digits: &str) -> Option<i64> {
    let is_number = !digits.is_empty() && digits.len() <= 9;
    (is_number && digits.bytes().all(|byte| byte.is_ascii_digit())).then(|| digits.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(seen: Option<Stamp>, seconds: i128, nanoseconds: i128, within: u64) {
        assert_eq!(seen, Some(Stamp { at: seconds * SECOND + nanoseconds, within }));
    }

    #[test]
    fn stamps_of_known_instants() {
        // RFC 3339 and `date -u -d @971211336`.
        check(common("10/Oct/2000:13:55:36 -0700"), 971_211_336, 0, 1_000_000_000);
        check(common("29/Feb/2024:00:00:00 +0000"), 1_709_164_800, 0, 1_000_000_000);
        check(iso("1985-04-12T23:20:50.52Z"), 482_196_050, 520_000_000, 10_000_000);
        check(iso("1996-12-19T16:39:57-08:00"), 851_042_397, 0, 1_000_000_000);
        check(iso("1970-01-01 00:00:01,5+00"), 1, 500_000_000, 100_000_000);
        check(number_since_1970("971211336"), 971_211_336, 0, 1_000_000_000);
        check(number_since_1970("971211336.25"), 971_211_336, 250_000_000, 1_000_000);
        check(number_since_1970("971211336250"), 971_211_336, 250_000_000, 1_000_000);
        check(iso("2026-11-26T02:38:53.123-0500"), 1_795_678_733, 123_000_000, 1_000_000);
        check(iso("2026-11-26T07:38:53"), 1_795_678_733, 0, 1_000_000_000);
        check(iso("2016-12-31T23:59:60Z"), 1_483_228_800, 0, 1_000_000_000);
        // An hour that a change to summer time leaves out or repeats is told by the zone.
        let (before, after) = ("31/Mar/2024:01:59:59 +0100", "31/Mar/2024:03:00:00 +0200");
        assert_eq!(common(after).unwrap().at - common(before).unwrap().at, SECOND);
    }

    #[test]
    fn what_is_no_stamp_is_none() {
        for text in [
            "",
            "x",
            "10/Foo/2000:13:55:36 -0700",
            "10/Oct/2000:13:55 -0700",
            "10/Oct/2000:99:00:00 +0000",
            "1/2/3:4:5:6 +0",
            "40/Oct/2000:13:55:36 +0000",
            "29/Feb/2015:13:55:36 +0000",
            "1é/Oct/2000:13:55:36 +0000",
            "10/Oct/2000:13:55:36 +é00",
        ] {
            assert_eq!(common(text), None, "{text}");
            assert_eq!(iso(text), None, "{text}");
        }
        assert_eq!(number_since_1970("1.x"), None);
        assert_eq!(number_since_1970("-1"), None);
        assert_eq!(iso("2016-04-15T20:17:00.12345678éZ"), None);
        assert_eq!(number_since_1970(&"9".repeat(60)), None);
    }
}
