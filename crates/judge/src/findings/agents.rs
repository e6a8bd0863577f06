//! Findings about the machines that performed a trial together.

use record::summary::{Agent, Severity};

use super::kind::{Check, FindingKind, Noticed};
use crate::agents::{CLOCK_LIMIT_NS, ClockAgreement, Difference, Odd, clocks, difference, short};
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

/// Some machines see other times than the others.
pub const DIFFER: FindingKind = FindingKind {
    code: "agents-differ",
    severity: Severity::Warning,
    clearest: None,
    title: "machines saw different response times",
    explain: "All machines sent the same mix to the same target at the same time, and their median response times differ \
              by a quarter or more, beyond the intervals. A slow target is slow for all of them, and then there is no \
              such finding. So the cause is a path to the target, or a machine itself. Each machine is compared with \
              the median of the others' medians. If fewer than half of them stand out, they are named. If there is no \
              majority, as with two machines, the finding does not say which of them is the odd one. The merged \
              figures mix all paths: they hold for users who are spread like the machines. The table of machines shows \
              each.",
    check: Check::Trial(|case| {
        Some(match difference(case.trial)? {
            Difference::Minority(odd) => minority(&odd),
            Difference::NoMajority { fastest, slowest } => no_majority(fastest, slowest),
        })
    }),
};

fn minority(odd: &[Odd<'_>]) -> Noticed {
    let (first, shares) = (odd[0], shares(odd.iter().map(|one| one.agent)));
    let own = quantile(&first.agent.response_time, 0.5).map_or("?".to_owned(), duration);
    let claim = format!(
        "the median response time of {}{} was {own}, that of the other machines {}",
        first.agent.facts.name(),
        more(odd.len()),
        duration(first.others_ns)
    );
    let advice = match first.is_slow {
        true => {
            "look at that machine and its path to the target: the others got faster answers from the same target"
        }
        false => {
            "compare its path to the target with that of the others: it may be nearer, or get other answers"
        }
    };
    Noticed::new(claim, advice).with("shares", shares)
}

fn no_majority(fastest: &Agent, slowest: &Agent) -> Noticed {
    let median =
        |agent: &Agent| quantile(&agent.response_time, 0.5).map_or("?".to_owned(), duration);
    let claim = format!(
        "the median response times of the machines differ, from {} at {} to {} at {}, and no majority agrees",
        median(fastest),
        fastest.facts.name(),
        median(slowest),
        slowest.facts.name()
    );
    let advice = "compare the machines and their paths to the target, or add machines: a majority shows which one is the odd one";
    Noticed::new(claim, advice).with("shares", shares([fastest, slowest]))
}

/// Windows of the machines may be apart.
pub const CLOCKS: FindingKind = FindingKind {
    code: "clock-bound-too-wide",
    severity: Severity::Warning,
    clearest: None,
    title: "the machines' clocks may disagree",
    explain: "Each machine stamps its operations with its own clock, so response times need no common clock. Windows do: \
              window 7 of one machine is merged with window 7 of the others. Their start is an instant of the wall clock, \
              which may be wrong by as much as the kernel admits (`adjtimex`); with a coordinator, exchanges of time stamps \
              bound it instead, and a slow way to the coordinator makes that bound wide. Beyond 50 ms, figures over time \
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
            more(short.len()),
            percent(ratio),
            percent(
                case.trial.accounting.missed as f64 / case.trial.accounting.planned.max(1) as f64
            )
        );
        let advice = "compare that machine and its way to the target with the others";
        Some(
            Noticed::new(claim, advice)
                .with("missed_ratio", ratio)
                .with("shares", shares(short.iter().copied())),
        )
    }),
};

fn more(agents: usize) -> String {
    match agents - 1 {
        0 => String::new(),
        others => format!(" (and {others} more)"),
    }
}

fn shares<'a>(agents: impl IntoIterator<Item = &'a Agent>) -> Vec<u32> {
    agents.into_iter().map(|agent| agent.facts.share).collect()
}

fn quantile(times: &record::summary::Distribution, q: f64) -> Option<u64> {
    times.quantiles.iter().find(|one| (one.q - q).abs() < 1e-9)?.observed_ns
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agents::tests::at;

    #[test]
    fn one_slow_machine_among_fast_ones_points_to_its_path_or_itself() {
        let (slow, fast) = (at(2, 14), at(3, 5));
        let odd = |agent| Odd { agent, is_slow: agent == &slow, others_ns: 10_000_000 };
        let noticed = minority(&[odd(&slow)]);
        let claim = "the median response time of share 2 (host2) was 14.0 ms, that of the other machines 10.0 ms";
        assert_eq!(noticed.claim, claim);
        assert!(noticed.advice.starts_with("look at that machine and its path"), "{noticed:?}");
        let noticed = minority(&[odd(&fast), odd(&slow)]);
        assert!(noticed.claim.contains("share 3 (host3) (and 1 more) was 5.00 ms"), "{noticed:?}");
        assert!(noticed.advice.contains("it may be nearer"), "{noticed:?}");
    }

    #[test]
    fn of_two_machines_both_are_named_and_none_is_accused() {
        let noticed = no_majority(&at(2, 10), &at(1, 14));
        let claim = "the median response times of the machines differ, from 10.0 ms at share 2 (host2) to 14.0 ms at \
                     share 1 (host1), and no majority agrees";
        assert_eq!(noticed.claim, claim);
        assert!(noticed.advice.contains("add machines"), "{noticed:?}");
    }
}
