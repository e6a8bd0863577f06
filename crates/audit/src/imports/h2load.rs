//! h2load, as it prints. The supported versions print no quantiles; failed requests have no times.

use super::figure::{count, leading, number, size, time};
use super::format::{self, Format, single};
use super::report::{LoadModel, MeasuredFrom, Report, Row, Run};

pub(super) const FORMAT: Format = Format {
    name: "h2load",
    about: "h2load, as it prints",
    marks: &[
        "finished in ",
        "requests: ",
        "status codes: ",
        "time for request:",
        "traffic: ",
        "req/s           :",
    ],
    longest: format::SUMMARY,
    read,
};

fn read(text: &str) -> Result<Report, String> {
    format::once(text, "finished in ")?;
    let mut row = Row { name: "all".to_owned(), ..Row::default() };
    let mut run = Run {
        model: Some(LoadModel::Closed),
        measured_from: Some(MeasuredFrom::Sent),
        content_checked: Some(false),
        ..Run::default()
    };
    for line in text.lines().map(str::trim) {
        let words: Vec<&str> = line.split_whitespace().collect();
        fill(&mut run, &mut row, &words).ok_or_else(|| format!("the values of `{line}`"))?;
    }
    // Requests that never began count as failed, too. h2load does not print how many requests a
    // client keeps in flight, so the number of clients is no bound on concurrency.
    row.timed = row.n;
    row.n = row.ok.zip(row.failed).map(|(ok, failed)| row.n.unwrap_or(0).max(ok + failed));
    run.total = Some(row);
    Ok(single("h2load", run))
}

fn fill(run: &mut Run, row: &mut Row, words: &[&str]) -> Option<()> {
    let counted = |place: usize| count(words.get(place)?);
    match words {
        // With `-D`, rates are those of this time; what it finished in includes stopping.
        ["spawning", .., length, "of", "main", "duration", "for", "measurements."] => {
            run.duration = Some(time(length)?);
        }
        ["finished", "in", length, rate, "req/s,", bytes] => {
            let length = time(length.trim_end_matches(','))?;
            run.duration.get_or_insert(length);
            row.rate = Some(number(rate)?);
            row.bytes_rate = Some(size(bytes, 1_024.0)?);
        }
        ["requests:", ..] => {
            let failed = words.iter().position(|word| word.starts_with("failed"))?;
            let done = words.iter().position(|word| word.starts_with("done"))?;
            row.n = Some(counted(done.checked_sub(1)?)?);
            row.ok = Some(counted(
                words.iter().position(|word| word.starts_with("succeeded"))?.checked_sub(1)?,
            )?);
            row.failed = Some(counted(failed.checked_sub(1)?)?);
        }
        ["status", "codes:", ..] => {
            for pair in words[2..].chunks_exact(2) {
                row.statuses.insert(pair[1].trim_end_matches(',').to_owned(), count(pair[0])?);
            }
        }
        ["traffic:", _, total, ..] => {
            row.bytes_total = Some(leading(total.trim_start_matches('('))?.0)
        }
        ["time", "for", "request:", min, max, mean, stdev, _] => {
            (row.min, row.max) = (Some(time(min)?), Some(time(max)?));
            (row.mean, row.stdev) = (Some(time(mean)?), Some(time(stdev)?));
        }
        ["finished" | "traffic:", ..] | ["time", "for", "request:", ..] => return None,
        _ => (),
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A busy machine needs longer to stop; the rates do not know that.
    #[test]
    fn a_timed_run_has_the_length_that_was_asked_for() {
        let text = include_str!("samples/h2load-timed.txt");
        let late = text.replace("finished in 3.00s", "finished in 3.06s");
        assert_ne!(text, late);
        assert_eq!(read(&late), read(text));
    }
}
