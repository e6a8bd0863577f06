//! Options that k6 ignores or refuses.

use plan::diagnostic::{Diagnostic, near_miss};

use super::super::constant::Constant;
use super::{Scenario, span};

/// Keys at the root of options.
const ROOT: [&str; 44] = [
    "batch",
    "batchPerHost",
    "blacklistIPs",
    "blockHostnames",
    "cloud",
    "discardResponseBodies",
    "dns",
    "duration",
    "executionSegment",
    "executionSegmentSequence",
    "ext",
    "hosts",
    "httpDebug",
    "insecureSkipTLSVerify",
    "iterations",
    "linger",
    "localIPs",
    "maxRedirects",
    "minIterationDuration",
    "noConnectionReuse",
    "noCookiesReset",
    "noSetup",
    "noSummary",
    "noTeardown",
    "noThresholds",
    "noUsageReport",
    "noVUConnectionReuse",
    "paused",
    "rps",
    "scenarios",
    "setupTimeout",
    "stages",
    "summaryTimeUnit",
    "summaryTrendStats",
    "systemTags",
    "tags",
    "teardownTimeout",
    "thresholds",
    "throw",
    "tlsAuth",
    "tlsCipherSuites",
    "tlsVersion",
    "userAgent",
    "vus",
];
/// Keys that every scenario may have.
const SHARED: [&str; 7] =
    ["executor", "startTime", "gracefulStop", "exec", "env", "tags", "options"];
/// Executors and the keys of each.
const EXECUTORS: [(&str, &[&str]); 7] = [
    ("shared-iterations", &["vus", "iterations", "maxDuration"]),
    ("per-vu-iterations", &["vus", "iterations", "maxDuration"]),
    ("constant-vus", &["vus", "duration"]),
    ("ramping-vus", &["stages", "startVUs", "gracefulRampDown"]),
    ("constant-arrival-rate", &["duration", "rate", "timeUnit", "preAllocatedVUs", "maxVUs"]),
    ("ramping-arrival-rate", &["stages", "startRate", "timeUnit", "preAllocatedVUs", "maxVUs"]),
    ("externally-controlled", &["vus", "duration", "maxVUs"]),
];

/// Keys that mean nothing where they are.
pub(super) fn ignored(options: &Constant, found: &mut Vec<Diagnostic>) {
    let has_stages = options.get("stages").is_some();
    for field in options.fields().iter().filter(|field| !ROOT.contains(&field.name.as_str())) {
        let is_of_scenarios = SHARED.contains(&field.name.as_str())
            || EXECUTORS.iter().any(|(_, keys)| keys.contains(&field.name.as_str()));
        let one = match is_of_scenarios {
            true => {
                let means = match has_stages {
                    true => "the stages are numbers of users, not rates",
                    false => "it belongs to a scenario",
                };
                let what = format!("k6 ignores `{}` at the root of `options`", field.name);
                let one = Diagnostic::new(span(&field.name_at), what, means);
                one.with_hint("move it with its load into an entry of `scenarios`")
            }
            false => unknown("options", &field.name, &ROOT, span(&field.name_at)),
        };
        found.push(one);
    }
    let beside = ["stages", "iterations", "duration", "vus"];
    if options.get("scenarios").is_some() {
        for field in beside.iter().filter_map(|key| options.field(key)) {
            let what = format!("`{}` and `scenarios` exclude each other", field.name);
            found.push(Diagnostic::new(span(&field.name_at), what, "leave one of them out"));
        }
    }
    for scenario in options.get("scenarios").map(Constant::fields).unwrap_or_default() {
        of_scenario(&scenario.value, found);
    }
}

fn unknown(what: &str, name: &str, known: &[&str], at: plan::diagnostic::Span) -> Diagnostic {
    let label = match near_miss(name, known) {
        Some(near) => format!("did you mean `{near}`?"),
        None => "not a key that k6 knows".to_owned(),
    };
    Diagnostic::new(at, format!("k6 ignores `{name}`, which is no key of {what}"), label)
}

fn of_scenario(scenario: &Constant, found: &mut Vec<Diagnostic>) {
    let Some(executor) = scenario.field("executor") else { return };
    let Some(name) = executor.value.text() else { return };
    let Some((_, keys)) = EXECUTORS.iter().find(|(known, _)| *known == name) else {
        let names = EXECUTORS.map(|(name, _)| name);
        found.push(Diagnostic::unknown("executor", name, span(&executor.value.at), names));
        return;
    };
    let known: Vec<&str> = SHARED.iter().chain(keys.iter()).copied().collect();
    for field in scenario.fields().iter().filter(|field| !known.contains(&field.name.as_str())) {
        found.push(unknown(&format!("`{name}`"), &field.name, &known, span(&field.name_at)));
    }
}

/// Loads of which nothing says when they end.
pub(super) fn without_end(
    options: &Constant,
    scenarios: &[Scenario<'_>],
    found: &mut Vec<Diagnostic>,
) {
    if let (Some(users), []) = (options.field("vus"), scenarios)
        && options.get("scenarios").is_none()
    {
        let what = "`vus` has no `duration`: k6 ignores it and performs one iteration";
        let one = Diagnostic::new(span(&users.name_at), what, "how long?");
        found.push(one.with_hint("add `duration`, such as duration: '1m'"));
    }
    for scenario in scenarios.iter().filter(|scenario| scenario.is_own) {
        let needs = matches!(scenario.executor.as_str(), "constant-vus" | "constant-arrival-rate");
        if needs && scenario.keys.get("duration").is_none() {
            let what = format!("the scenario `{}` has no `duration`", scenario.name);
            let one = Diagnostic::new(span(&scenario.at), what, "k6 refuses it");
            found.push(one.with_hint("add `duration`, such as duration: '1m'"));
        }
    }
}
