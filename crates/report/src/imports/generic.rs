//! Figures typed in by hand: JSON of the model itself, see [`super::foreign::FIELDS`].

use super::figure::COUNT_LIMIT;
use super::foreign::{Row, Run};
use super::{Foreign, Format};

pub(super) const FORMAT: Format = Format {
    name: "figures",
    about: "figures typed in by hand (`proofload-figures/1`, JSON)",
    marks: &["\"proofload-figures/1\"", "\"runs\""],
    longest: super::SUMMARY,
    read,
};

fn read(text: &str) -> Result<Foreign, String> {
    let report: Foreign = serde_json::from_str(text)
        .map_err(|error| format!("a whole `proofload-figures/1` ({error})"))?;
    let rows = report.runs.iter().flat_map(Run::all);
    let counts = rows.flat_map(counts).chain(
        report.runs.iter().flat_map(|run| run.intervals.iter().map(|interval| interval.count)),
    );
    let most = counts.max().unwrap_or(0);
    if most < COUNT_LIMIT { Ok(report) } else { Err(format!("counts below {COUNT_LIMIT}")) }
}

fn counts(row: &Row) -> impl Iterator<Item = u64> {
    let own = [row.n, row.ok, row.failed, row.timed].into_iter().flatten();
    let items = row.items.iter().flat_map(|items| {
        [Some(items.targets), items.delivered, items.failed, items.population].into_iter().flatten()
    });
    own.chain(items).chain(row.failures.values().chain(row.statuses.values()).copied())
}
