//! Tables of the whole run: criteria, arms, findings, provenance.

use record::summary::{
    CountsFor, Criterion, Finding, Judgement, Model, Severity, Summary, TrialSummary,
};

use super::Table;
use super::arms::Arms;
use judge::findings::groups;
use plan::number;

/// A verdict or the result of a criterion, in one word.
pub fn judgement(result: Judgement) -> &'static str {
    match result {
        Judgement::Pass => "pass",
        Judgement::Measured => "measured",
        Judgement::Fail => "fail",
        Judgement::Inconclusive => "inconclusive",
        Judgement::Invalid => "invalid",
    }
}

/// Judged criteria. Each names its operation itself.
pub fn criteria(summary: &Summary) -> Option<Table> {
    let columns = ["criterion", "arm", "result", "#observed", "#95 % interval"];
    let mut note =
        "Quantiles are judged by the share of operations beyond the bound; missed, failed and \
               abandoned operations count as beyond. Counts are judged on this sample, and the \
               interval says what such a run may show by chance (none seen: up to 3)."
            .to_owned();
    if summary.criteria.iter().any(|one| one.text.contains(" over ")) {
        note.push_str(" Of windows, the worst one is shown.");
    }
    if summary.criteria.iter().any(|one| one.drifting) {
        note.push_str(
            " Where a steady state is only reported, quantiles are those of runs that take the same course: windows \
             are held against its drift.",
        );
    }
    let mut table = Table::new("criteria", "Criteria", &columns).note(note);
    let arms = Arms::head(summary, &mut table, 1);
    for one in &summary.criteria {
        table.row([
            one.text.clone(),
            arms.cell(&one.arm),
            judgement(one.result).to_owned(),
            observed(one),
            interval(one),
        ]);
    }
    if summary.arms.len() == 1 {
        table = table.without(1..2);
    }
    table.unless_empty()
}

/// What was seen, in the unit of the criterion.
pub fn observed(criterion: &Criterion) -> String {
    figure(criterion, criterion.observed).unwrap_or_else(|| "–".to_owned())
}

fn figure(criterion: &Criterion, value: Option<f64>) -> Option<String> {
    value.map(|value| number::in_unit_of(&criterion.text, value))
}

/// Its interval.
pub fn interval(criterion: &Criterion) -> String {
    match (figure(criterion, criterion.low), figure(criterion, criterion.high)) {
        (None, None) => "–".to_owned(),
        (low, high) => {
            let open = || "?".to_owned();
            format!("{} – {}", low.unwrap_or_else(open), high.unwrap_or_else(open))
        }
    }
}

/// One line per trial, if there are several.
pub fn trials(summary: &Summary) -> Option<Table> {
    let columns =
        ["arm", "#trial", "#block", "validity", "#goodput", "#p50", "#p99", "#unsuccessful"];
    let mut table =
        Table::new("trials", "Trials", &columns).note("p50 and p99 as observed in each trial.");
    let arms = Arms::head(summary, &mut table, 0);
    for arm in &summary.arms {
        for trial in &arm.trials {
            let accounting = &trial.accounting;
            table.row([
                arms.cell(&arm.name),
                trial.index.to_string(),
                trial.block.to_string(),
                format!("{}{}", super::trial::validity(trial.validity), aside(trial.counts_for)),
                number::rate(trial.rates.goodput),
                time_at(trial, 0.5),
                time_at(trial, 0.99),
                number::count(accounting.planned - accounting.succeeded.min(accounting.planned)),
            ]);
        }
    }
    // The table of a search's steps has the same figures.
    (table.rows.len() > 1 && summary.capacity.is_none()).then_some(table)
}

/// Why a trial does not count, after its validity.
fn aside(counts_for: CountsFor) -> &'static str {
    match counts_for {
        CountsFor::Judgement => "",
        CountsFor::Noise => ", A/A",
        CountsFor::Spared => ", spared",
        CountsFor::Nothing => ", executed again",
    }
}

/// A quantile of the main time: response time of an open load, service time of a closed one.
fn time_at(trial: &TrialSummary, q: f64) -> String {
    let open = trial.load.model == Model::Open;
    let times = if open { &trial.total.response_time } else { &trial.total.service_time };
    let entry = times.quantiles.iter().find(|entry| entry.q == q);
    number::duration_or(entry.and_then(|entry| entry.observed_ns), "–")
}

/// The findings. A finding of several trials appears once, with the clearest claim.
pub fn findings(summary: &Summary) -> Option<Table> {
    let mut table = Table::new("findings", "Findings", &["", "code", "finding", "what to do"])
        .note("`proofload explain CODE` says more.");
    for (first, claim) in noticed(summary) {
        table.row([
            severity(first.severity).to_owned(),
            first.code.clone(),
            claim,
            first.advice.clone(),
        ]);
    }
    table.unless_empty()
}

/// The rows of [`findings`]: each finding, and its claim with the trials where it occurs.
pub fn noticed(summary: &Summary) -> Vec<(&Finding, String)> {
    let told = groups(&summary.findings).into_iter();
    told.map(|one| (one.clearest, one.claim(summary))).collect()
}

/// A severity in one word.
pub fn severity(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Info => "info",
    }
}

/// The origin of the numbers.
pub fn provenance(summary: &Summary) -> Table {
    let (run, machine) = (&summary.run, &summary.run.machine);
    let mut table = Table::new("provenance", "Provenance", &["", "this run"]);
    let placement = &machine.placement;
    let lines = [
        ("run", run.id.clone()),
        ("started", run.started_at.clone()),
        ("command", run.command.join(" ")),
        ("seed", run.seed.to_string()),
        ("plan", run.plan_hash.clone()),
        ("version", format!("proofload {}", run.version)),
        (
            "machine",
            format!(
                "{}, {} cores, {} of memory, Linux {}, clock {}",
                machine.cpu,
                machine.cores,
                number::bytes(machine.memory_bytes),
                machine.kernel,
                machine.clock_source
            ),
        ),
        (
            "placement",
            format!(
                "workers on {}, systems on {}",
                cores(&placement.workers),
                cores(&placement.systems)
            ),
        ),
    ];
    let share = run.share.iter().map(|share| ("share", share.clone()));
    let merged = (run.shares > 0).then(|| ("merged", format!("from {} shares", run.shares)));
    let lines = lines.into_iter().chain(share).chain(merged);
    lines.for_each(|(name, text)| table.row([name.to_owned(), text]));
    table
}

fn cores(list: &[usize]) -> String {
    let texts: Vec<_> = list.iter().map(usize::to_string).collect();
    if texts.is_empty() { "any core".to_owned() } else { format!("core {}", texts.join(", ")) }
}
