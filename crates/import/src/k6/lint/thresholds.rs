//! Thresholds that nothing can miss, and checks that nothing gates on.

use std::collections::BTreeSet;

use plan::diagnostic::{Diagnostic, near_miss};

use super::super::tree::Node;
use super::{Constant, Expr, Kind, Scenario, Script, Stmt, StmtKind, span, tree};

/// Metrics of k6, with the module whose calls they count; without one, every script has them.
const METRICS: [(&str, &str); 34] = [
    ("checks", "k6"),
    ("data_received", ""),
    ("data_sent", ""),
    ("dropped_iterations", ""),
    ("group_duration", "k6"),
    ("iteration_duration", ""),
    ("iterations", ""),
    ("vus", ""),
    ("vus_max", ""),
    ("http_req_blocked", "k6/http"),
    ("http_req_connecting", "k6/http"),
    ("http_req_duration", "k6/http"),
    ("http_req_failed", "k6/http"),
    ("http_req_receiving", "k6/http"),
    ("http_req_sending", "k6/http"),
    ("http_req_tls_handshaking", "k6/http"),
    ("http_req_waiting", "k6/http"),
    ("http_reqs", "k6/http"),
    ("ws_connecting", "k6/ws"),
    ("ws_msgs_received", "k6/ws"),
    ("ws_msgs_sent", "k6/ws"),
    ("ws_ping", "k6/ws"),
    ("ws_session_duration", "k6/ws"),
    ("ws_sessions", "k6/ws"),
    ("grpc_req_duration", "k6/net/grpc"),
    ("grpc_streams", "k6/net/grpc"),
    ("grpc_streams_msgs_received", "k6/net/grpc"),
    ("grpc_streams_msgs_sent", "k6/net/grpc"),
    ("browser_http_req_duration", "k6/browser"),
    ("browser_http_req_failed", "k6/browser"),
    ("browser_web_vital_cls", "k6/browser"),
    ("browser_web_vital_fcp", "k6/browser"),
    ("browser_web_vital_inp", "k6/browser"),
    ("browser_web_vital_lcp", "k6/browser"),
];
/// Tags that k6 gives by itself.
const TAGS: [&str; 19] = [
    "check",
    "error",
    "error_code",
    "expected_response",
    "group",
    "iter",
    "ip",
    "method",
    "name",
    "ocsp_status",
    "proto",
    "rpc_type",
    "scenario",
    "service",
    "status",
    "subproto",
    "tls_version",
    "url",
    "vu",
];

/// What the script gives its samples.
struct Samples {
    groups: BTreeSet<String>,
    tags: BTreeSet<String>,
    names: BTreeSet<String>,
    /// Whether a group or a tag has a name that is not known.
    is_open: bool,
}

/// Thresholds whose metric never has a sample.
pub(super) fn without_samples(
    script: &Script<'_>,
    options: &Constant,
    scenarios: &[Scenario<'_>],
    found: &mut Vec<Diagnostic>,
) {
    let samples = samples(script, options);
    let made = script.metrics();
    let is_open = script.has_own_modules() || made.iter().any(|metric| metric.name.is_none());
    let own: Vec<&str> = made.iter().filter_map(|metric| metric.name.as_deref()).collect();
    for field in options.get("thresholds").map(Constant::fields).unwrap_or_default() {
        let (metric, tags) = parts(&field.name);
        let at = span(&field.name_at);
        let builtin = METRICS.iter().find(|(name, _)| *name == metric);
        let what = format!("no sample ever reaches the threshold on `{}`", field.name);
        if let Some((name, module)) = builtin {
            if !is_open && !is_measured(script, name, module) {
                found.push(Diagnostic::new(
                    at,
                    what,
                    format!("nothing in the script makes samples of `{name}`"),
                ));
                continue;
            }
        } else if !own.contains(&metric) {
            if !is_open {
                let known: Vec<&str> =
                    METRICS.iter().map(|(name, _)| *name).chain(own.iter().copied()).collect();
                let label = match near_miss(metric, &known) {
                    Some(near) => format!("did you mean `{near}`?"),
                    None => "neither a metric of k6 nor one of the script".to_owned(),
                };
                found.push(Diagnostic::new(at, what, label));
            }
            continue;
        } else if !is_open && !is_added_to(script, metric) {
            found.push(Diagnostic::new(at, what, format!("the script never adds to `{metric}`")));
            continue;
        }
        for (tag, value) in tags {
            if let Some(label) =
                missing(tag, value, &samples, scenarios).filter(|_| !script.has_own_modules())
            {
                found.push(Diagnostic::new(at, what.clone(), label));
            }
        }
    }
}

/// `metric{tag:value,tag:value}`
fn parts(name: &str) -> (&str, Vec<(&str, &str)>) {
    let Some((metric, tags)) = name.split_once('{') else { return (name.trim(), Vec::new()) };
    let tags = tags.trim_end().trim_end_matches('}').split(',');
    let pair = |tag: &'_ str| -> Option<(usize, usize)> { tag.find(':').map(|at| (at, tag.len())) };
    let pairs = tags.filter_map(|tag| {
        let (at, _) = pair(tag)?;
        Some((tag[..at].trim(), tag[at + 1..].trim().trim_matches(['"', '\''])))
    });
    (metric.trim(), pairs.collect())
}

fn is_measured(script: &Script<'_>, metric: &str, module: &str) -> bool {
    let has = |name: &str| script.imports.values().any(|import| import.module == name);
    match metric {
        "checks" => !checks(script).is_empty(),
        "group_duration" => calls(script, "k6", "group"),
        _ if module.is_empty() || has(module) => true,
        _ => module == "k6/ws" && (has("k6/websockets") || has("k6/experimental/websockets")),
    }
}

fn calls(script: &Script<'_>, module: &str, name: &str) -> bool {
    let mut is_called = false;
    tree::walk(script.tree, &mut |one| is_called |= script.is_call(one, module, name));
    is_called
}

fn is_added_to(script: &Script<'_>, metric: &str) -> bool {
    let made = script.metrics();
    let variable =
        made.iter().find(|one| one.name.as_deref() == Some(metric)).map(|one| one.variable);
    let mut mentions = 0;
    tree::walk(script.tree, &mut |one| {
        mentions +=
            usize::from(matches!(&one.kind, Kind::Name(name) if Some(name.as_str()) == variable));
    });
    mentions > 0
}

/// Groups and tags of the script.
fn samples(script: &Script<'_>, options: &Constant) -> Samples {
    let mut samples = Samples {
        groups: BTreeSet::new(),
        tags: BTreeSet::new(),
        names: BTreeSet::new(),
        is_open: false,
    };
    let tagged = |tags: &Constant, samples: &mut Samples| {
        for field in tags.fields() {
            samples.tags.insert(field.name.clone());
            if field.name == "name" {
                samples.is_open |= field.value.text().is_none();
                samples.names.extend(field.value.text().map(str::to_owned));
            }
        }
    };
    tree::walk(script.tree, &mut |one| match &one.kind {
        Kind::Call(_, arguments) if script.is_call(one, "k6", "group") => {
            let name = arguments.first().map(|one| Constant::of(one, &script.globals));
            match name.as_ref().and_then(Constant::text) {
                Some(name) => samples.groups.extend([name.to_owned()]),
                None => samples.is_open = true,
            }
        }
        Kind::Object(_) => {
            let object = Constant::of(one, &script.globals);
            if let Some(tags) = object.get("tags") {
                samples.is_open |= tags.fields().is_empty();
                tagged(tags, &mut samples);
            }
        }
        // `exec.vu.tags`, and metrics with tags of their own.
        Kind::Member(_, name) => samples.is_open |= name == "tags" || name == "metrics",
        Kind::Call(callee, arguments) if arguments.len() == 2 => {
            if let Kind::Member(_, name) = &callee.kind
                && name == "add"
            {
                tagged(&Constant::of(&arguments[1], &script.globals), &mut samples);
            }
        }
        _ => {}
    });
    samples.is_open |= options.get("systemTags").is_some();
    samples
}

/// Why no sample has this tag.
fn missing(
    tag: &str,
    value: &str,
    samples: &Samples,
    scenarios: &[Scenario<'_>],
) -> Option<String> {
    let is_known = match tag {
        "scenario" => {
            let mut names = scenarios.iter().map(|scenario| scenario.name.as_str());
            names.any(|name| name == value) || (scenarios.is_empty() && value == "default")
        }
        "group" => {
            let last = value.rsplit("::").next().unwrap_or_default();
            samples.is_open
                || last.is_empty()
                || (value.starts_with("::") && samples.groups.contains(last))
        }
        "name" => samples.is_open || value.contains('/') || samples.names.contains(value),
        tag => samples.is_open || TAGS.contains(&tag) || samples.tags.contains(tag),
    };
    let label = match tag {
        "scenario" => format!("there is no scenario `{value}`"),
        "group" if !value.starts_with("::") => {
            format!("the name of a group begins with `::`: {{group:::{value}}}")
        }
        "group" => format!("there is no group `{}`", value.trim_start_matches(':')),
        "name" => format!("no request has the name `{value}`"),
        tag => format!("nothing in the script has the tag `{tag}`"),
    };
    (!is_known).then_some(label)
}

/// The checks whose result nothing uses.
fn checks<'t>(script: &Script<'t>) -> Vec<&'t Expr> {
    let mut checks = Vec::new();
    tree::walk(script.tree, &mut |one| {
        if script.is_call(one, "k6", "check") {
            checks.push(one);
        }
    });
    checks
}

/// Checks of a script without a threshold on them.
pub(super) fn checks_without(script: &Script<'_>, found: &mut Vec<Diagnostic>) {
    let options = script.options.as_ref();
    let thresholds = options.and_then(|options| options.get("thresholds"));
    let is_known = thresholds.is_none_or(|thresholds| !thresholds.fields().is_empty());
    let fields = thresholds.map(Constant::fields).unwrap_or_default();
    let has = |metric: &str| fields.iter().any(|field| parts(&field.name).0 == metric);
    let mut bare = BTreeSet::new();
    bare_calls(script.tree, &mut bare);
    let first = checks(script).into_iter().find(|one| bare.contains(&one.at.start));
    if let Some(first) = first.filter(|_| is_known && !has("checks")) {
        let what = match has("http_req_failed") {
            false => {
                "nothing depends on the checks: a run in which all of them fail ends with exit code 0"
            }
            // k6 takes these for answers that did not fail.
            true => {
                "nothing depends on the checks: one that fails at a status of 200 to 399 fails no threshold"
            }
        };
        let one = Diagnostic::new(span(&first.at), what, "the first of them");
        found.push(one.with_hint("add a threshold, such as checks: ['rate>0.99']"));
    }
}

/// The places of expressions that are statements.
fn bare_calls(body: &[Stmt], bare: &mut BTreeSet<usize>) {
    tree::walk_nodes(body, &mut |node| {
        if let Node::Stmt(Stmt { kind: StmtKind::Expr(one), .. }) = node {
            bare.insert(one.at.start);
        }
    });
}
