//! Findings about the design of a run: questions that its blocks leave undecided, and unexpected effects.

use std::collections::{BTreeMap, BTreeSet};

use record::summary::{Change, Comparison, Finding, Severity};
use serde_json::Value;

use super::kind::{Check, FindingKind, Noticed};
use crate::case::RunView;
use plan::number::change;

/// A comparison that the blocks leave undecided.
pub const UNDECIDED_COMPARISON: FindingKind = FindingKind {
    code: "undecided-comparison",
    severity: Severity::Warning,
    clearest: None,
    title: "a comparison could not be decided",
    explain: "The blocks show neither a change nor that the levels are equal within the margin. That is \
              not a sign that they are equal: differences smaller than the one named here are seen less \
              often than four times in five. The number of blocks that would decide is reckoned from the \
              spread of these ones.",
    check: Check::Comparison(undecided),
};

/// The effect of a dose goes up and down.
pub const DOSE_ORDER: FindingKind = FindingKind {
    code: "dose-order",
    severity: Severity::Warning,
    clearest: None,
    title: "more does not mean more",
    explain: "The levels of the factor are amounts (numbers, sizes, durations, rates or percentages). From one \
              level to the next, the metric certainly rises in one place and certainly falls in another (rule R35; \
              sign-flip tests over blocks, corrected). Either the factor really has a turning point, or something \
              else differs between the arms. Exclude the second before you claim the first. Steps are not judged \
              if most of their blocks hold a closed load that waited for its processor.",
    check: Check::Reported,
};

/// Both trials of each block were executed at the same time.
pub const DUET: FindingKind = FindingKind {
    code: "duet-shares-machine",
    severity: Severity::Info,
    clearest: None,
    title: "both arms shared the machine",
    explain: "`duet` in `[design]` executes both arms of a block at the same time and assigns each arrival to \
              one of them at random, so that whatever disturbs the machine disturbs both, and cancels in \
              their ratio. The price is that neither has the machine to itself: times and rates of one arm \
              are those of a shared machine, also where a criterion is judged on them, and an arm that takes \
              processor time, memory or disk from the other slows that one, too, so that a ratio may \
              be closer to 1 than it would be of arms apart.",
    check: Check::Run(duet),
};

/// The factor, operation and metric of a finding about doses.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Level<'a> {
    pub factor: &'a str,
    pub operation: &'a str,
    pub metric: &'a str,
}

fn undecided(one: &Comparison) -> Option<Noticed> {
    if one.result != Change::Undecided {
        return None;
    }
    let what = format!(
        "{} of {}={} against {}{}",
        one.metric,
        one.factor,
        plain(&one.candidate),
        plain(&one.baseline),
        place(&one.stratum)
    );
    let mut claim = format!("{what} is undecided after {} blocks", one.blocks);
    if let Some(ratio) = one.ratio {
        claim.push_str(&format!(": {} in this run", change(ratio)));
    }
    if let Some(note) = &one.note {
        claim.push_str(&format!("; {note}"));
    } else if let Some(detectable) = one.detectable {
        let seen = change(detectable);
        claim
            .push_str(&format!("; differences below {seen} are seen less than four times in five"));
    }
    let advice = match one.needs_blocks {
        Some(blocks) => format!("run about {blocks} blocks, or accept a wider margin"),
        None => "make trials longer or the machine quieter, or accept a wider margin".to_owned(),
    };
    let mut noticed = Noticed::new(claim, advice)
        .with("blocks", one.blocks)
        .with("margin", one.margin)
        .with("left_out", one.left_out.len());
    if let Some(blocks) = one.needs_blocks {
        noticed = noticed.with("needs_blocks", blocks);
    }
    Some(noticed.about(&one.operation))
}

/// The finding that an effect does not follow its doses. Each step goes from one dose to the next.
pub(crate) fn dose_order(level: &Level<'_>, up: [&Value; 2], down: [&Value; 2]) -> Finding {
    let Level { factor, operation, metric } = level;
    let claim = format!(
        "{metric} rises from {factor}={} to {} and falls from {} to {}: more {factor} does not mean more \
         of the effect",
        plain(up[0]),
        plain(up[1]),
        plain(down[0]),
        plain(down[1])
    );
    let noticed = Noticed::new(claim, "look for what else differs between these arms")
        .with("rises_to", up[1].clone())
        .with("falls_to", down[1].clone());
    DOSE_ORDER.found(noticed.about(operation))
}

fn duet(whole: &RunView<'_>) -> Option<Noticed> {
    let trials = whole.arms.iter().flat_map(|arm| &arm.trials).filter(|trial| trial.duet);
    let blocks: BTreeSet<u32> = trials.map(|trial| trial.block).collect();
    let claim = "duet: both arms shared the machine; absolute times are those of a shared machine, the ratio \
                 is what is compared";
    let advice = "look at the comparisons; for times of one arm alone, run it without `duet`";
    (!blocks.is_empty()).then(|| Noticed::new(claim, advice).with("blocks", blocks.len()))
}

/// A level as text, as in names of arms.
pub fn plain(level: &Value) -> String {
    level.as_str().map_or_else(|| level.to_string(), str::to_owned)
}

/// ` at connections=10, tls=true`, or nothing.
pub fn place(stratum: &BTreeMap<String, Value>) -> String {
    let parts: Vec<String> =
        stratum.iter().map(|(factor, level)| format!("{factor}={}", plain(level))).collect();
    if parts.is_empty() { String::new() } else { format!(" at {}", parts.join(", ")) }
}
