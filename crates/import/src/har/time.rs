//! Times of a recording: `2026-11-26T07:38:53.123+01:00`.

/// Milliseconds since 1970 in UTC; `None` for what is no such time.
pub fn parse(text: &str) -> Option<f64> {
    let (date, rest) = text.trim().split_once(['T', ' '])?;
    let date: Vec<i64> = date.split('-').map(number).collect::<Option<_>>()?;
    let &[year, month, day] = date.as_slice() else { return None };
    if !(1970..=9999).contains(&year) || !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    let zone_at = rest.find(['Z', 'z', '+', '-']).unwrap_or(rest.len());
    let (clock, zone) = rest.split_at(zone_at);
    let mut parts = clock.split(':');
    let hours = number(parts.next()?).filter(|hours| *hours < 24)?;
    let minutes = number(parts.next()?).filter(|minutes| *minutes < 60)?;
    let seconds: f64 = parts.next().unwrap_or("0").parse().ok()?;
    if parts.next().is_some() || !(0.0..61.0).contains(&seconds) {
        return None;
    }
    let minutes = (days(year, month, day) * 24 + hours) * 60 + minutes - offset(zone)?;
    Some((minutes * 60_000) as f64 + seconds * 1000.0)
}

fn number(text: &str) -> Option<i64> {
    let is_short = (1..=4).contains(&text.len()) && text.bytes().all(|one| one.is_ascii_digit());
    is_short.then(|| text.parse().ok()).flatten()
}

/// Minutes that a zone is ahead of UTC.
fn offset(zone: &str) -> Option<i64> {
    let sign = match zone.chars().next() {
        None | Some('Z' | 'z') => return Some(0),
        Some('-') => -1,
        Some(_) => 1,
    };
    let digits: String = zone[1..].chars().filter(|one| *one != ':').collect();
    let (hours, minutes) = (digits.get(..2)?, digits.get(2..).unwrap_or_default());
    let minutes = if minutes.is_empty() { 0 } else { number(minutes)? };
    Some(sign * (number(hours)? * 60 + minutes))
}

/// Days since 1970, in the Gregorian calendar.
fn days(year: i64, month: i64, day: i64) -> i64 {
    // Years begin in March, so that the leap day is the last one.
    let year = if month <= 2 { year - 1 } else { year };
    let month = (month + 9) % 12;
    let of_year = (153 * month + 2) / 5 + day - 1;
    year * 365 + year / 4 - year / 100 + year / 400 + of_year - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_zones_and_fractions() {
        for (text, expected) in [
            ("1970-01-01T00:00:00Z", Some(0.0)),
            ("2000-03-01T00:00:00.5Z", Some(951_868_800_500.0)),
            ("2026-11-26T08:38:53.123+01:00", Some(1_795_678_733_123.0)),
            ("2026-11-26T07:38:53.123", Some(1_795_678_733_123.0)),
            ("2026-11-26T02:38:53.123-0500", Some(1_795_678_733_123.0)),
            ("2026-13-26T02:38:53Z", None),
            ("2026-11-26T25:38:53Z", None),
            ("2026-11-26T02:38:53+é", None),
            ("yesterday", None),
            ("", None),
        ] {
            assert_eq!(parse(text), expected, "{text}");
        }
    }
}
