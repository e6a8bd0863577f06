//! `--adaptive`: a measure phase that is as long as its intervals need.
//!
//! The plan is made for the longest measure phase. At each look the run checks whether the intervals are narrow
//! enough, and ends the phase if they are. The confidence allows for several looks: each interval has [`CONFIDENCE`],
//! so that all of them together hold with 95 %.
//!
//! Not here: whether intervals are narrow enough (see `judge`).

use std::time::Duration;

use serde::Serialize;

use crate::diagnostic::{Diagnostic, Span};
use crate::load::{ArrivalProcess, Load, Model, Stop};

/// Instants of the looks, in seconds from the start of the measure phase.
const LOOKS_S: [u64; 6] = [30, 60, 120, 240, 480, 900];

/// Confidence of each interval: the looks share the error of 5 % (Bonferroni).
pub const CONFIDENCE: f64 = 1.0 - 0.05 / LOOKS_S.len() as f64;

/// The looks at the measure phase of each arm.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Adaptive {
    /// By arm: offsets from the start of the measure phase, ascending; the last one is its planned length.
    pub looks: Vec<Vec<Duration>>,
}

impl Adaptive {
    /// Extends every arm, given by name and load, to its longest look. `flag` is the place of `--adaptive`.
    ///
    /// Errors: each arm whose load cannot be extended
    pub(crate) fn extend<'a>(
        arms: impl Iterator<Item = (&'a str, &'a mut Load)>,
        flag: Span,
    ) -> Result<Self, Vec<Diagnostic>> {
        let mut looks = Vec::new();
        let mut problems = Vec::new();
        for (name, load) in arms {
            match extended(load) {
                Ok(planned) => {
                    let after = planned.last().copied().unwrap_or_default();
                    load.stop = Stop::Duration { after };
                    looks.push(planned);
                }
                Err(why) => problems.push(refused(name, why, flag)),
            }
        }
        if problems.is_empty() { Ok(Self { looks }) } else { Err(problems) }
    }
}

/// The looks at a load; the first is not before the requested length.
fn extended(load: &Load) -> Result<Vec<Duration>, &'static str> {
    let Stop::Duration { after } = load.stop else {
        return Err("it stops after a number of operations");
    };
    match &load.model {
        Model::Users { ramp: Some(_), .. } => return Err("its stages have a length of their own"),
        Model::Closed | Model::Users { .. } => {}
        Model::Open { arrivals } => match arrivals {
            ArrivalProcess::Constant { .. } | ArrivalProcess::Poisson { .. } => {}
            ArrivalProcess::Stages { .. } => return Err("its stages have a length of their own"),
            ArrivalProcess::Burst { .. } => return Err("its rate comes in bursts"),
            ArrivalProcess::Replay { .. } => return Err("its replay has a length of its own"),
        },
    }
    let usual = LOOKS_S.map(Duration::from_secs);
    let given = Some(after).filter(|after| *after > usual[0]);
    let later = usual.into_iter().filter(|look| given.is_none_or(|given| *look > given));
    Ok(given.into_iter().chain(later).collect())
}

fn refused(arm: &str, why: &str, flag: Span) -> Diagnostic {
    let message = format!("--adaptive cannot extend the load of arm `{arm}`: {why}");
    Diagnostic::new(flag, message, "needs a load without a fixed end").with_hint(
        "give a duration with a steady rate, connections or users, or leave --adaptive out",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::tests;

    fn file(load: &str) -> String {
        format!(
            "[target]\nurl = \"http://127.0.0.1:1\"\n[load]\n{load}\n\
             [[operation]]\nname = \"home\"\nhttp = {{ path = \"/\" }}\n"
        )
    }

    fn looks(load: &str) -> Result<Vec<u64>, String> {
        let mut arms = tests::plan(&file(load)).arms;
        match Adaptive::extend(
            arms.iter_mut().map(|arm| (arm.name.as_str(), &mut arm.load)),
            Span::default(),
        ) {
            Ok(adaptive) => {
                let looks: Vec<u64> = adaptive.looks[0].iter().map(Duration::as_secs).collect();
                let after = Duration::from_secs(looks[looks.len() - 1]);
                assert_eq!(arms[0].load.stop, Stop::Duration { after });
                Ok(looks)
            }
            Err(problems) => Err(problems[0].message.clone()),
        }
    }

    #[test]
    fn the_first_look_is_not_before_the_length_that_was_asked_for() {
        let open = |duration| looks(&format!("rate = \"50/s\"\nduration = \"{duration}\""));
        assert_eq!(open("10s").unwrap(), [30, 60, 120, 240, 480, 900]);
        assert_eq!(open("30s").unwrap(), [30, 60, 120, 240, 480, 900]);
        assert_eq!(open("45s").unwrap(), [45, 60, 120, 240, 480, 900]);
        assert_eq!(open("60s").unwrap(), [60, 120, 240, 480, 900]);
        assert_eq!(open("20m").unwrap(), [1200]);
        assert!((CONFIDENCE - 0.991_666_7).abs() < 1e-6);
    }

    #[test]
    fn loads_of_their_own_length_are_refused() {
        assert!(looks("connections = 3\nduration = \"10s\"").is_ok());
        for (load, why) in [
            ("rate = \"50/s\"\noperations = 100", "it stops after a number of operations"),
            ("connections = 2\noperations = 100", "it stops after a number of operations"),
            ("stages = [{ to = \"5/s\", over = \"3s\" }]", "its stages have a length of their own"),
            (
                "burst = { rate = \"5/s\", on = \"1s\", off = \"1s\" }\nduration = \"9s\"",
                "its rate comes in bursts",
            ),
        ] {
            let refused = looks(load).unwrap_err();
            assert_eq!(
                refused,
                format!("--adaptive cannot extend the load of arm `all`: {why}"),
                "{load}"
            );
        }
    }
}
