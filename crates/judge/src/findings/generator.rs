//! Findings about the instrument itself.

use record::summary::{Generator, Model, Severity};

use super::codes::{AUDIT_CONTRADICTION, CROWDED};
use super::compared_while_bound::BUSY;
use super::kind::{Check, FindingKind, Noticed};
use crate::case::Case;
use crate::scheduling;
use crate::validity;
use plan::number::{duration, percent};

/// Our own numbers contradict each other.
pub const AUDIT: FindingKind = FindingKind {
    code: AUDIT_CONTRADICTION,
    severity: Severity::Error,
    clearest: None,
    title: "the report contradicts itself",
    explain: "Every summary is checked with rules A1 to A19 before it is shown: sums, orders, bounds \
              between mean and quantiles, Little's law. A contradiction in a report of this \
              instrument is a bug of this instrument. Do not use the numbers; please report it.",
    check: Check::Trial(|case| {
        let first = case.facts.contradictions.first()?;
        let claim = format!("numbers of this report contradict each other: {first}");
        let all = case.facts.contradictions.clone();
        Some(
            Noticed::new(claim, "report this as a bug of proofload, with the run folder")
                .with("rules", all),
        )
    }),
};

/// Lateness that changes the result.
pub const LATE: FindingKind = FindingKind {
    code: "late-generator",
    severity: Severity::Error,
    clearest: Some("tail_share_dispatch_lag"),
    title: "operations were released late",
    explain: "Operations left the generator later than the schedule says, by enough to move the \
              result: more than 10 % of the time of the slowest hundredth was dispatch lag (and its \
              p99 is above 1 ms), or more than 1 % of operations were released later than the median \
              response time (at least 1 ms). The trial says nothing about the target. Dispatch lag is \
              always the generator's fault: give it a free core, or a lower rate. Where other work shares the \
              machine, real-time priority keeps workers in time. They ask for it; `scheduling` says what they had. \
              It takes CAP_SYS_NICE (`setcap cap_sys_nice=ep` on the binary, `--cap-add SYS_NICE` for a container) \
              or a limit (`USER - rtprio 1` in /etc/security/limits.conf).",
    check: Check::Trial(|case| {
        let of_all = validity::lateness(case.trial, case.facts);
        let why = of_all.or_else(|| validity::late_shares(case.trial).next())?;
        let lag = &case.trial.generator.dispatch_lag;
        let advice = "give the generator a core of its own, or lower the rate";
        let noticed = Noticed::new(why, better_scheduled(&case.trial.generator, advice))
            .with("tail_share_dispatch_lag", case.trial.generator.tail_share.dispatch_lag)
            .with("late_ratio", case.facts.late_ratio)
            .with("dispatch_lag_max_ns", lag.max_ns);
        Some(match &case.trial.generator.scheduling {
            Some(had) => noticed.with("scheduling", scheduling::in_words(had)),
            None => noticed,
        })
    }),
};

/// A busy worker in a closed loop.
pub const BOUND: FindingKind = FindingKind {
    code: "generator-bound",
    severity: Severity::Warning,
    clearest: Some("cpu_ratio"),
    title: "the target may do more",
    explain: "In a closed loop each worker sends as fast as it gets answers, so a worker that is busy \
              more than 90 % of the time limits the throughput itself. That is no fault, but the \
              throughput is then a lower bound: the target may do more. Add workers or connections, or \
              offer a rate (open load) and look at the response time.",
    check: Check::Trial(|case| {
        let ratio = case.trial.generator.cpu_ratio;
        if case.trial.load.model == Model::Open || ratio <= BUSY {
            return None;
        }
        let claim = format!(
            "the busiest worker used {} of its core, so the target may do more than this throughput",
            percent(ratio)
        );
        Some(
            Noticed::new(claim, "add workers with `--workers`, on cores of their own")
                .with("cpu_ratio", ratio),
        )
    }),
};

/// A closed loop that waits for its processor, which no lag shows.
pub const CROWDED_ROW: FindingKind = FindingKind {
    code: CROWDED,
    severity: Severity::Warning,
    clearest: Some("waited_ratio"),
    title: "a closed load waited for its processor",
    explain: "In a closed loop nothing is ever late: a worker that waits for its processor sends less, and no lag \
              shows it. A worker was ready and did not run for more than 5 % of the measure phase, or the \
              hypervisor took that much processor time away. Throughput and times may be wrong by as much, and \
              rates that differ by 5 % count as equal. So these figures describe a crowded machine and not the \
              target. Comparisons say how many of their blocks hold such a trial, and are undecided if most do. \
              Criteria on times and rates are undecided; criteria on counts are judged. Findings that need several \
              levels (`dose-order`, `no-scaling`, `scaling-cliff`) and the scalability law leave such levels out. \
              Stop what else runs on this machine, give the workers processors of their own, or offer a rate, \
              where dispatch lag shows the effect. Users who think are not delayed by a wait that is shorter than \
              their thinking.",
    check: Check::Trial(|case| {
        let why = validity::crowding(case.trial, case.facts)?;
        let generator = &case.trial.generator;
        let claim = format!("{why}: throughput and times are those of a crowded machine");
        let advice = "stop other work on this machine, or give the workers processors of their own";
        let waited = generator.run_queue_ratio.max(generator.steal_ratio);
        let noticed = Noticed::new(claim, better_scheduled(generator, advice))
            .with("waited_ratio", waited)
            .with("run_queue_ratio", generator.run_queue_ratio)
            .with("steal_ratio", generator.steal_ratio);
        Some(noticed)
    }),
};

/// Cause: worker CPU.
pub const CPU: FindingKind = FindingKind {
    code: "generator-cpu",
    severity: Severity::Warning,
    clearest: Some("cpu_ratio"),
    title: "a worker had no time left",
    explain: "A worker of the generator used more than 90 % of its core while the plan was not kept. \
              A busy worker alone is no fault; here it is the likely cause of the lateness or of the \
              missed operations. Add workers, or lower the rate.",
    check: Check::Trial(|case| {
        cause(case, case.trial.generator.cpu_ratio > 0.9, |generator| {
            let claim = format!(
                "likely cause: the busiest worker used {} of its core",
                percent(generator.cpu_ratio)
            );
            Noticed::new(claim, "add workers with `--workers`, or lower the rate")
                .with("cpu_ratio", generator.cpu_ratio)
        })
    }),
};

/// Cause: other threads on the worker's core.
pub const RUN_QUEUE: FindingKind = FindingKind {
    code: "generator-run-queue",
    severity: Severity::Warning,
    clearest: Some("run_queue_ratio"),
    title: "a worker waited for a processor",
    explain: "A worker was ready to run and had to wait, because something else ran on its core, for \
              more than 1 % of the time, while the plan was not kept. Stop what else runs on this \
              machine, or give the workers other cores.",
    check: Check::Trial(|case| {
        cause(case, case.trial.generator.run_queue_ratio > 0.01, |generator| {
            let claim = format!(
                "likely cause: a worker waited for a processor during {} of the measure phase",
                percent(generator.run_queue_ratio)
            );
            Noticed::new(claim, "stop other work on this machine, or use fewer workers")
                .with("run_queue_ratio", generator.run_queue_ratio)
        })
    }),
};

/// Cause: a worker that was woken late.
pub const ASLEEP: FindingKind = FindingKind {
    code: "generator-asleep",
    severity: Severity::Warning,
    clearest: Some("dispatch_lag_max_ns"),
    title: "a worker was woken late",
    explain: "Operations were late, each by less than 50 ms, while the busiest worker used less than half of \
              its core and did not wait for it: it slept until the next operation was due, and was woken late. \
              Processors of a virtual machine and those that sleep deeply take up to some milliseconds to wake. \
              With `busy_poll = true` under `[load]` workers poll in place of sleeping, so that their \
              processors stay awake, at the price of all of their time.",
    check: Check::Trial(|case| {
        let generator = &case.trial.generator;
        let longest = generator.dispatch_lag.max_ns;
        // Half of a core: a busier worker sleeps too rarely for this cause. 50 ms: the longest late wake-up that was
        // measured is 11 ms, and a longer pause means that the worker was stopped.
        let slept = generator.polled_ratio.is_none()
            && generator.cpu_ratio < 0.5
            && longest < 50_000_000
            && generator.run_queue_ratio <= 0.01
            && generator.steal_ratio <= 0.01
            && generator.throttled_ns == 0;
        let may_poll = case.facts.workers_alone;
        if !slept || !may_poll || validity::lateness(case.trial, case.facts).is_none() {
            return None;
        }
        let claim = format!(
            "likely cause: workers that slept were woken late, by up to {}; the busiest used {} of its core",
            duration(longest),
            percent(generator.cpu_ratio)
        );
        Some(
            Noticed::new(
                claim,
                "let workers poll: `busy_poll = true` under [load], or `--set load.busy_poll=true`",
            )
            .with("dispatch_lag_max_ns", longest)
            .with("cpu_ratio", generator.cpu_ratio),
        )
    }),
};

/// Cause: the hypervisor.
pub const STEAL: FindingKind = FindingKind {
    code: "generator-steal",
    severity: Severity::Warning,
    clearest: Some("steal_ratio"),
    title: "the hypervisor took processor time away",
    explain: "The hypervisor gave more than 1 % of processor time to other guests while the plan was \
              not kept. Nothing inside this machine can prevent it; use a machine with processors of \
              its own, or repeat the run.",
    check: Check::Trial(|case| {
        cause(case, case.trial.generator.steal_ratio > 0.01, |generator| {
            let claim = format!(
                "likely cause: the hypervisor took away {} of processor time",
                percent(generator.steal_ratio)
            );
            Noticed::new(claim, "repeat the run, or use a machine with processors of its own")
                .with("steal_ratio", generator.steal_ratio)
        })
    }),
};

/// Cause: the control group.
pub const THROTTLED: FindingKind = FindingKind {
    code: "generator-throttled",
    severity: Severity::Warning,
    clearest: Some("throttled_ns"),
    title: "the control group was throttled",
    explain: "The control group of the generator used up its CPU quota and was stopped for a while, \
              while the plan was not kept. Throttling shows as pauses in multiples of 100 ms. Raise the \
              quota of the container.",
    check: Check::Trial(|case| {
        cause(case, case.trial.generator.throttled_ns > 0, |generator| {
            let claim = format!(
                "likely cause: the control group was throttled for {}",
                duration(generator.throttled_ns)
            );
            Noticed::new(claim, "raise the CPU quota of the container")
                .with("throttled_ns", generator.throttled_ns)
        })
    }),
};

/// Advice that begins with how to get better scheduling, where that is possible.
fn better_scheduled(generator: &Generator, advice: &str) -> String {
    let remedy = generator.scheduling.as_ref().and_then(scheduling::remedy);
    match remedy {
        Some(remedy) => format!("{remedy}; or {advice}"),
        None => advice.to_owned(),
    }
}

/// Names a scarce resource only if an effect needs a cause.
fn cause(case: &Case<'_>, scarce: bool, say: fn(&Generator) -> Noticed) -> Option<Noticed> {
    let effect = validity::lateness(case.trial, case.facts).is_some()
        || case.trial.accounting.missed > 0 && !case.facts.interrupted;
    (effect && scarce).then(|| say(&case.trial.generator))
}
