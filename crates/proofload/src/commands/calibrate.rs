//! `proofload calibrate`: measures targets of known behaviour and shows truth and measurement side by side.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use judge::findings::INTERRUPTED;
use record::summary::Validity;
use tempfile::TempDir;

use crate::Exit;
use crate::calibration::{CASES, CalibrationCase, CaseResult, Reading};
use crate::cli::{CalibrateArgs, GeneratorFlags, OutputFlags, RecordFlags, ShareFlags, WatchFlags};
use crate::commands::run::measure;
use crate::execution::TrialOptions;
use crate::live::LiveView;
use crate::loading::load_text;
use crate::output;
use crate::problem::Problem;
use crate::scratch;
use crate::sharing::ShareRun;

/// Runs every case; exits 3 if a comparison fails.
pub fn calibrate(args: &CalibrateArgs) -> Result<Exit, Problem> {
    let mut live = LiveView::new(args.quiet);
    let kept = Folder::new(args.out.as_deref())?;
    let mut floor_ns = 0.0;
    let mut all_hold = true;
    output::print(&row(&HEADINGS.map(str::to_owned)))?;
    for case in CASES {
        live.say(&format!("measuring: {}", case.name));
        let readings = examine(case, &kept, args.generator, &mut live, &mut floor_ns)?;
        live.leave();
        all_hold &= readings.iter().all(|reading| reading.holds);
        output::print(&rows(case, &readings))?;
    }
    output::print(if all_hold {
        "\nEverything is within its bound.\n"
    } else {
        "\nSomething is beyond its bound: read figures of this machine with care, or calibrate again when \
         it is idle.\n"
    })?;
    Ok(if all_hold { Exit::Passed } else { Exit::Undecided })
}

fn examine(
    case: &CalibrationCase,
    kept: &Folder,
    generator: GeneratorFlags,
    live: &mut LiveView,
    floor_ns: &mut f64,
) -> Result<Vec<Reading>, Problem> {
    let loaded = load_text(case.name, &case.experiment())?;
    // The cases are lines.
    let flags = OutputFlags { out: Some(kept.of(case)), plain: true, ..OutputFlags::default() };
    let watch = WatchFlags::default();
    let options = TrialOptions::of(RecordFlags::default(), generator, ShareRun::WHOLE);
    let finished = measure(&loaded, (&flags, &watch, &ShareFlags::default()), options, live)?;
    let is_whole = finished.summary.findings.iter().all(|one| one.code != INTERRUPTED);
    let seen = CaseResult::of(&finished.summary, *floor_ns).filter(|_| is_whole);
    let Some(seen) = seen else {
        return Err(Problem::interrupted().during(format!("calibrating: {}", case.name)));
    };
    if *floor_ns == 0.0 {
        *floor_ns = seen.median_service_ns();
    }
    let mut readings = (case.compare)(&seen);
    readings.push(validity(&seen));
    Ok(readings)
}

/// Reports a late generator, even if all figures are right.
fn validity(seen: &CaseResult<'_>) -> Reading {
    let trial = seen.trial;
    let holds = matches!(trial.validity, Validity::Valid | Validity::Noted);
    let lag = trial.generator.dispatch_lag.quantiles.iter().find(|quantile| quantile.q == 0.99);
    let lag = lag.and_then(|quantile| quantile.observed_ns).map(plan::number::duration);
    let measured = match lag {
        Some(lag) if trial.generator.dispatch_lag.max_ns > 0 => format!("p99 {lag}"),
        _ => "–".to_owned(),
    };
    Reading {
        what: "dispatch lag".to_owned(),
        truth: "–".to_owned(),
        measured,
        bound: Some("valid trial".to_owned()),
        holds,
    }
}

const HEADINGS: [&str; 6] = ["case", "quantity", "truth", "measured", "bound", ""];
const WIDTHS: [usize; 6] = [24, 20, 12, 14, 12, 6];

fn rows(case: &CalibrationCase, readings: &[Reading]) -> String {
    let mut text = String::new();
    for (index, reading) in readings.iter().enumerate() {
        let name = if index == 0 { case.name } else { "" };
        let holds = match (&reading.bound, reading.holds) {
            (None, _) => "",
            (Some(_), true) => "holds",
            (Some(_), false) => "BEYOND",
        };
        let bound = reading.bound.clone().unwrap_or_default();
        let cells = [name, &reading.what, &reading.truth, &reading.measured, &bound, holds];
        text += &row(&cells.map(str::to_owned));
    }
    text
}

fn row(cells: &[String; 6]) -> String {
    let mut line = String::new();
    for (cell, width) in cells.iter().zip(WIDTHS) {
        // Writing to a string cannot fail.
        let _ = write!(line, "{cell:<width$} ");
    }
    line.trim_end().to_owned() + "\n"
}

/// Where the run folders go.
enum Folder {
    /// The user's.
    Kept(PathBuf),
    /// Removed at the end; if that fails, only files in the system's temporary folder remain.
    Temporary(TempDir),
}

impl Folder {
    fn new(out: Option<&Path>) -> Result<Self, Problem> {
        match out {
            Some(out) => Ok(Self::Kept(out.to_owned())),
            None => scratch::folder("proofload-calibrate-").map(Self::Temporary),
        }
    }

    fn of(&self, case: &CalibrationCase) -> PathBuf {
        let root = match self {
            Self::Kept(root) => root,
            Self::Temporary(root) => root.path(),
        };
        root.join(case.name.replace([' ', ',', '/'], "-").to_lowercase())
    }
}
