//! hey, as it prints. Failed requests have no times.

use super::figure::{count, number, sum, time};
use super::format::{self, Format, single};
use super::report::{LoadModel, MeasuredFrom, Report, Row, Run, push_quantile};

pub(super) const FORMAT: Format = Format {
    name: "hey",
    about: "hey, as it prints",
    marks: &[
        "Summary:",
        "Slowest:",
        "Requests/sec:",
        "Response time histogram:",
        "Status code distribution:",
    ],
    longest: format::SUMMARY,
    read,
};

fn read(text: &str) -> Result<Report, String> {
    format::once(text, "Requests/sec:")?;
    let mut row = Row { name: "all".to_owned(), ..Row::default() };
    let mut duration = None;
    let (mut answers, mut errors, mut in_errors) = (0, 0, false);
    for line in text.lines().map(str::trim) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let wrong = || format!("the values of `{line}`");
        match words[..] {
            ["Total:", value, "secs"] => duration = time(&format!("{value}s")),
            ["Slowest:", value, "secs"] => row.max = time(&format!("{value}s")),
            ["Fastest:", value, "secs"] => row.min = time(&format!("{value}s")),
            ["Average:", value, "secs"] => row.mean = time(&format!("{value}s")),
            ["Requests/sec:", value] => row.rate = number(value),
            ["Total", "data:", value, "bytes"] => row.bytes_total = number(value),
            ["Size/request:", value, "bytes"] => row.bytes_mean = number(value),
            // Some versions print two percent signs.
            [q, "in", value, "secs"] if q.ends_with('%') => {
                let q = number(q.trim_end_matches('%')).ok_or_else(wrong)?.value / 100.0;
                let value = time(&format!("{value}s")).ok_or_else(wrong)?;
                push_quantile(&mut row, q, value);
            }
            [code, n, "responses"] if code.starts_with('[') => {
                let n = count(n).ok_or_else(wrong)?;
                answers = sum([&answers, &n]);
                row.statuses.insert(code.trim_matches(['[', ']']).to_owned(), n);
            }
            ["Error", "distribution:"] => in_errors = true,
            [first, ..] if in_errors && first.starts_with('[') => {
                let (n, kind) = line.split_once(']').ok_or_else(wrong)?;
                let n = count(n.trim_start_matches('[')).ok_or_else(wrong)?;
                errors = sum([&errors, &n]);
                let kind = row.failures.entry(kind.trim().to_owned()).or_default();
                *kind = sum([&*kind, &n]);
            }
            _ => (),
        }
    }
    if answers + errors == 0 {
        return Err("the answers under `Status code distribution:`".to_owned());
    }
    let bad = |code: &String| code.parse().is_ok_and(|code: u16| code >= 400);
    for (code, n) in row.statuses.iter().filter(|(code, _)| bad(code)) {
        row.failures.insert(format!("status {code}"), *n);
    }
    row.n = Some(answers + errors);
    row.failed = Some(sum(row.failures.values()));
    row.timed = Some(answers);
    Ok(single(
        "hey",
        Run {
            model: Some(LoadModel::Closed),
            duration,
            measured_from: Some(MeasuredFrom::Sent),
            content_checked: Some(false),
            total: Some(row),
            ..Run::default()
        },
    ))
}
