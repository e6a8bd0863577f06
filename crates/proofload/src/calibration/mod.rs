//! Cases of known truth, each an experiment against the system `truth`, and what must come
//! out of it.
//!
//! Not here: running them and printing the table (see `commands::calibrate`).

mod cases;

pub use cases::{CASES, CalibrationCase, CaseResult};

/// One line of the table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reading {
    /// Which quantity.
    pub what: String,
    /// What is known of it.
    pub truth: String,
    /// What came out.
    pub measured: String,
    /// How far apart they may be, if they are held against each other.
    pub bound: Option<String>,
    /// Whether it is within the bound.
    pub holds: bool,
}

impl Reading {
    /// A figure that is only shown.
    fn shown(what: &str, measured: String) -> Self {
        let what = what.to_owned();
        Self { what, truth: "–".to_owned(), measured, bound: None, holds: true }
    }

    /// A time that should be this long; all nanoseconds.
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

    /// A time that should be 0 and is at most so long; all nanoseconds.
    fn error(what: &str, measured_ns: f64, bound_ns: f64) -> Self {
        let found = Self::time(what, 0.0, measured_ns, bound_ns);
        Self { bound: found.bound.map(|bound| bound.replace('±', "≤")), ..found }
    }

    /// A number that must be exactly this.
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
