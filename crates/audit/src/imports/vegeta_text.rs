//! `vegeta report`: one block for each run; a document with several blocks has several runs.
//!
//! Also read from a document around a block: the heading above it, an `ID:` line whose last digits are the start in
//! milliseconds since 1970, the id in a link below, and headings that name a hypothesis or a conclusion.
//! Meaning of the rows: rate is requests divided by the time between first and last send, throughput is successes
//! divided by the whole time; quantiles are t-digest estimates.

use super::figure::time;
use super::figure::{self, Figure};
use super::format::{self, Format};
use super::report::{LoadModel, MeasuredFrom, Report, Row, Run, push_quantile};

pub(super) const FORMAT: Format = Format {
    name: "vegeta-text",
    about: "`vegeta report`, also several in one document",
    marks: &[
        "Requests      [total, rate",
        "Duration      [total",
        "Latencies     [",
        "Success       [ratio]",
        "Status Codes  [code:count]",
        "Error Set:",
    ],
    longest: format::SUMMARY,
    read,
};

/// Compression 100: a centroid in the middle holds up to a hundredth of all values.
pub(super) const TDIGEST_RANK_ERROR: f64 = 0.01;

fn read(text: &str) -> Result<Report, String> {
    let mut runs: Vec<Run> = Vec::new();
    let (mut heading, mut id) = (String::new(), None);
    let (mut hypothesis, mut conclusion) = (None, None);
    let gzip = text.contains("gzip");
    for line in text.lines().map(str::trim) {
        if let Some(title) = line.strip_prefix('#') {
            heading = title.trim_start_matches('#').trim().to_owned();
            let lower = heading.to_lowercase();
            let concludes = ["conclusion", "decision", "verdict"];
            if lower.contains("hypothesis") {
                hypothesis = Some(heading.clone());
            } else if concludes.iter().any(|word| lower.contains(word)) {
                conclusion = Some(heading.clone());
            }
        } else if let Some(name) = line.strip_prefix("ID:") {
            id = Some(name.trim().to_owned());
        } else if let Some((name, columns, values)) = row(line) {
            if name == "Requests" {
                format::at_most(format::MOST_RUNS, runs.len(), "runs")?;
                runs.push(begin(std::mem::take(&mut heading), id.take(), gzip));
            }
            let run = runs.last_mut().ok_or("the line `Requests`")?;
            fill(run, name, columns, values).ok_or_else(|| format!("the values of `{name}`"))?;
        } else if let (Some(link), Some(run)) = (link(line), runs.last_mut()) {
            run.linked_id.get_or_insert(link);
        }
    }
    if runs.iter().any(|run| run.total.as_ref().is_none_or(|total| total.statuses.is_empty())) {
        return Err("a whole block to `Status Codes`".to_owned());
    }
    doses(&mut runs);
    Ok(Report { tool: "vegeta".to_owned(), runs, hypothesis, conclusion, ..Report::default() })
}

/// `Name  [columns]  values`.
fn row(line: &str) -> Option<(&str, &str, &str)> {
    let (name, rest) = line.split_once('[')?;
    let (columns, values) = rest.split_once(']')?;
    let name = name.trim();
    let known =
        ["Requests", "Duration", "Latencies", "Bytes In", "Bytes Out", "Success", "Status Codes"];
    known.contains(&name).then_some((name, columns, values.trim()))
}

fn begin(name: String, id: Option<String>, gzip: bool) -> Run {
    let millis = id.as_deref().and_then(|id| id.rsplit('-').next()?.parse::<f64>().ok());
    Run {
        target_rate: labelled(&name, "rps"),
        asked_duration: labelled(&name, "s"),
        name,
        started_at: millis.filter(|millis| *millis > 1e12).map(|millis| millis / 1e3),
        id,
        model: Some(LoadModel::Open),
        measured_from: Some(MeasuredFrom::Sent),
        content_checked: Some(false),
        first_to_last: true,
        total: Some(Row {
            name: "all".to_owned(),
            rank_error: TDIGEST_RANK_ERROR,
            encoding: gzip.then(|| "gzip".to_owned()),
            ..Row::default()
        }),
        ..Run::default()
    }
}

/// `60` from a heading with the word `60s`.
fn labelled(heading: &str, unit: &str) -> Option<Figure> {
    let words = heading.split(|c: char| !c.is_alphanumeric());
    words
        .filter_map(|word| figure::count(word.strip_suffix(unit)?))
        .next()
        .map(|n| Figure::exact(n as f64))
}

fn fill(run: &mut Run, name: &str, columns: &str, values: &str) -> Option<()> {
    let total = run.total.as_mut()?;
    let mut parts = columns.split(',').map(str::trim).zip(values.split(',').map(str::trim));
    match name {
        "Requests" => {
            for (column, value) in parts {
                match column {
                    "total" => {
                        total.n = Some(figure::count(value)?);
                        total.timed = total.n;
                    }
                    "rate" => total.rate = Some(figure::number(value)?),
                    _ => total.goodput = Some(figure::number(value)?),
                }
            }
        }
        "Duration" => {
            for (column, value) in parts {
                match column {
                    "total" => run.duration = Some(time(value)?),
                    "attack" => run.send_window = Some(time(value)?),
                    _ => drop(time(value)?),
                }
            }
        }
        "Latencies" => {
            for (column, value) in parts {
                let value = time(value)?;
                match column {
                    "mean" => total.mean = Some(value),
                    "min" => total.min = Some(value),
                    "max" => total.max = Some(value),
                    q => push_quantile(total, figure::number(q)?.value / 100.0, value),
                }
            }
            total.max?;
        }
        "Bytes In" => {
            total.bytes_total = Some(figure::number(parts.next()?.1)?);
            total.bytes_mean = Some(figure::number(parts.next()?.1)?);
        }
        "Success" => total.ok_share = Some(figure::percent(values)?),
        "Status Codes" => {
            for pair in values.split_whitespace() {
                let (code, count) = pair.split_once(':')?;
                total.statuses.insert(code.to_owned(), figure::count(count)?);
            }
            let good = |code: &str| (200..400).contains(&code.parse().unwrap_or(0));
            let ok = total.statuses.iter().filter(|(code, _)| good(code));
            let ok = figure::sum(ok.map(|(_, n)| n));
            total.ok = Some(ok);
        }
        _ => (),
    }
    Some(())
}

/// The last part of a Markdown link's address.
fn link(line: &str) -> Option<String> {
    let (_, address) = line.split_once("](")?;
    let last = address.trim_end_matches(')').rsplit('/').next()?;
    last.starts_with("vegeta").then(|| last.to_owned())
}

/// If headings differ only in one number, that number is the dose.
fn doses(runs: &mut [Run]) {
    let split = |run: &Run| run.name.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let words: Vec<Vec<String>> = runs.iter().map(split).collect();
    let Some(first) = words.first() else { return };
    if words.len() < 2 || words.iter().any(|other| other.len() != first.len()) {
        return;
    }
    let differs = |place: &usize| words.iter().any(|other| other[*place] != first[*place]);
    let places: Vec<usize> = (0..first.len()).filter(differs).collect();
    let [place] = places[..] else { return };
    let doses: Option<Vec<f64>> =
        words.iter().map(|words| Some(figure::number(&words[place])?.value)).collect();
    for (run, dose) in runs.iter_mut().zip(doses.into_iter().flatten()) {
        run.dose = Some(dose);
    }
}
