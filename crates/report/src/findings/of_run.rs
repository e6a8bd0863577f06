//! Findings that need several trials, or the machine of the run.

use record::summary::{Arm, Finding, Machine, Severity, Trial};
use stats::race::{Dose, Race};

use super::bound_apart::{BOUND_APART, bound_apart};
use super::level_adds::{LEVEL_ADDS, level_adds};
use super::{Noticed, Row, course};
use crate::number::{bytes, count, duration, percent, rate};

/// A finding about a whole run.
type Look = fn(&[Arm], &Machine) -> Option<Noticed>;

/// What looks at a whole run, with its row.
const LOOKS: [(&Row, Look); 6] = [
    (&MEMORY, memory),
    (&CONSTANT_FAILURES, constant_failures),
    (&RACE, race),
    (&LEVEL_ADDS, level_adds),
    (&BOUND_APART, bound_apart),
    (&FEW_TRIALS, few_trials),
];

/// Everything that the table notices about all trials together.
pub fn of_run(arms: &[Arm], machine: &Machine) -> Vec<Finding> {
    LOOKS.iter().filter_map(|(row, look)| Some(course::of_run(row, look(arms, machine)?))).collect()
}

/// Memory nearly full.
pub const MEMORY: Row = Row {
    code: "memory-tight",
    severity: Severity::Warning,
    clearest: None,
    title: "processes under test filled the memory",
    explain: "The processes under test held four fifths of the machine's memory or more at a time (rule R45). What \
              was cached may have been evicted and what was idle swapped out, which no other machine will repeat. \
              Use less data, or a larger machine.",
    check: |_| None,
};

/// The same number of failures whatever the load.
pub const CONSTANT_FAILURES: Row = Row {
    code: "constant-failures",
    severity: Severity::Warning,
    clearest: None,
    title: "the same number of operations failed in each trial",
    explain: "Three trials or more of different size had exactly the same number of failures (rule R28). Failures \
              that come with load would grow with it: these have a cause of their own in each trial, such as a \
              limit of connections or a start that is not ready. Look for a setting of that size, plus or minus \
              one.",
    check: |_| None,
};

/// Failures that come with neighbours.
pub const RACE: Row = Row {
    code: "race-window",
    severity: Severity::Info,
    clearest: None,
    title: "failures grow with the rate as in a race",
    explain: "The share of failed operations over arms with different rates λ fits 1 − exp(−λ·w) and no constant \
              share (rule R31): an operation fails where another one comes within a window of w. That is what a \
              race between two operations looks like, and it says how many will fail at other rates. Two rates \
              can only suggest it; three or more test it.",
    check: |_| None,
};

/// Few trials.
pub const FEW_TRIALS: Row = Row {
    code: "few-trials",
    severity: Severity::Info,
    clearest: None,
    title: "arms have few trials",
    explain: "Arms were executed fewer than three times (rule R37). Two trials of the same thing differ, too, and by \
              how much is not known from so few: a difference between arms cannot be told from that. Plan more \
              blocks.",
    check: |_| None,
};

fn counted(arms: &[Arm]) -> impl Iterator<Item = &Trial> {
    arms.iter().flat_map(Arm::counted)
}

fn memory(arms: &[Arm], machine: &Machine) -> Option<Noticed> {
    let held = |trial: &Trial| -> u64 {
        let processes = trial.systems.iter().flat_map(|system| &system.processes);
        processes.map(|process| process.rss_peak_bytes).sum()
    };
    let most = counted(arms).map(held).max()?;
    if machine.memory_bytes == 0 || most < machine.memory_bytes / 5 * 4 {
        return None;
    }
    let claim = format!(
        "processes under test held up to {} of {} of memory",
        bytes(most),
        bytes(machine.memory_bytes)
    );
    let noticed = Noticed::new(claim, "use less data, or a larger machine")
        .with("rss_peak_bytes", most)
        .with("memory_bytes", machine.memory_bytes);
    Some(noticed)
}

fn constant_failures(arms: &[Arm], _: &Machine) -> Option<Noticed> {
    const TRIALS: usize = 3;
    const FEWEST: u64 = 3;
    let seen: Vec<(u64, u64)> =
        counted(arms).map(|one| (one.accounting.failed, one.accounting.started)).collect();
    let failed = seen.first()?.0;
    let (least, most) = (seen.iter().map(|one| one.1).min()?, seen.iter().map(|one| one.1).max()?);
    let same = seen.iter().all(|one| one.0 == failed);
    if seen.len() < TRIALS || failed < FEWEST || !same || most * 5 < least * 6 {
        return None;
    }
    let claim = format!(
        "exactly {} operations failed in each of {} trials, of {} to {} operations",
        count(failed),
        seen.len(),
        count(least),
        count(most)
    );
    let advice = "look for a limit of that size in the target, plus or minus one";
    Some(Noticed::new(claim, advice).with("failed", failed).with("trials", seen.len()))
}

/// Failures of an arm with an open load, none of it missed.
fn dose(arm: &Arm) -> Option<Dose> {
    let rate = arm.counted().next()?.load.offered_rate?;
    let sums = || arm.counted().map(|trial| trial.accounting);
    let whole = sums().all(|sums| sums.missed == 0);
    let failed = sums().map(|sums| sums.failed).sum::<u64>() as f64;
    let begun = sums().map(|sums| sums.started).sum::<u64>() as f64;
    (whole && rate > 0.0 && begun > failed).then_some(Dose { rate, failed, begun })
}

fn race(arms: &[Arm], _: &Machine) -> Option<Noticed> {
    let doses: Vec<Dose> = arms.iter().filter_map(dose).collect();
    let found = Race::of(&doses)?;
    let fast = doses.iter().map(|dose| dose.rate).fold(0.0, f64::max);
    let expected = |times: f64| percent(found.share_at(times * fast));
    let claim = format!(
        "the share of failures grows with the rate as in a race with a window of {}: {} at {}, {} at twice and {} \
         at ten times that rate",
        duration((found.window * 1e9).round() as u64),
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

fn few_trials(arms: &[Arm], _: &Machine) -> Option<Noticed> {
    const ENOUGH: usize = 3;
    let executed: Vec<usize> =
        arms.iter().map(|arm| arm.counted().count()).filter(|&trials| trials > 0).collect();
    let fewest = executed.iter().copied().min()?;
    if executed.len() < 2 || fewest >= ENOUGH {
        return None;
    }
    let often = if fewest == 1 { "once" } else { "twice" };
    let claim =
        format!("arms were executed {often}: no difference between them can be told from chance");
    Some(Noticed::new(claim, "plan three blocks or more").with("trials", fewest))
}
