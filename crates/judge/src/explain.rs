//! Explains a finding, an exit code, a kind of failure or a term: one table for each, and one look-up.

use record::FailureKind;

use crate::consistency;
use crate::findings;

/// An entry of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    /// The name to look up.
    pub name: &'static str,
    /// A few sentences.
    pub meaning: &'static str,
}

/// Exit codes of `proofload run`.
pub const EXIT_CODES: &[Entry] = &[
    entry(
        "0",
        "The run was carried out, and every criterion passed, or none was set. A rehearsal also exits 0 unless something failed or was invalid. `compare` exits 0 whatever the difference, unless a criterion of it says otherwise; `audit`, when no number contradicts another; `capacity`, when both ends of the interval are known.",
    ),
    entry(
        "1",
        "A criterion failed, also because the target could not hold the rate (overload). `audit`: a number contradicts another.",
    ),
    entry("2", "A flag or the experiment file is wrong; nothing was sent."),
    entry(
        "3",
        "Inconclusive or invalid: the generator was late, a required steady state is missing, the run was interrupted, or the data cannot decide a criterion. Never read this as a pass.",
    ),
    entry(
        "4",
        "The run could not be carried out: target, limits or permissions; or every operation failed in the same way from the start, and `--keep-going` was not given.",
    ),
    entry("101", "A bug of proofload itself."),
];

/// The terms of this instrument, one meaning each.
pub const GLOSSARY: &[Entry] = &[
    entry("experiment", "The file that says what is asked, of which target, under which load."),
    entry("question", "What the experiment wants to know, in one sentence."),
    entry("factor", "Something that an experiment varies; each of its values is a level."),
    entry("level", "One value of a factor."),
    entry("arm", "One combination of levels."),
    entry("block", "Each arm once, in random order, close together in time."),
    entry("trial", "One execution of one arm."),
    entry(
        "duet",
        "Both arms of a block at the same time, each arrival assigned to one of them at random: what disturbs the machine disturbs both. Ratios are compared; absolute times are those of a shared machine.",
    ),
    entry("run", "One invocation of the instrument, with one folder of results."),
    entry("system", "What is under test, when the instrument starts it."),
    entry("target", "The address that operations are sent to."),
    entry("observer", "A process that counts what arrives elsewhere."),
    entry("operation", "One unit of client-visible work, measured once."),
    entry("mix", "The operations and journeys of an arm with their relative weights."),
    entry(
        "journey",
        "Several operations that belong together, as one user performs them. Its start is planned; a later step is due when the one before it has ended, plus the think time.",
    ),
    entry(
        "step of a journey",
        "One place in a journey: an operation, perhaps several times, or operations that begin at the same time.",
    ),
    entry(
        "journey time",
        "From the planned start of a journey to its last answer; also shown without the think times of its steps.",
    ),
    entry(
        "arrival process",
        "The rule for start times of an open load: constant, Poisson, stages, burst, replay.",
    ),
    entry(
        "schedule",
        "The sequence of intended starts, fixed by arrival process and seed before the run.",
    ),
    entry(
        "intended start",
        "The instant at which the schedule says that an operation begins. Response time starts here.",
    ),
    entry(
        "dispatch lag",
        "How late the generator released an operation. Always the generator's fault, and never charged to the target.",
    ),
    entry("queue wait", "Waiting for a free connection after release."),
    entry("service time", "From the first byte sent to the last byte received."),
    entry(
        "response time",
        "From the intended start to the complete answer: dispatch lag + queue wait + prepare + service time.",
    ),
    entry(
        "outcome time",
        "Response time in which failed, abandoned and missed operations count as slower than all others.",
    ),
    entry("in flight", "Operations begun and not finished."),
    entry(
        "worker",
        "A thread of the generator, pinned to a core, with its own connections and share of the schedule.",
    ),
    entry(
        "scheduling",
        "How the kernel schedules workers. Those of open loads and of users who think ask for SCHED_FIFO, which goes ahead of all ordinary work on their processors, and give it up near the limit at which the kernel throttles it; workers that poll, or that share their processors with the target, do not ask. Without it they take the best nice value, against targets on other machines only. The report says what was had, and why it was no better. SCHED_FIFO takes CAP_SYS_NICE (`setcap cap_sys_nice=ep` on the binary, `--cap-add SYS_NICE` for a container) or a limit (`USER - rtprio 1` in /etc/security/limits.conf). `--no-realtime` asks for nothing.",
    ),
    entry("connection", "A transport link to the target."),
    entry(
        "stream",
        "One conversation on a connection; several at a time where the protocol allows it.",
    ),
    entry("user", "An actor of a closed loop who thinks between an answer and the next operation."),
    entry(
        "open load",
        "Operations start by the schedule, independent of answers. The report may say: response time at this rate.",
    ),
    entry(
        "closed load",
        "The next operation starts when an answer is there. The report says throughput and service time, never response time at a rate.",
    ),
    entry("outcome", "How an operation ended: succeeded, failed with a kind, abandoned."),
    entry("failure", "An operation that ended badly, counted under its kind."),
    entry("sample", "The record of one operation."),
    entry(
        "window",
        "A stretch of the measure phase with its own histogram: 1 s, or 100 ms when the phase is under 30 s.",
    ),
    entry("histogram", "Counts of values by bucket; buckets are at most 1/1024 of the value wide."),
    entry(
        "percentile",
        "The value that this share of operations did not exceed (nearest rank). In code and JSON it is a quantile in [0, 1].",
    ),
    entry("offered rate", "Operations planned a second."),
    entry("started rate", "Operations begun a second."),
    entry("completed rate", "Operations finished a second, well or badly."),
    entry("goodput", "Operations finished well a second."),
    entry("missed", "Planned and never begun, because the in-flight cap was reached."),
    entry(
        "abandoned",
        "Begun, and unfinished at the drain deadline; slower than every finished operation.",
    ),
    entry(
        "phase",
        "A part of a trial: ramp-up, warm-up (run, not judged), measure (judged), drain (waiting for what is in flight).",
    ),
    entry(
        "steady state",
        "A tested property of the measure phase: no slow start left over, no drift, no step to another level, no growing backlog, no uneven parts.",
    ),
    entry(
        "course",
        "How a system changes through the measure phase by design, as one that grows. Where a steady state is only reported, criteria on quantiles speak of runs that take the same course: windows are held against its drift, not against one level.",
    ),
    entry(
        "warm-up",
        "Load that runs before the measure phase and is not judged. Whether it was long enough is tested.",
    ),
    entry(
        "backlog",
        "Operations due and not finished. At rest it stays within bounds; it grows when more is offered than the target can do.",
    ),
    entry("baseline", "What a candidate is compared with."),
    entry("candidate", "What is compared with the baseline."),
    entry(
        "margin",
        "The difference that counts as none: a ratio, 5 % unless the experiment says otherwise (10 % from p99 on), or a share of failures (0.1 percentage points).",
    ),
    entry(
        "changed",
        "Of a comparison: the 95 % interval of the ratio excludes no difference, and the corrected p-value is at most 0.05. Its size is certain if the whole interval lies beyond the margin.",
    ),
    entry(
        "equivalent",
        "Of a comparison: the 90 % interval of the ratio lies wholly within the margin (two one-sided tests at 5 %).",
    ),
    entry(
        "undecided",
        "Of a comparison: shown neither to be changed nor to be equivalent. Not the same as equal.",
    ),
    entry(
        "sign-flip test",
        "If the arms of each block are alike, either could have been the larger: the p-value is the share of all choices of signs whose sum is at least as far from 0 as the one that was seen.",
    ),
    entry(
        "shift function",
        "The ratio of candidate to baseline at each decile, p95 and p99, with a band from drawing blocks anew.",
    ),
    entry("criterion", "A statement that the run either meets or does not, such as `p99 < 20ms`."),
    entry(
        "look",
        "An instant at which an adaptive measure phase (`--adaptive`) may end, if its intervals are narrow enough by then.",
    ),
    entry(
        "verdict",
        "The answer of a run: pass, fail, inconclusive or invalid; measured where no criterion was set.",
    ),
    entry(
        "grade",
        "What may be claimed of a quantile: supported (ten effective tail events or more), indicative (three to ten, or fewer than 16 windows), refused (fewer).",
    ),
    entry(
        "dispersion",
        "By how much windows vary more than independent draws would (φ). Queues make it large; intervals are wider by its square root.",
    ),
    entry("support", "The effective number of operations in the tail beyond a quantile: n(1−q)/φ."),
    entry(
        "rehearsal",
        "A shortened run (`--quick`) that shows whether an experiment works. It can never pass.",
    ),
    entry(
        "capacity",
        "The highest rate that meets the criteria, as an interval: its low end was shown to hold, its high end not to.",
    ),
    entry("step", "One trial of a search for capacity, at one rate."),
    entry(
        "power point",
        "The rate with the most throughput per mean response time (Kleinrock); for M/M/1 half the service rate.",
    ),
    entry(
        "scalability",
        "The Universal Scalability Law: serial share (σ) and crosstalk (κ) from throughput against operations in flight; with crosstalk there is a peak, N*.",
    ),
    entry(
        "part",
        "Something in the target that says in its answers how long it took (`Server-Timing`): the span of its name is the target's word and not the instrument's.",
    ),
    entry("finding", "Something that the analysis noticed, with evidence and one piece of advice."),
    entry(
        "contradiction",
        "Two numbers of a report that cannot both be true, whatever was measured. `proofload audit` exits 1 for them; a weak claim is none.",
    ),
    entry("calibration", "Measuring the instrument itself against targets of known behaviour."),
    entry("noise floor", "The difference that two measurements of the same thing show."),
];

const fn entry(name: &'static str, meaning: &'static str) -> Entry {
    Entry { name, meaning }
}

/// The meaning of this finding, consistency rule, exit code, kind of failure or term. Case, `-` and `_` instead of
/// spaces, and a plural `s` of a term do not matter.
pub fn explain(wanted: &str) -> Option<String> {
    let key = key(wanted);
    let is = |name: &str| self::key(name) == key;
    if let Some(row) = findings::TABLE.iter().find(|row| is(row.code)) {
        return Some(format!("{}: {}.\n\n{}", row.code, row.title, row.explain));
    }
    if let Some(own) = consistency::RULES.iter().find(|rule| is(rule.id)) {
        return Some(format!("{}, on our own summary: {}", own.id, own.means));
    }
    let exit = |code: &Entry| format!("exit code {}: {}", code.name, code.meaning);
    if is("exit code") || is("exit codes") {
        return Some(EXIT_CODES.iter().map(exit).collect::<Vec<_>>().join("\n"));
    }
    if let Some(code) = EXIT_CODES.iter().find(|entry| is(entry.name)) {
        return Some(exit(code));
    }
    if let Some(kind) = FailureKind::ALL.iter().find(|kind| is(kind.name())) {
        return Some(format!("failure kind {}: {}", kind.name(), kind.meaning()));
    }
    let term = GLOSSARY.iter().find(|entry| is(entry.name));
    let term = term.or_else(|| {
        let singular = key.strip_suffix('s')?;
        GLOSSARY.iter().find(|entry| self::key(entry.name) == singular)
    })?;
    Some(format!("{}: {}", term.name, term.meaning))
}

/// All names that can be explained: one list per table, with its heading.
pub fn tables() -> Vec<(&'static str, Vec<&'static str>)> {
    let named = |entries: &[Entry]| entries.iter().map(|entry| entry.name).collect();
    vec![
        ("findings", findings::TABLE.iter().map(|row| row.code).collect()),
        ("kinds of failure", FailureKind::ALL.iter().map(|kind| kind.name()).collect()),
        ("exit codes", named(EXIT_CODES)),
        ("terms", named(GLOSSARY)),
        ("rules of our own summary", consistency::RULES.iter().map(|rule| rule.id).collect()),
    ]
}

/// The names of [`tables`], one after the other.
pub fn names() -> impl Iterator<Item = &'static str> {
    tables().into_iter().flat_map(|(_, names)| names)
}

fn key(text: &str) -> String {
    text.trim().to_lowercase().replace(['-', '_'], " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exit_codes_tell_what_they_mean_for_commands_that_judge_otherwise() {
        let zero = explain("0").unwrap();
        assert!(["compare", "audit", "capacity"].iter().all(|name| zero.contains(name)), "{zero}");
        assert!(explain("1").unwrap().contains("`audit`"));
        let all = explain("exit-codes").unwrap();
        assert!(EXIT_CODES.iter().all(|code| all.contains(code.meaning)), "{all}");
    }

    #[test]
    fn every_name_is_unique_and_explained() {
        let all: Vec<_> = names().collect();
        let times = |name| all.iter().filter(|other| **other == name).count();
        let twice: Vec<&str> = all.iter().copied().filter(|name| times(*name) > 1).collect();
        assert_eq!(twice, [""; 0]);
        for name in all {
            assert!(explain(name).is_some_and(|text| text.len() > name.len() + 20), "{name}");
        }
    }

    #[test]
    fn spelling_is_forgiven() {
        assert_eq!(explain("Late_Generator"), explain("late-generator"));
        assert_eq!(explain("intended starts"), explain("intended-start"));
        assert_eq!(explain("wonderful"), None);
    }
}
