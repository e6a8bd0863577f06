//! Whether two runs may be compared: they differ in what is compared, and in nothing else.

use serde_json::Value;

use super::compare::StoredRun;

/// Parts of a plan that do not matter to a comparison, or are what is compared: seeds and order, words,
/// judgement; the number of workers, which is part of the machine; the system that was started, and addresses.
///
/// By path: the same word in a body, a header or a setting is part of the work.
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

/// In what two runs differ besides what is compared; empty if they are alike.
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

/// Whether any entries of lists are meant by this path to one entry.
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

/// A value in a few characters.
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
