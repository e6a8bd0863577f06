//! A trial in which no operation succeeds: when that is certain enough to end the run, and what to do about it.

use record::summary::{Finding, Severity, Summary};
use record::{AllFailed, EarlyEnd, EndReason, FailureKind};

use plan::plan::{Plan, TrialPlan};

use plan::number::{count, duration};

use super::codes::ALL_FAILED;
use super::kind::{Check, FindingKind, Noticed};

/// Time under load before the run may end, in nanoseconds. Workers report once per window, some of them a little
/// early.
const LOAD_NS: u64 = 900_000_000;
/// Failed operations before the run may end.
const FEWEST: u64 = 10;

/// Every operation failed in the same way.
pub const ALL_FAILED_ROW: FindingKind = FindingKind {
    code: ALL_FAILED,
    severity: Severity::Error,
    clearest: None,
    title: "every operation failed in the same way, and the run was ended",
    explain: "After a second of load, warm-up included, at least 10 operations had ended, among them all that were \
              due in the first half second; all had failed with one kind of failure and one status, and none had \
              succeeded or had only been too slow. That is a wrong address, certificate, credential or path, and more load shows nothing else, \
              so the run ends with exit code 4 and later trials are not executed. Remove the cause; \
              `proofload run --resume` then executes the trial again. With `--keep-going` the plan is carried out. \
              The rule is off after a planned fault, and in a plan with a criterion that asks for failures, such as \
              `failed > 0`.",
    check: Check::Trial(|case| {
        let early = case.facts.early_end.as_ref()?;
        (early.reason == EndReason::AllFailed).then(|| noticed(early))
    }),
};

/// The reason to end a run with these failures, if they are enough.
pub fn end(seen: &AllFailed) -> Option<EarlyEnd> {
    let AllFailed { failures, elapsed_ns, pending } = seen;
    if *elapsed_ns < LOAD_NS || *pending > 0 || failures.count < FEWEST {
        return None;
    }
    let (kind, detail) = (failures.kind.name(), failures.detail.as_str());
    let seen = match detail {
        "" => kind.to_owned(),
        named if named.starts_with(kind) => named.to_owned(),
        other => format!("{kind}: {other}"),
    };
    let why = format!(
        "all {} operations of the first {} failed in the same way ({seen})",
        count(failures.count),
        duration(*elapsed_ns),
    );
    let advice = Some(advice(failures.kind, failures.status.code()).to_owned());
    Some(EarlyEnd { reason: EndReason::AllFailed, why, advice, criteria: Vec::new() })
}

/// The finding for a run that ended after a trial whose measure phase was not cut short.
pub(crate) fn after(plan: &Plan, trial: &TrialPlan, early: &EarlyEnd) -> Finding {
    ALL_FAILED_ROW.found(noticed(early).planned_as(plan, trial))
}

/// The finding of this kind, if the run has one.
pub fn of(summary: &Summary) -> Option<&Finding> {
    summary.findings.iter().find(|finding| finding.code == ALL_FAILED)
}

fn noticed(early: &EarlyEnd) -> Noticed {
    let advice = early.advice.as_deref().unwrap_or("remove the cause");
    Noticed::new(
        early.why.clone(),
        format!("{advice}, or execute the whole plan anyway with `--keep-going`"),
    )
}

/// One thing to do about this kind of failure.
fn advice(kind: FailureKind, status: u16) -> &'static str {
    match (kind, status) {
        (FailureKind::Refused | FailureKind::Unreachable | FailureKind::Process, _) => {
            "start the target, or correct its address"
        }
        (FailureKind::Resolve, _) => "correct the host name, or set `connect_to` to an address",
        (FailureKind::Tls, _) => {
            "give the certificate that signed the target's as `cacert` (`--cacert FILE`), and use the name it carries"
        }
        (FailureKind::Status, 401 | 403 | 407) => {
            "correct the credentials, such as the `authorization` header"
        }
        (FailureKind::Status, 404 | 410) => "correct the path",
        (FailureKind::Status, 405) => "correct the method",
        (FailureKind::Status, 400 | 411..=417 | 422 | 431) => {
            "correct the request: `proofload check --try` shows what is sent and answered"
        }
        (FailureKind::Status, 421) => "correct the host name of the target's URL",
        (FailureKind::Status, 429) => "lift the target's rate limit for this load",
        (FailureKind::Status, 300..=399) => {
            "name the address that the redirect leads to, or follow redirects with `follow = 10`"
        }
        (FailureKind::Status, 502..=504) => {
            "look for the service behind the target, and start the load once it is ready"
        }
        (FailureKind::Status, 500..) => "read the target's log",
        // Named, as those of gRPC, NATS and Redis are.
        (FailureKind::Status, 0) => {
            "correct what the target refuses: `proofload check --try` shows what is sent and answered"
        }
        (FailureKind::Status, _) => "correct the request, or expect this status",
        (FailureKind::Reset | FailureKind::Closed | FailureKind::Malformed, _) => {
            "make sure that scheme and port of the URL are those of the protocol that the target speaks there"
        }
        (FailureKind::CutShort, _) => {
            "read the target's log: it ends streams before they are complete"
        }
        (FailureKind::TooSlow, _) => "offer less load, or raise the bounds of `within`",
        (FailureKind::WrongContent, _) => {
            "compare the expectation with an answer: `proofload check --try` shows both"
        }
        (FailureKind::Capture, _) => {
            "compare the `capture` with an answer: `proofload check --try` shows both"
        }
        (FailureKind::Redirect, _) => {
            "raise `follow`, or add the place that the redirect leads to to `also` of [target]"
        }
        (FailureKind::TooLarge, _) => "ask for less, or leave out expectations on the body",
        (FailureKind::Permanent | FailureKind::Transient, _) => {
            "read the server's log: it refuses what is sent, or who sends it"
        }
        (FailureKind::LocalLimit, _) => {
            "raise the limit of this machine (`ulimit -n`), or use fewer connections"
        }
        (FailureKind::Timeout | FailureKind::ConnectTimeout | FailureKind::GreetingTimeout, _) => {
            "make sure that the target answers at all, or raise `timeout`"
        }
        (FailureKind::StreamReset | FailureKind::StreamRefused | FailureKind::GoingAway, _) => {
            "read the target's log: it accepts connections and ends what they carry"
        }
    }
}

#[cfg(test)]
mod tests {
    use record::Failures;

    use super::*;

    fn seen(count: u64, elapsed_ns: u64, pending: u64) -> AllFailed {
        let detail = "status 401, expected 2xx, 3xx".to_owned();
        let failures = Failures { count, kind: FailureKind::Status, status: 401.into(), detail };
        AllFailed { failures, elapsed_ns, pending }
    }

    #[test]
    fn ten_failures_in_a_second_end_a_run_and_fewer_or_sooner_ones_do_not() {
        let early = end(&seen(1_234, 1_000_000_000, 0)).expect("enough");
        let why = "all 1,234 operations of the first 1.00 s failed in the same way (status 401, expected 2xx, 3xx)";
        assert_eq!((early.reason, early.why.as_str()), (EndReason::AllFailed, why));
        assert!(early.advice.is_some_and(|advice| advice.contains("credentials")));
        for (count, elapsed, pending) in
            [(9, 2_000_000_000, 0), (10, 899_999_999, 0), (1_000, 2_000_000_000, 1)]
        {
            assert_eq!(end(&seen(count, elapsed, pending)), None, "{count} {elapsed} {pending}");
        }
    }

    #[test]
    fn every_kind_of_failure_has_its_advice() {
        for kind in FailureKind::ALL {
            assert!(!advice(*kind, 0).is_empty(), "{kind:?}");
        }
        let of = |status| advice(FailureKind::Status, status);
        let different = [401, 404, 405, 400, 429, 302, 503, 500, 418].map(of);
        assert_eq!(std::collections::BTreeSet::from(different).len(), different.len());
    }
}
