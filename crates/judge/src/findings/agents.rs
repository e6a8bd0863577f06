//! Findings about the machines that performed a trial together.

use record::summary::{Agent, Severity};

use super::kind::{Check, FindingKind, Noticed};
use crate::agents::{CLOCK_LIMIT_NS, ClockAgreement, clocks, differing, short};
use crate::validity;
use plan::number::{duration, percent};

/// A machine that was lost.
pub const LOST: FindingKind = FindingKind {
    code: "agent-lost",
    severity: Severity::Error,
    clearest: None,
    title: "a machine was lost during the trial",
    explain: "An agent stopped answering (its machine or its process died, or the network to it failed) while others went on. \
              Its operations are not given to others, since that would change the load. Those that are in none of the \
              windows that it had reported count as missed, if the plan says how many there are: under an open load, \
              and where a number of operations ends the load. In a closed load or one of users that ends after a \
              duration, answers decide how many operations there are, so the rest is not counted at all, and the \
              finding says so. Load was missing from then on, so the trial says nothing about the target under the \
              planned load.",
    check: Check::Trial(|case| {
        let mut lost = validity::lost_shares(case.trial);
        let first = lost.next()?;
        let claim = match lost.count() {
            0 => first,
            others => format!("{first} (and {others} more machines were lost)"),
        };
        Some(Noticed::new(claim, "look at the agent's last words on that machine, and run again"))
    }),
};

/// One machine sees other times than all.
pub const DIFFER: FindingKind = FindingKind {
    code: "agents-differ",
    severity: Severity::Warning,
    clearest: None,
    title: "machines saw different response times",
    explain: "All machines sent the same mix to the same target at the same time, and the median response time of one is \
              off by a quarter or more, beyond both intervals. So the cause is not the target but the way there, or \
              the machine itself. The merged figures mix both ways: they hold for users who are spread like the \
              machines. The table of machines shows each.",
    check: Check::Trial(|case| {
        let differing = differing(case.trial);
        let first = differing.first()?;
        let all = quantile(&case.trial.total.response_time, 0.5)?;
        let own = quantile(&first.response_time, 0.5)?;
        let more = more(&differing);
        let claim = format!(
            "the median response time of {}{more} was {}, that of all {}",
            first.facts.name(),
            duration(own),
            duration(all)
        );
        let advice = "compare the network paths and the load of the machines";
        Some(Noticed::new(claim, advice).with("shares", shares(&differing)))
    }),
};

/// Windows of the machines may be apart.
pub const CLOCKS: FindingKind = FindingKind {
    code: "clock-bound-too-wide",
    severity: Severity::Warning,
    clearest: None,
    title: "the machines' clocks may disagree",
    explain: "Each machine stamps its operations with its own clock, so response times need no common clock. Windows do: \
              window 7 of one machine is merged with window 7 of the others. Their start is an instant of the wall clock, \
              which may be wrong by as much as the kernel admits (`adjtimex`). Beyond 50 ms, figures over time \
              (charts, steady state) are blurred by that much, and criteria over windows are left undecided. Keep the clocks in time with \
              chrony or another time service.",
    check: Check::Trial(|case| {
        let claim = match clocks(&case.trial.agents)? {
            ClockAgreement::Within(bound) if bound <= CLOCK_LIMIT_NS => return None,
            ClockAgreement::Within(bound) => {
                format!("the machines' clocks may disagree by up to {}", duration(bound))
            }
            ClockAgreement::Unknown(names) => format!(
                "nothing keeps the clock of {} in time, so the windows of the machines may be apart by any amount",
                names.join(", ")
            ),
        };
        Some(Noticed::new(claim, "run a time service such as chrony on every machine"))
    }),
};

/// One machine could not send its share.
pub const SHORT: FindingKind = FindingKind {
    code: "share-short",
    severity: Severity::Warning,
    clearest: Some("missed_ratio"),
    title: "a machine did not send its share",
    explain: "A machine missed operations of its share (more than 1 %, and twice as many as all together) because as many as \
              it may have were in flight. The others sent theirs, so the target could have answered: look at that \
              machine and its way to the target.",
    check: Check::Trial(|case| {
        let short = short(case.trial);
        let first = short.first()?;
        let accounting = first.accounting;
        let ratio = accounting.missed as f64 / accounting.planned.max(1) as f64;
        let claim = format!(
            "{}{} missed {} of its operations, all machines together {}",
            first.facts.name(),
            more(&short),
            percent(ratio),
            percent(
                case.trial.accounting.missed as f64 / case.trial.accounting.planned.max(1) as f64
            )
        );
        let advice = "compare that machine and its way to the target with the others";
        Some(Noticed::new(claim, advice).with("missed_ratio", ratio).with("shares", shares(&short)))
    }),
};

fn more(agents: &[&Agent]) -> String {
    match agents.len() - 1 {
        0 => String::new(),
        others => format!(" (and {others} more)"),
    }
}

fn shares(agents: &[&Agent]) -> Vec<u32> {
    agents.iter().map(|agent| agent.facts.share).collect()
}

fn quantile(times: &record::summary::Distribution, q: f64) -> Option<u64> {
    times.quantiles.iter().find(|one| (one.q - q).abs() < 1e-9)?.observed_ns
}
