//! Findings about failures by colliding operations: their share grows with the rate as in a race.

use record::FailureKind;
use record::summary::{Arm, Operation, Severity, Validity};
use stats::race::{Dose, Race};

use super::arm_pair::load;
use super::kind::in_arm;
use super::kind::{Check, FindingKind, Noticed};
use crate::case::RunView;
use plan::number::{duration, percent, rate};

/// With fewer failures, the share is not known well enough.
const FEWEST: f64 = 5.0;
/// From this share on, its growth shows nothing.
const NEARLY_ALL: f64 = 0.9;
/// Other failures, as a share of those by wrong content, up to which wrong content is considered.
const OTHERS: f64 = 0.1;
/// Rates whose ratio is lower count as the same rate.
const APART: f64 = 1.1;

/// Failures that fit a race.
pub const RACE: FindingKind = FindingKind {
    code: "race-window",
    severity: Severity::Info,
    clearest: None,
    title: "failures fit a race",
    explain: "Where an operation fails if another one comes within a window of w, the share of failures at λ operations \
              a second is 1 − exp(−λ·w) (rule R31). Answers with wrong content are held against that, from five of them \
              on, below a share of nine tenths, and where hardly any operation fails otherwise, so that errors of the \
              target explain none of them: w = −ln(1−share)/λ, with what the share's interval (Wilson, 95 %) makes of \
              it. At one rate some window always fits, and what it predicts at others is all that it is good for. Rates \
              of arms that differ in their load alone test it: one window fits all of them (χ² at 95 %), or such a race \
              is not the cause. Failures of any kind are told where arms with different planned rates fit one window and \
              no constant share. What fits a race need not be one: look for a place that two operations share, a file, \
              a key, a buffer.",
    check: Check::Run(race),
};

/// Looks at wrong content first, then at failures of any kind that grow.
pub(super) fn race(whole: &RunView<'_>) -> Option<Noticed> {
    wrong_content(whole.arms).or_else(|| growing(whole.arms))
}

/// The operation with the most answers of wrong content.
fn wrong_content(arms: &[Arm]) -> Option<Noticed> {
    let trials = arms.iter().flat_map(Arm::counted);
    let mut names: Vec<&str> =
        trials.flat_map(|trial| &trial.operations).map(|one| one.name.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    let seen = names.into_iter().flat_map(|name| LoadSeries::of(arms, name));
    let enough = seen.filter(|seen| seen.doses.iter().any(|dose| dose.failed >= FEWEST));
    enough.max_by(|a, b| a.failed().total_cmp(&b.failed()))?.noticed()
}

/// Failures of one operation in arms that differ only in their load, or in one arm; lowest rate first.
struct LoadSeries<'a> {
    operation: &'a str,
    arms: Vec<&'a Arm>,
    doses: Vec<Dose>,
}

impl<'a> LoadSeries<'a> {
    /// Groups arms that differ only in their load; each other arm is alone.
    fn of(arms: &'a [Arm], operation: &'a str) -> Vec<Self> {
        let mut found: Vec<Self> = Vec::new();
        for arm in arms {
            let Some(dose) = of_content(arm, operation) else { continue };
            match found.iter_mut().find(|seen| seen.takes(arm, &dose)) {
                Some(seen) => {
                    let place = seen.doses.partition_point(|known| known.rate < dose.rate);
                    seen.arms.insert(place, arm);
                    seen.doses.insert(place, dose);
                }
                None => found.push(Self { operation, arms: vec![arm], doses: vec![dose] }),
            }
        }
        found
    }

    /// Whether the arm differs from all of these in the same single factor, and in its load.
    fn takes(&self, arm: &Arm, dose: &Dose) -> bool {
        let factor = self.arms.first().and_then(|first| only_difference(first, arm));
        let is_apart = |known: &Dose| (known.rate / dose.rate).max(dose.rate / known.rate) > APART;
        factor.is_some()
            && self.arms.iter().all(|known| only_difference(known, arm) == factor)
            && self.arms.iter().all(|known| load_of(known) != load_of(arm))
            && self.doses.iter().all(is_apart)
    }

    fn failed(&self) -> f64 {
        self.doses.iter().map(|dose| dose.failed).sum()
    }

    fn noticed(&self) -> Option<Noticed> {
        let race = Race::fit(&self.doses)?;
        let (claim, advice) = match &self.doses[..] {
            [one] => (
                self.at_one_rate(&race, one),
                "measure at another rate, which the window foretells",
            ),
            _ if race.fits() => {
                (self.at_several(&race), "look for a place that two operations share")
            }
            _ => (
                self.misfit(),
                "look for a cause other than colliding requests: such a race has one window at all rates",
            ),
        };
        let fastest = self.doses.last()?.rate;
        let noticed = Noticed::new(claim, advice)
            .about(self.operation)
            .with("fits", race.fits())
            .with("window_s", race.window)
            .with("window_low_s", race.interval.low)
            .with("window_high_s", race.interval.high)
            .with("rates", self.doses.iter().map(|dose| dose.rate).collect::<Vec<_>>())
            .with("shares", self.doses.iter().map(Dose::share).collect::<Vec<_>>())
            .with("share_at_twice", race.share_at(2.0 * fastest))
            .with("share_at_four_times", race.share_at(4.0 * fastest))
            .with("misfit", race.misfit)
            .with("misfit_of_a_constant_share", race.misfit_of_a_constant_share);
        Some(noticed)
    }

    fn at_one_rate(&self, race: &Race, dose: &Dose) -> String {
        format!(
            "{} of the answers to {} had wrong content at {}{}, which fits a race with a window of {}: it would be {}",
            percent(dose.share()),
            self.operation,
            rate(dose.rate),
            in_arm(&self.arms[0].name),
            window(race),
            beyond(race, dose.rate),
        )
    }

    fn at_several(&self, race: &Race) -> String {
        let shares = self
            .doses
            .iter()
            .map(|dose| format!("{} at {}", percent(dose.share()), rate(dose.rate)));
        let shares: Vec<String> = shares.collect();
        let constant = match race.is_constant() {
            true => "; so does one share for all of them",
            false => "",
        };
        let fastest = self.doses.last().map_or(0.0, |dose| dose.rate);
        format!(
            "wrong content in answers to {} fits a race with one window of {} at {} rates ({}){constant}: it would be {}",
            self.operation,
            window(race),
            self.doses.len(),
            shares.join(", "),
            beyond(race, fastest),
        )
    }

    fn misfit(&self) -> String {
        let alone = self.doses.iter().map(|dose| {
            let (share, at, window) = (percent(dose.share()), rate(dose.rate), dose.window());
            format!("{share} at {at} would take one of {}", seconds(window))
        });
        let alone: Vec<String> = alone.collect();
        format!(
            "wrong content in answers to {} does not fit a race, whose window is the same at all rates: {}",
            self.operation,
            alone.join(", "),
        )
    }
}

/// `4.02 ms (95 %: 3.68 ms – 4.40 ms)`
fn window(race: &Race) -> String {
    let [at, low, high] = [race.window, race.interval.low, race.interval.high].map(seconds);
    format!("{at} (95 %: {low} – {high})")
}

/// `9.39 % at 24.5/s and 17.9 % at 49.0/s`
fn beyond(race: &Race, from: f64) -> String {
    let at =
        |times: f64| format!("{} at {}", percent(race.share_at(times * from)), rate(times * from));
    format!("{} and {}", at(2.0), at(4.0))
}

fn seconds(window: f64) -> String {
    duration((window * 1e9).round() as u64)
}

/// The factor in which two arms differ, if it is only one.
fn only_difference<'a>(one: &'a Arm, other: &Arm) -> Option<&'a str> {
    let mut differing =
        one.factors.iter().filter(|(name, level)| other.factors.get(*name) != Some(*level));
    let (factor, _) = differing.next()?;
    let alone = differing.next().is_none() && one.factors.len() == other.factors.len();
    alone.then_some(factor.as_str())
}

fn load_of(arm: &Arm) -> Option<(u32, Option<u32>, Option<u64>)> {
    arm.counted().next().map(load)
}

/// Wrong content in the answers to an operation of an arm, with the rate of its operations; `None` where other
/// failures are more than a few, which may be the cause.
fn of_content(arm: &Arm, operation: &str) -> Option<Dose> {
    let usable = || arm.counted().filter(|trial| trial.validity != Validity::Invalid);
    let parts: Vec<&Operation> = usable()
        .filter_map(|trial| trial.operations.iter().find(|one| one.name == operation))
        .collect();
    let sum = |of: &dyn Fn(&Operation) -> u64| parts.iter().map(|one| of(one)).sum::<u64>() as f64;
    let wrong =
        sum(&|one| one.failures.get(FailureKind::WrongContent.name()).copied().unwrap_or(0));
    let otherwise = sum(&|one| one.failed + one.abandoned) - wrong;
    let answered = sum(&|one| one.succeeded) + wrong;
    let seconds = usable().map(|trial| trial.phases.measure_ns).sum::<u64>() as f64 / 1e9;
    let dose = Dose { rate: (answered + otherwise) / seconds, failed: wrong, begun: answered };
    let is_known = seconds > 0.0 && answered > 0.0 && otherwise <= OTHERS * wrong;
    (is_known && dose.share() < NEARLY_ALL).then_some(dose)
}

/// Failures of an arm with an open load; `None` if it missed operations.
fn dose(arm: &Arm) -> Option<Dose> {
    let rate = arm.counted().next()?.load.offered_rate?;
    let sums = || arm.counted().map(|trial| trial.accounting);
    let whole = sums().all(|sums| sums.missed == 0);
    let failed = sums().map(|sums| sums.failed).sum::<u64>() as f64;
    let begun = sums().map(|sums| sums.started).sum::<u64>() as f64;
    (whole && rate > 0.0 && begun > failed).then_some(Dose { rate, failed, begun })
}

/// Failures of any kind, over planned rates.
fn growing(arms: &[Arm]) -> Option<Noticed> {
    let doses: Vec<Dose> = arms.iter().filter_map(dose).collect();
    let found = Race::of(&doses)?;
    let fast = doses.iter().map(|dose| dose.rate).fold(0.0, f64::max);
    let expected = |times: f64| percent(found.share_at(times * fast));
    let claim = format!(
        "the share of failures grows with the rate as in a race with a window of {}: {} at {}, {} at twice and {} \
         at ten times that rate",
        seconds(found.window),
        expected(1.0),
        rate(fast),
        expected(2.0),
        expected(10.0)
    );
    let noticed = Noticed::new(claim, "look for two operations that must not meet")
        .with("window_s", found.window)
        .with("misfit", found.misfit)
        .with("misfit_of_a_constant_share", found.misfit_of_a_constant_share);
    Some(noticed)
}
