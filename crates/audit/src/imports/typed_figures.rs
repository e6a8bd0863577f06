//! Figures typed in by hand: the model itself as JSON, see [`FIELDS`].

use super::claims::{self, Relation, metric_of};
use super::figure::{COUNT_LIMIT, Figure};
use super::format::{self, Format, MOST_CLAIMS, at_most};
use super::report::{Report, Row, Run, quantile_name};

pub(super) const FORMAT: Format = Format {
    name: "figures",
    about: "figures typed in by hand (`proofload-figures/1`, JSON)",
    marks: &["\"proofload-figures/1\"", "\"runs\""],
    longest: format::TYPED,
    read,
};

fn read(text: &str) -> Result<Report, String> {
    let report: Report = serde_json::from_str(text)
        .map_err(|error| format!("a whole `proofload-figures/1` ({error})"))?;
    let rows = report.runs.iter().flat_map(Run::all);
    let intervals = report.runs.iter().flat_map(|run| &run.intervals);
    let counts = rows.flat_map(counts).chain(intervals.map(|interval| interval.count));
    if counts.max().unwrap_or(0) >= COUNT_LIMIT {
        return Err(format!("counts below {COUNT_LIMIT}"));
    }
    report.runs.iter().try_for_each(sizes)?;
    check(&report)?;
    Ok(report)
}

/// Refuses negative sizes.
fn sizes(run: &Run) -> Result<(), String> {
    let value = |figure: Option<Figure>| figure.map(|figure| figure.value);
    let of_run = [
        ("workers", run.workers),
        ("users", run.users),
        ("think", run.think),
        ("servers", run.servers),
        ("link_bits", run.link_bits),
        ("target_rate", value(run.target_rate)),
        ("capacity", value(run.capacity)),
        ("duration", value(run.duration)),
        ("send_window", value(run.send_window)),
        ("generator_cpu", value(run.generator_cpu)),
        ("stored_bytes", value(run.stored_bytes)),
        ("memory_bytes", value(run.memory_bytes)),
    ];
    let of_rows = run.all().flat_map(|row| {
        [
            ("rate", value(row.rate)),
            ("goodput", value(row.goodput)),
            ("ok_share", value(row.ok_share)),
            ("failed_share", value(row.failed_share)),
            ("resolution", row.resolution),
            ("rank_error", Some(row.rank_error)),
            ("bytes_total", value(row.bytes_total)),
            ("bytes_mean", value(row.bytes_mean)),
            ("bytes_rate", value(row.bytes_rate)),
            ("bytes_nominal", value(row.bytes_nominal)),
        ]
    });
    let mut all = of_run.into_iter().chain(of_rows);
    match all.find(|(_, value)| value.is_some_and(|value| value < 0.0)) {
        Some((name, value)) => {
            Err(format!("`{name}` of 0 or more (got {})", value.unwrap_or_default()))
        }
        None => Ok(()),
    }
}

fn counts(row: &Row) -> impl Iterator<Item = u64> {
    let own = [row.n, row.ok, row.failed, row.timed, row.distinct].into_iter().flatten();
    let intervals = row.intervals.iter().flat_map(|one| [Some(one.count), one.failed]).flatten();
    let items = row.items.iter().flat_map(|items| {
        [Some(items.targets), items.delivered, items.failed, items.population].into_iter().flatten()
    });
    own.chain(intervals)
        .chain(items)
        .chain(row.failures.values().chain(row.statuses.values()).copied())
}

/// Fields of `proofload-figures/1`: where, name, meaning.
pub const FIELDS: &[(&str, &str, &str)] = &[
    ("report", "format", "`proofload-figures/1`"),
    ("report", "tool", "who made the report"),
    ("report", "factors", "names of `levels` that were varied on purpose"),
    (
        "report",
        "targets",
        "limits that were declared before the run: `{\"p99\": \"< 100ms\", \"read failed\": \"< 1%\"}`",
    ),
    ("report", "hypothesis", "what the report sets out to show"),
    ("report", "conclusion", "what it says of that in the end"),
    ("report", "announced", "figures, data and sections that its text refers to"),
    ("report", "shown", "those of them that are there"),
    ("report", "claims", "what its text claims"),
    ("report", "headroom", "what the system could do over what is asked of it"),
    ("report", "runs", "the runs, in the order of the report"),
    ("run", "name", "what the report calls it"),
    ("run", "id", "its identity"),
    ("run", "linked_id", "identity of the raw data that the report links to"),
    ("run", "started_at", "begin, as seconds since 1970 or as RFC 3339"),
    ("run", "ended_at", "end"),
    ("run", "levels", "values of the factors, such as `{\"path\": \"direct\"}`"),
    ("run", "dose", "how much of a treatment; 0 is the baseline"),
    ("run", "context", "everything else that could differ: build, network, machine, payload"),
    ("run", "declared", "limits as the report states them"),
    ("run", "effective", "the same limits as read back from the system"),
    ("run", "model", "`open` or `closed`"),
    ("run", "workers", "connections or workers of a closed load"),
    ("run", "users", "users who think"),
    ("run", "think", "think time or pause after each request: `2s`, `1s..3s`"),
    ("run", "target_rate", "requests a second asked for"),
    ("run", "servers", "servers that shared the load"),
    ("run", "asked_duration", "length asked for"),
    ("run", "duration", "length of the whole"),
    ("run", "send_window", "time in which requests were sent, when shorter"),
    ("run", "first_to_last", "whether the send window ends with the last send"),
    ("run", "timeout", "time-out of a request"),
    ("run", "measured_from", "`intended`, `sent`, or `corrected` (times added afterwards)"),
    ("run", "content_checked", "whether answers were looked at beyond their status"),
    ("run", "failures_counted", "false when this mode of the tool cannot count a failure"),
    ("run", "capacity", "what the report says the system can do, a second"),
    ("run", "link_bits", "speed of the link, in bits a second"),
    ("run", "same_machine", "whether load and system were on one machine"),
    ("run", "generator_cpu", "share of its processors that the generator used, such as `\"85%\"`"),
    ("run", "warm_up_left_out", "whether the warm-up was left out of the figures"),
    ("run", "stored_bytes", "bytes that the system kept in the run"),
    ("run", "memory_bytes", "memory of the system's machine"),
    ("run", "instance", "kind of the system's machine, such as `t3.micro`"),
    ("run", "built_at", "when the system was built"),
    ("run", "reported_at", "when the report was written"),
    ("run", "rows", "one line an operation"),
    ("run", "total", "the line of the whole"),
    ("run", "intervals", "requests by time: `[{\"from\": 0, \"to\": 5, \"count\": 600}]`"),
    ("row", "name", "the operation"),
    ("row", "n", "requests"),
    ("row", "ok", "those that succeeded"),
    ("row", "failed", "those that did not"),
    ("row", "failures", "those that did not, by kind"),
    ("row", "statuses", "answers by status"),
    ("row", "rate", "requests a second"),
    ("row", "goodput", "successful requests a second"),
    ("row", "ok_share", "share that succeeded, such as `\"99.78%\"`"),
    ("row", "failed_share", "share that did not"),
    ("row", "min", "least time"),
    ("row", "mean", "mean time"),
    ("row", "stdev", "standard deviation of the times"),
    ("row", "max", "greatest time"),
    ("row", "quantiles", "such as `{\"p50\": \"10ms\", \"p99.9\": \"1.2s\"}`"),
    ("row", "interpolated", "whether the tool interpolates between two requests"),
    ("row", "timed", "requests that have a time, such as only those that succeeded"),
    ("row", "resolution", "step of the tool's own record of times, in seconds"),
    (
        "row",
        "rank_error",
        "how far the share below a quantile may be off, where the tool estimates",
    ),
    ("row", "parts", "means of the parts of the mean time, in seconds: `[[\"wait\", \"0.010\"]]`"),
    ("row", "bytes_total", "bytes received"),
    ("row", "bytes_mean", "bytes received for each request"),
    ("row", "bytes_rate", "bytes received a second"),
    ("row", "bytes_nominal", "size of an answer that the report states"),
    ("row", "encoding", "encoding of the answers, such as `gzip`"),
    ("row", "items", "what requests were made for, when each stands for many"),
    ("row", "distinct", "how many different requests were sent"),
    ("row", "intervals", "the same as of a run, of this operation"),
    ("items", "targets", "how many there should have been"),
    ("items", "delivered", "how many arrived"),
    ("items", "failed", "how many did not"),
    ("items", "delivered_share", "share that arrived"),
    ("items", "population", "items of one request at the end of the run"),
    ("interval", "from", "begin, in seconds from the start"),
    ("interval", "to", "end"),
    ("interval", "count", "requests in it"),
    ("interval", "failed", "those that failed"),
    ("interval", "p50", "median of their times"),
    ("claim", "says", "its words"),
    (
        "claim",
        "metric",
        "what it speaks of: a percentile, `min`, `mean`, `max`, `rate`, `goodput`, `ok`, `failed`, `delivered`, `bytes`",
    ),
    ("claim", "of", "whose: the name of a run or of an operation"),
    ("claim", "than", "held against which"),
    ("claim", "is", "`lower`, `higher`, `met` (the targets), or a limit such as `< 100ms`"),
    (
        "claim",
        "at",
        "conditions that it speaks of: `{\"workers\": \"20..30\", \"path\": \"direct\"}`",
    ),
    ("claim", "cause", "what it calls the cause: a factor"),
    ("headroom", "factor", "the quotient that the report states"),
    ("headroom", "capacity", "what it takes for the capacity, a second"),
    ("headroom", "demand", "what it takes for the demand, a second"),
    ("headroom", "demand_is", "`mean` or `peak`"),
];

/// Checks that limits and claims refer to something that the report contains.
///
/// Errors: the missing name
fn check(report: &Report) -> Result<(), String> {
    at_most(MOST_CLAIMS, report.targets.len(), "targets")?;
    at_most(MOST_CLAIMS, report.claims.len(), "claims")?;
    at_most(MOST_CLAIMS, report.announced.len().max(report.shown.len()), "announced or shown")?;
    let targets = report.targets.keys().map(|target| metric_of(target));
    let claims = report.claims.iter();
    let of_claims = claims.clone().filter_map(|claim| claim.metric.as_deref());
    let mut metrics = targets.clone().map(|(_, metric)| metric).chain(of_claims);
    if let Some(wrong) = metrics.find(|metric| !is_metric(metric)) {
        let known = claims::METRICS.join(", ");
        return Err(format!("a known metric (got \"{wrong}\"): p50, p99.9 and so on, {known}"));
    }
    let whose = claims.clone().flat_map(|claim| [claim.of.as_deref(), claim.than.as_deref()]);
    let named = |name: &&str| report.named(name).next().is_some();
    let mut whose = whose.flatten().chain(targets.filter_map(|(whose, _)| whose));
    if let Some(wrong) = whose.find(|name| !named(name)) {
        return Err(format!("a run or an operation with the name \"{wrong}\""));
    }
    claims.clone().try_for_each(|claim| {
        let lacking = match claim.is {
            Some(Relation::Lower | Relation::Higher)
                if claim.of.is_none() || claim.than.is_none() =>
            {
                "`of` and `than`"
            }
            Some(Relation::Within(_)) if claim.metric.is_none() => "`metric`",
            _ => return Ok(()),
        };
        Err(format!("{lacking} of the claim \"{}\"", claim.says))
    })
}

fn is_metric(name: &str) -> bool {
    claims::METRICS.contains(&name) || quantile_name(name).is_some_and(|q| q > 0.0 && q < 1.0)
}
