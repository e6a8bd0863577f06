//! Calibration cases: each is an experiment against the system `truth`, together with the expected
//! result.
//!
//! Not here: running them and printing the table (see `commands::calibrate`).

mod cases;

pub use cases::{CASES, CalibrationCase, CaseResult};

/// One line of the table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reading {
    /// The measured quantity.
    pub what: String,
    /// Its known value.
    pub truth: String,
    /// Its measured value.
    pub measured: String,
    /// Largest allowed difference, if the two are compared.
    pub bound: Option<String>,
    /// Whether the difference is within the bound.
    pub holds: bool,
}

impl Reading {
    /// A figure that is only shown.
    fn shown(what: &str, measured: String) -> Self {
        let what = what.to_owned();
        Self { what, truth: "–".to_owned(), measured, bound: None, holds: true }
    }

    /// A time with a known value; all in nanoseconds.
    fn time(what: &str, truth_ns: f64, measured_ns: f64, bound_ns: f64) -> Self {
        let text = |nanoseconds: f64| plan::number::duration(nanoseconds.round() as u64);
        Self {
            what: what.to_owned(),
            truth: text(truth_ns),
            measured: text(measured_ns),
            bound: Some(format!("± {}", text(bound_ns))),
            holds: (measured_ns - truth_ns).abs() <= bound_ns,
        }
    }

    /// A time that should be 0, with an upper bound; all in nanoseconds.
    fn error(what: &str, measured_ns: f64, bound_ns: f64) -> Self {
        let found = Self::time(what, 0.0, measured_ns, bound_ns);
        Self { bound: found.bound.map(|bound| bound.replace('±', "≤")), ..found }
    }

    /// A number that must match exactly.
    fn exact(what: &str, truth: u64, measured: u64) -> Self {
        Self {
            what: what.to_owned(),
            truth: plan::number::count(truth),
            measured: plan::number::count(measured),
            bound: Some("exact".to_owned()),
            holds: truth == measured,
        }
    }
}
