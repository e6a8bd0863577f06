//! One line per window and operation.

use std::io::{self, Write};

use record::folder::Folder;

use judge::run_record::{RunRecord, TrialRecord, WindowRow, WindowTimes};

const HEADER: [&str; 16] = [
    "trial",
    "arm",
    "window",
    "start_s",
    "operation",
    "planned",
    "succeeded",
    "failed",
    "missed",
    "response_time_count",
    "response_time_p50_ns",
    "response_time_p99_ns",
    "response_time_max_ns",
    "service_time_p50_ns",
    "service_time_p99_ns",
    "service_time_max_ns",
];

/// Format `csv`.
pub(super) fn write(run: &RunRecord, _: &dyn Folder, out: &mut dyn Write) -> io::Result<()> {
    let mut table = Table::new(out)?;
    for trial in &run.trials {
        let arms = run.summary.arms.iter();
        let mut all = arms.flat_map(|arm| arm.trials.iter().map(move |one| (arm, one)));
        let found = all.find(|(_, one)| one.index == trial.index);
        let (arm, window_ns) = found.map_or(("", 0), |(arm, one)| (&*arm.name, one.window_ns));
        table.trial(trial, arm, window_ns)?;
    }
    table.finish()
}

/// The table, with one trial after the other.
pub(super) struct Table<W: Write> {
    csv: csv::Writer<W>,
}

impl<W: Write> Table<W> {
    /// Starts the table with its header.
    pub(super) fn new(out: W) -> io::Result<Self> {
        let mut csv = csv::Writer::from_writer(out);
        csv.write_record(HEADER)?;
        Ok(Self { csv })
    }

    /// Appends the windows of a trial of this arm, each of this length.
    pub(super) fn trial(
        &mut self,
        trial: &TrialRecord,
        arm: &str,
        window_ns: u64,
    ) -> io::Result<()> {
        for row in &trial.windows {
            let place = [trial.index.to_string(), arm.to_owned()];
            self.csv.write_record(place.into_iter().chain(cells(row, window_ns)))?;
        }
        Ok(())
    }

    /// Flushes the table.
    pub(super) fn finish(mut self) -> io::Result<()> {
        self.csv.flush()
    }
}

fn cells(row: &WindowRow, window_ns: u64) -> impl Iterator<Item = String> {
    let of = |times: Option<WindowTimes>, part: fn(WindowTimes) -> u64| {
        times.map_or(String::new(), |times| part(times).to_string())
    };
    let (response, service) = (row.response_time, row.service_time);
    [
        row.window.to_string(),
        format!("{:.1}", (row.window * window_ns) as f64 / 1e9),
        row.operation.clone(),
        row.planned.to_string(),
        row.succeeded.to_string(),
        row.failed_total().to_string(),
        row.missed.to_string(),
        of(response, |times| times.count),
        of(response, |times| times.p50_ns),
        of(response, |times| times.p99_ns),
        of(response, |times| times.max_ns),
        of(service, |times| times.p50_ns),
        of(service, |times| times.p99_ns),
        of(service, |times| times.max_ns),
    ]
    .into_iter()
}
