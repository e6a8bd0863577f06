//! Findings about answers.

use record::summary::{Operation, Severity};

use super::kind::{Check, FindingKind, Noticed};
use plan::number::{count, percent};

/// Operations failed or were abandoned.
pub const FAILURES: FindingKind = FindingKind {
    code: "failures",
    severity: Severity::Warning,
    clearest: None,
    title: "operations failed",
    explain: "Some operations failed, or had no answer when the run ended. They are not in the response \
              time, which is that of the succeeded ones; `outcome_time` counts them as slower than all \
              others. Criteria are judged on all of them.",
    check: Check::Trial(|case| {
        let total = &case.trial.total;
        let bad = total.failed + total.abandoned;
        if bad == 0 {
            return None;
        }
        let share = bad as f64 / case.trial.accounting.started.max(1) as f64;
        let claim = format!(
            "{} of {} begun operations ({}) did not succeed: {}",
            count(bad),
            count(case.trial.accounting.started),
            percent(share),
            kinds(total),
        );
        let noticed = Noticed::new(claim, "see the table of failures by kind")
            .with("failed", total.failed)
            .with("abandoned", total.abandoned);
        Some(noticed)
    }),
};

/// Answers were checked by their status alone.
pub const STATUS_ONLY: FindingKind = FindingKind {
    code: "status-only",
    severity: Severity::Info,
    clearest: None,
    title: "only the status was checked",
    explain: "Answers were judged by their status alone (rule R27). An empty or wrong page with the right \
              status counts as succeeded, so this run cannot say that answers were correct. An `expect` \
              on body, header or a JSON path closes the gap.",
    check: Check::Trial(|case| {
        let names = &case.facts.status_only;
        if names.is_empty() {
            return None;
        }
        let claim = format!("only the status of answers was checked ({})", names.join(", "));
        Some(Noticed::new(claim, "add an `expect` on the body").with("operations", names.clone()))
    }),
};

fn kinds(operation: &Operation) -> String {
    let mut kinds: Vec<_> = operation.failures.iter().filter(|(_, seen)| **seen > 0).collect();
    kinds.sort_by(|a, b| b.1.cmp(a.1));
    let mut texts: Vec<_> =
        kinds.iter().map(|(kind, seen)| format!("{} {kind}", count(**seen))).collect();
    if operation.abandoned > 0 {
        texts.push(format!("{} abandoned", count(operation.abandoned)));
    }
    texts.join(", ")
}
