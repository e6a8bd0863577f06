//! Loads that are not what they seem to be.

use plan::diagnostic::Diagnostic;
use regex_lite::Regex;

use super::super::constant::ConstantKind;
use super::{Constant, Expr, Kind, Scenario, Script, span, tree};

/// The pauses of an iteration: where each is, and its seconds if they are known.
fn sleeps<'t>(script: &Script<'t>, scenario: &Scenario<'_>) -> Vec<(&'t Expr, Option<f64>)> {
    let mut sleeps = Vec::new();
    let Some(first) = script.performed(&scenario.exec) else { return sleeps };
    for function in script.reached(first) {
        tree::walk(&function.body, &mut |one| sleeps.extend(sleep(script, one)));
    }
    sleeps
}

fn sleep<'t>(script: &Script<'t>, one: &'t Expr) -> Option<(&'t Expr, Option<f64>)> {
    let Kind::Call(_, arguments) = &one.kind else { return None };
    let known = arguments.first().map(|one| Constant::of(one, &script.globals));
    script.is_call(one, "k6", "sleep").then(|| (one, known.and_then(|known| known.number())))
}

/// Pauses in iterations that begin by the clock, and too few users for them.
pub(super) fn sleeps_by_the_clock(
    script: &Script<'_>,
    scenario: &Scenario<'_>,
    found: &mut Vec<Diagnostic>,
) {
    if !scenario.is_open() {
        return;
    }
    let sleeps = sleeps(script, scenario);
    for (call, _) in &sleeps {
        let what =
            "`sleep` in an iteration that an arrival rate starts does not slow the load down";
        let one = Diagnostic::new(span(&call.at), what, "it only keeps a user busy");
        found.push(
            one.with_hint("leave it out, unless it is a pause between two requests of one visit"),
        );
    }
    let pause: f64 = sleeps.iter().filter_map(|(_, seconds)| *seconds).sum();
    let (Some(peak), Some(users)) = (scenario.peak(), scenario.keys.field("preAllocatedVUs"))
    else {
        return;
    };
    let needed = (peak * pause).ceil();
    if let Some(number) = users.value.number().filter(|number| *number < needed) {
        let what = format!(
            "{number} preallocated users cannot begin {peak} iterations a second that sleep {pause} s each"
        );
        let one = Diagnostic::new(
            span(&users.value.at),
            what,
            format!("{needed} are busy with sleeping alone"),
        );
        found.push(one.with_hint(
            "k6 drops iterations or begins users within the measurement: raise `preAllocatedVUs`",
        ));
    }
}

/// A load of users that the script treats as a rate.
pub(super) fn closed_as_rate(
    script: &Script<'_>,
    options: &Constant,
    scenario: &Scenario<'_>,
    found: &mut Vec<Diagnostic>,
) {
    if !scenario.is_closed() {
        return;
    }
    let label = if rate_in_comment(script.text) {
        "a comment speaks of a rate"
    } else if has_rate_threshold(options) {
        "a threshold expects a rate"
    } else {
        return;
    };
    let what = "users are no rate: when the target is slow, they send less, and the wait of what they did not send is in no figure (coordinated omission)";
    let one = Diagnostic::new(span(&scenario.at), what, label);
    found.push(one.with_hint("use the executor constant-arrival-rate or ramping-arrival-rate"));
}

/// Whether a comment of the script says requests a second.
fn rate_in_comment(text: &str) -> bool {
    let pattern = r"(?i)\b(rps|qps|tps)\b|\b(req|reqs|request|requests|iterations)\s*(/|per|a)\s*s(ec|econd)?\b";
    let Ok(pattern) = Regex::new(pattern) else { return false };
    let comments = text.lines().filter_map(|line| {
        let line = line.trim_start();
        // An address has `//` as well.
        let comment =
            line.find("//").filter(|at| !line[..*at].ends_with(':')).map(|at| &line[at..]);
        comment.or_else(|| (line.starts_with('*') || line.starts_with("/*")).then_some(line))
    });
    comments.into_iter().any(|comment| pattern.is_match(comment))
}

fn has_rate_threshold(options: &Constant) -> bool {
    let thresholds = options.get("thresholds").map(Constant::fields).unwrap_or_default();
    let mut rates =
        thresholds.iter().filter(|field| field.name == "http_reqs" || field.name == "iterations");
    rates.any(|field| {
        let is_rate = |one: &Constant| {
            let text = one.text().or_else(|| one.get("threshold").and_then(Constant::text));
            text.is_some_and(|text| text.trim_start().starts_with("rate"))
        };
        match &field.value.kind {
            ConstantKind::List(items) => items.iter().any(is_rate),
            _ => is_rate(&field.value),
        }
    })
}
