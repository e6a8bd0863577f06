//! Findings that need several trials, or the machine of the run.

use record::summary::{Arm, Severity, TrialSummary};
use stats::comparison::power::fewest_blocks;

use super::kind::{Check, FindingKind, Noticed};
use crate::case::RunView;
use plan::number::{bytes, count};

/// Memory nearly full.
pub const MEMORY: FindingKind = FindingKind {
    code: "memory-tight",
    severity: Severity::Warning,
    clearest: None,
    title: "processes under test filled the memory",
    explain: "The processes under test held four fifths of the machine's memory or more at a time (rule R45). What \
              was cached may have been evicted and what was idle swapped out, which no other machine will repeat. \
              Use less data, or a larger machine.",
    check: Check::Run(memory),
};

/// The same number of failures whatever the load.
pub const CONSTANT_FAILURES: FindingKind = FindingKind {
    code: "constant-failures",
    severity: Severity::Warning,
    clearest: None,
    title: "the same number of operations failed in each trial",
    explain: "Three trials or more of different size had exactly the same number of failures (rule R28). Failures \
              caused by load would grow with it. These have a cause of their own in each trial, such as a limit of \
              connections or a start that is not ready. Look for a setting of that size, plus or minus one.",
    check: Check::Run(constant_failures),
};

/// Few trials.
pub const FEW_TRIALS: FindingKind = FindingKind {
    code: "few-trials",
    severity: Severity::Info,
    clearest: None,
    title: "arms have few trials",
    explain: "Arms were executed less often than any test over blocks takes to show a change (rule R37): the smallest \
              p-value of so few, corrected for all comparisons of the run, is above 5 %, however large the difference. \
              Two trials of the same thing differ, too. `proofload check` refuses comparisons with fewer blocks than \
              that; without comparisons it is what one would need.",
    check: Check::Run(few_trials),
};

fn counted(arms: &[Arm]) -> impl Iterator<Item = &TrialSummary> {
    arms.iter().flat_map(Arm::counted)
}

fn memory(&RunView { arms, machine, .. }: &RunView<'_>) -> Option<Noticed> {
    let held = |trial: &TrialSummary| -> u64 {
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

fn constant_failures(whole: &RunView<'_>) -> Option<Noticed> {
    const TRIALS: usize = 3;
    const FEWEST: u64 = 3;
    let seen: Vec<(u64, u64)> =
        counted(whole.arms).map(|one| (one.accounting.failed, one.accounting.started)).collect();
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

fn few_trials(whole: &RunView<'_>) -> Option<Noticed> {
    let executed = whole.arms.iter().map(|arm| arm.counted().count() as u64);
    let executed: Vec<u64> = executed.filter(|&trials| trials > 0).collect();
    let fewest = executed.iter().copied().min()?;
    let enough = fewest_blocks(whole.questions.max(1));
    if executed.len() < 2 || fewest >= enough {
        return None;
    }
    let often = match fewest {
        1 => "once".to_owned(),
        2 => "twice".to_owned(),
        several => format!("{} times", count(several)),
    };
    let claim = format!(
        "arms were executed {often}: fewer than {enough} blocks cannot distinguish a difference from chance"
    );
    let advice = format!("plan {enough} blocks or more");
    Some(Noticed::new(claim, advice).with("trials", fewest).with("needed", enough))
}
