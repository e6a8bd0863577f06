//! Journeys, `[setup]` and `[teardown]` as `check` prints them.

use std::fmt::Write;

use super::{ordered, rounded, thinking};
use crate::journey::{
    Action, AfterFailure, Condition, Connections, Journey, Preparation, Repeat, Step, Test,
};
use crate::operation::Operation;
use crate::plan::Arm;
use crate::units::format_duration;

/// What the plan cannot fix beforehand.
const OPEN: &str = "`when`, `until` and `each` depend on answers: the plan does not decide them";

/// A journey and its steps, one a line; `total`: of all weights.
pub(super) fn lines(journey: &Journey, arm: &Arm, total: f64) -> Vec<String> {
    let share = (1e4 * journey.weight / total).round() / 1e2;
    let connections = match journey.connections {
        Connections::Own => "connections of its own",
        Connections::Pool => "connections of the load",
    };
    let after = match journey.after_failure {
        AfterFailure::End => "ends",
        AfterFailure::Continue => "continues",
    };
    let mut lines =
        vec![format!("{} {share}%, {connections}, {after} after a failed step", journey.name)];
    if let Some(rows) = &journey.rows {
        let order = ordered(journey.order);
        lines.push(format!("one of {} rows of {} for each, {order}", rows.len(), rows.file));
    }
    if let Some(sessions) = &journey.sessions {
        let (count, requests) = (sessions.len(), sessions.requests());
        let file = &sessions.file;
        lines.push(format!(
            "one of {count} sessions of {file} for each, {requests} requests together"
        ));
    }
    lines.extend(journey.steps.iter().flat_map(|step| of_step(step, &arm.operations)));
    let pause = format_duration(rounded(journey.thinking()));
    lines.push(format!("thinking: {pause} on average, if no step fails"));
    if journey.steps.iter().any(depends_on_answers) {
        lines.push(OPEN.to_owned());
    }
    lines
}

/// `[setup]` or `[teardown]`.
pub(super) fn preparation(preparation: &Preparation, operations: &[Operation]) -> String {
    let steps = preparation.steps.iter().map(|step| operations[*step].name.as_str());
    let steps = steps.collect::<Vec<_>>().join(", ");
    match &preparation.rows {
        Some(rows) => format!("{steps}: once for each of {} rows of {}", rows.len(), rows.file),
        None => format!("{steps}: once"),
    }
}

fn of_step(step: &Step, operations: &[Operation]) -> Vec<String> {
    let captures = |operation: usize| {
        let listed = operations[operation].captures.iter().filter(|one| !one.name.starts_with('$'));
        let names: Vec<String> = listed.map(shown).collect();
        (!names.is_empty()).then(|| format!("    captures {}", names.join(", ")))
    };
    match step {
        Step::Think(think) => vec![format!("- think {}", thinking(think))],
        Step::Do(action) => {
            let first = format!("- {}", of_action(action, operations));
            std::iter::once(first).chain(captures(action.operation)).collect()
        }
        Step::Together(together) => {
            let each = together.iter().flat_map(|operation| {
                let name = format!("  - {}", operations[*operation].name);
                let captures = captures(*operation).map(|line| format!("  {line}"));
                std::iter::once(name).chain(captures)
            });
            std::iter::once("- at the same time".to_owned()).chain(each).collect()
        }
    }
}

fn shown(capture: &crate::journey::Capture) -> String {
    let kind = match (capture.all, capture.optional) {
        (true, true) => " (optional list)",
        (true, false) => " (list)",
        (false, true) => " (optional)",
        (false, false) => "",
    };
    format!("{}{kind}", capture.name)
}

fn of_action(action: &Action, operations: &[Operation]) -> String {
    let mut text = operations[action.operation].name.clone();
    let mut add = |part: String| write!(text, ", {part}").expect("text grows");
    if let Some(share) = action.share {
        add(format!("in {}% of journeys", (share * 1e4).round() / 1e2));
    }
    if let Some(when) = &action.when {
        add(format!("when {}", condition(when, operations, true)));
    }
    match &action.repeat {
        Repeat::Once => {}
        Repeat::Session => add("each request of the session, with the recorded pauses".to_owned()),
        Repeat::Times(times) => add(format!("{times} times")),
        Repeat::Each { capture, at_most } => {
            let list = name_of(*capture, operations, true);
            add(format!("once for each of {list}, at most {at_most}"));
        }
        Repeat::Until { condition: until, every, within } => {
            let until = condition(until, operations, false);
            let (every, within) = (format_duration(*every), format_duration(*within));
            add(format!("until {until}, every {every}, within {within}"));
        }
    }
    text
}

/// `list.count > 0`; without its operation where that is the step's own.
fn condition(condition: &Condition, operations: &[Operation], with_owner: bool) -> String {
    let name = name_of(condition.capture, operations, with_owner);
    match &condition.test {
        Test::Present => name,
        Test::Is(text) => format!("{name} == '{text}'"),
        Test::IsNot(text) => format!("{name} != '{text}'"),
        Test::Below(bound) => format!("{name} < {bound}"),
        Test::AtMost(bound) => format!("{name} <= {bound}"),
        Test::Above(bound) => format!("{name} > {bound}"),
        Test::AtLeast(bound) => format!("{name} >= {bound}"),
    }
}

/// The capture at this place.
fn name_of(place: usize, operations: &[Operation], with_owner: bool) -> String {
    let of_operation = |operation: &Operation| {
        let capture = operation.captures.iter().find(|capture| capture.place == place)?;
        let owner = if with_owner { format!("{}.", operation.name) } else { String::new() };
        Some(format!("{owner}{}", capture.name))
    };
    operations.iter().find_map(of_operation).unwrap_or_default()
}

fn depends_on_answers(step: &Step) -> bool {
    let Step::Do(action) = step else { return false };
    action.when.is_some() || matches!(action.repeat, Repeat::Each { .. } | Repeat::Until { .. })
}
