//! Whether two runs may be compared: they must not differ in anything but the compared property.

use serde_json::Value;

use super::compare::StoredRun;

/// Parts of a plan that do not affect a comparison, or are the compared property: seeds and order, titles, criteria,
/// the number of workers (which is part of the machine), the system that was started, and addresses.
///
/// These are whole paths: the same word in a body, a header or a setting is part of the work.
const PASSED_OVER: [&str; 9] = [
    "plan.seed",
    "plan.trials",
    "plan.title",
    "plan.question",
    "plan.criteria",
    "plan.comparisons",
    "plan.arms[].load.workers",
    "plan.arms[].system",
    "plan.arms[].targets[].url",
];

/// The differences between two runs, except for the compared property; empty if they are alike.
pub fn differences(one: StoredRun<'_>, other: StoredRun<'_>) -> Vec<String> {
    let mut found = Vec::new();
    let (left, right) = (&one.summary.run, &other.summary.run);
    let facts = [
        ("version", left.version.clone(), right.version.clone()),
        ("processor", left.machine.cpu.clone(), right.machine.cpu.clone()),
        ("cores", left.machine.cores.to_string(), right.machine.cores.to_string()),
        ("kernel", left.machine.kernel.clone(), right.machine.kernel.clone()),
        (
            "workers",
            left.machine.placement.workers.len().to_string(),
            right.machine.placement.workers.len().to_string(),
        ),
    ];
    for (name, left, right) in facts {
        if left != right {
            found.push(format!("{name}: {left} and {right}"));
        }
    }
    collect("plan", one.plan, other.plan, &mut found);
    found
}

/// Whether this path matches one of [`PASSED_OVER`], where `[]` is any entry of a list.
fn is_passed_over(path: &str) -> bool {
    let mut parts = path.split('[');
    let first = parts.next().unwrap_or_default().to_owned();
    let any = parts.fold(first, |any, part| any + "[" + part.trim_start_matches(char::is_numeric));
    PASSED_OVER.contains(&any.as_str())
}

fn collect(path: &str, one: &Value, other: &Value, found: &mut Vec<String>) {
    match (one, other) {
        (Value::Object(left), Value::Object(right)) => {
            let mut keys: Vec<&String> = left.keys().chain(right.keys()).collect();
            keys.sort_unstable();
            keys.dedup();
            for key in keys {
                let path = format!("{path}.{key}");
                let of = |map: &serde_json::Map<String, Value>| map.get(key).cloned();
                let (left, right) = (of(left).unwrap_or_default(), of(right).unwrap_or_default());
                if !is_passed_over(&path) {
                    collect(&path, &left, &right, found);
                }
            }
        }
        (Value::Array(left), Value::Array(right)) if left.len() == right.len() => {
            for (place, (left, right)) in left.iter().zip(right).enumerate() {
                collect(&format!("{path}[{place}]"), left, right, found);
            }
        }
        (left, right) if left != right => {
            found.push(format!("{path}: {} and {}", short(left), short(right)));
        }
        _ => {}
    }
}

/// A value, shortened.
fn short(value: &Value) -> String {
    const MOST: usize = 40;
    let text = match value {
        Value::Array(list) => format!("{} entries", list.len()),
        other => other.to_string(),
    };
    if text.chars().count() <= MOST {
        return text;
    }
    text.chars().take(MOST - 1).chain(['…']).collect()
}
