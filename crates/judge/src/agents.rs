//! What may be said of several machines that performed a trial together: how well their clocks agree, and who differs.

use record::summary::{Agent, Distribution, Quantile, TrialSummary};

/// Windows of different machines that are further apart than this are not those of one instant.
pub const CLOCK_LIMIT_NS: u64 = 50_000_000;
/// An agent whose median is beyond the others' by this factor has a path or a machine of its own kind.
const DIFFERS_FROM: f64 = 1.25;
/// Missed operations below this share of an agent's change no result.
const SHORT_FROM: f64 = 0.01;

/// How far apart the same window was on any two machines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ClockAgreement {
    /// At most this much.
    Within(u64),
    /// The clocks of these machines are kept in time by nothing.
    Unknown(Vec<String>),
}

/// How well the clocks of the agents agree; `None` where one machine performed the trial.
///
/// Machines that share a kernel share its clock. Others may differ by the errors that their kernels admit.
pub fn clocks(agents: &[Agent]) -> Option<ClockAgreement> {
    let first = &agents.first()?.facts;
    let errors: Option<Vec<u64>> = agents.iter().map(|agent| agent.facts.start_error_ns).collect();
    if let Some(errors) = errors {
        // Each against the coordinator's clock.
        return Some(ClockAgreement::Within(worst_two(errors)));
    }
    let starts = agents.iter().map(|agent| agent.facts.measure_from_ns);
    let spread = starts.clone().max().unwrap_or(0) - starts.min().unwrap_or(0);
    let is_one = !first.boot_id.is_empty()
        && agents.iter().all(|agent| agent.facts.boot_id == first.boot_id);
    if is_one {
        return Some(ClockAgreement::Within(spread));
    }
    let unkept = agents.iter().filter(|agent| agent.facts.clock_bound_ns.is_none());
    let unkept: Vec<String> = unkept.map(|agent| agent.facts.name()).collect();
    if !unkept.is_empty() {
        return Some(ClockAgreement::Unknown(unkept));
    }
    let bounds = agents.iter().filter_map(|agent| agent.facts.clock_bound_ns).collect();
    Some(ClockAgreement::Within(spread + worst_two(bounds)))
}

/// Whether windows with one number may be those of different instants.
pub fn windows_are_apart(agents: &[Agent]) -> bool {
    match clocks(agents) {
        None => false,
        Some(ClockAgreement::Within(bound)) => bound > CLOCK_LIMIT_NS,
        Some(ClockAgreement::Unknown(_)) => true,
    }
}

fn worst_two(mut bounds: Vec<u64>) -> u64 {
    bounds.sort_unstable();
    bounds.iter().rev().take(2).sum()
}

/// Machines that saw other response times than others.
#[derive(Debug, Clone, PartialEq)]
pub enum Difference<'a> {
    /// These, fewer than half of all, are far from the median of the rest.
    Minority(Vec<Odd<'a>>),
    /// There is no majority to compare with: the machines with the least and the greatest median.
    NoMajority {
        /// With the least.
        fastest: &'a Agent,
        /// With the greatest.
        slowest: &'a Agent,
    },
}

/// A machine whose median is far from that of the others.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Odd<'a> {
    /// Which.
    pub agent: &'a Agent,
    /// Whether its operations took longer.
    pub is_slow: bool,
    /// The median of the others' medians.
    pub others_ns: u64,
}

/// Which agents saw other response times than the others, if any did: their medians differ by a quarter, beyond the
/// intervals.
///
/// Each is compared with the median of the others' medians. The median of all operations would lie with the agent that
/// has the larger share, and then accuse the other one.
pub fn difference(trial: &TrialSummary) -> Option<Difference<'_>> {
    let medians = trial.agents.iter();
    let medians: Vec<_> =
        medians.filter_map(|agent| Some((agent, median(&agent.response_time)?))).collect();
    let odd: Vec<Odd<'_>> = (0..medians.len()).filter_map(|own| compare(&medians, own)).collect();
    match odd.len() {
        0 => None,
        count if 2 * count < medians.len() => Some(Difference::Minority(odd)),
        _ => {
            let by_median = |one: &&(&Agent, Median)| one.1.observed;
            let (fastest, _) = medians.iter().min_by_key(by_median)?;
            let (slowest, _) = medians.iter().max_by_key(by_median)?;
            Some(Difference::NoMajority { fastest, slowest })
        }
    }
}

/// The agent in this place, if it is far from the others.
fn compare<'a>(medians: &[(&'a Agent, Median)], own: usize) -> Option<Odd<'a>> {
    let (agent, mine) = medians[own];
    let others = medians.iter().enumerate().filter(|(place, _)| *place != own);
    let others: Vec<Median> = others.map(|(_, (_, median))| *median).collect();
    let sorted = |end: fn(&Median) -> u64| {
        let mut ends: Vec<u64> = others.iter().map(end).collect();
        ends.sort_unstable();
        ends
    };
    // Of an even number, the one in the middle that accuses less.
    let (low, high) = (sorted(|one| one.low), sorted(|one| one.high));
    let low = *low.get(others.len().checked_sub(1)? / 2)?;
    let high = *high.get(others.len() / 2)?;
    let is_slow = mine.low as f64 > DIFFERS_FROM * high as f64;
    let is_fast = mine.high as f64 * DIFFERS_FROM < low as f64;
    let others_ns = *sorted(|one| one.observed).get(others.len() / 2)?;
    (is_slow || is_fast).then_some(Odd { agent, is_slow, others_ns })
}

/// A median with its interval. Nanoseconds.
#[derive(Debug, Clone, Copy)]
struct Median {
    observed: u64,
    low: u64,
    high: u64,
}

/// `None` where there is no interval.
fn median(times: &Distribution) -> Option<Median> {
    let is_median = |one: &&Quantile| (one.q - 0.5).abs() < 1e-9;
    let median = times.quantiles.iter().find(is_median)?;
    Some(Median { observed: median.observed_ns?, low: median.low_ns?, high: median.high_ns? })
}

/// The agents that missed a larger share of their operations than all together did, by a factor of two.
pub fn short(trial: &TrialSummary) -> Vec<&Agent> {
    let share = |missed: u64, planned: u64| missed as f64 / planned.max(1) as f64;
    let of_all = share(trial.accounting.missed, trial.accounting.planned);
    let is_short = |agent: &&Agent| {
        // Of a lost agent, more is said elsewhere.
        if agent.facts.lost_after_windows.is_some() {
            return false;
        }
        let own = share(agent.accounting.missed, agent.accounting.planned);
        own > SHORT_FROM && own > 2.0 * of_all
    };
    trial.agents.iter().filter(is_short).collect()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::example;
    use record::summary::{Accounting, AgentFacts, Generator, Grade};

    const MS: u64 = 1_000_000;

    fn times(median_ms: u64) -> Distribution {
        let around = |ms: u64| Some(ms * MS);
        let quantile = Quantile {
            q: 0.5,
            observed_ns: around(median_ms),
            low_ns: Some(median_ms * MS - MS / 10),
            high_ns: Some(median_ms * MS + MS / 10),
            support: 1_000.0,
            grade: Grade::Supported,
        };
        Distribution { count: 1_000, quantiles: vec![quantile], ..Distribution::default() }
    }

    fn agent(share: u32, boot: &str, bound: Option<u64>) -> Agent {
        let facts = AgentFacts {
            share,
            of: 2,
            host: format!("host{share}"),
            boot_id: boot.to_owned(),
            measure_from_ns: 1_000 * MS + u64::from(share),
            clock_bound_ns: bound,
            ..AgentFacts::default()
        };
        Agent {
            facts,
            accounting: Accounting { planned: 1_000, started: 1_000, ..Accounting::default() },
            response_time: times(10),
            generator: Generator::default(),
            spoiled: Vec::new(),
        }
    }

    #[test]
    fn agents_on_one_kernel_have_one_clock() {
        let agents = [agent(1, "a", None), agent(2, "a", None)];
        assert_eq!(clocks(&agents), Some(ClockAgreement::Within(1)));
        assert_eq!(clocks(&[]), None);
    }

    #[test]
    fn clocks_of_different_kernels_differ_by_what_both_admit() {
        let agents = [agent(1, "a", Some(MS)), agent(2, "b", Some(3 * MS)), agent(3, "c", Some(2))];
        assert_eq!(clocks(&agents), Some(ClockAgreement::Within(2 + 4 * MS)));
        assert!(!windows_are_apart(&agents) && !windows_are_apart(&[]));
        let agents = [agent(1, "a", Some(MS)), agent(2, "b", Some(50 * MS))];
        assert!(windows_are_apart(&agents));
    }

    #[test]
    fn exchanges_with_a_coordinator_decide() {
        let mut agents = [agent(1, "a", None), agent(2, "b", None), agent(3, "c", None)];
        for (agent, error) in agents.iter_mut().zip([5, 9, 7]) {
            agent.facts.start_error_ns = Some(error);
        }
        assert_eq!(clocks(&agents), Some(ClockAgreement::Within(16)));
    }

    #[test]
    fn a_clock_that_nothing_keeps_has_no_bound() {
        let agents = [agent(1, "a", Some(MS)), agent(2, "b", None)];
        let unknown = ClockAgreement::Unknown(vec!["share 2 (host2)".to_owned()]);
        assert_eq!(clocks(&agents), Some(unknown));
        // Machines that do not say which they are may be different ones.
        let agents = [agent(1, "", None), agent(2, "", None)];
        assert!(matches!(clocks(&agents), Some(ClockAgreement::Unknown(_))));
        assert!(windows_are_apart(&agents));
    }

    /// Shares that are named as slow and as fast, or the two ends where there is no majority.
    #[derive(Debug, PartialEq)]
    enum Named {
        Odd { slow: Vec<u32>, fast: Vec<u32> },
        Ends(u32, u32),
    }

    fn named(medians_ms: &[u64]) -> Option<Named> {
        let mut trial = example::summary().arms.remove(0).trials.remove(0);
        // The median of all operations lies with whoever has most of them.
        trial.total.response_time = times(medians_ms[0]);
        trial.agents = (1..).zip(medians_ms).map(|(share, &ms)| at(share, ms)).collect();
        let named = match difference(&trial)? {
            Difference::NoMajority { fastest, slowest } => {
                Named::Ends(fastest.facts.share, slowest.facts.share)
            }
            Difference::Minority(odd) => {
                let shares = |slow: bool| {
                    let these = odd.iter().filter(|one| one.is_slow == slow);
                    these.map(|one| one.agent.facts.share).collect()
                };
                Named::Odd { slow: shares(true), fast: shares(false) }
            }
        };
        Some(named)
    }

    /// A machine with this median.
    pub(crate) fn at(share: u32, median_ms: u64) -> Agent {
        Agent { response_time: times(median_ms), ..agent(share, "a", None) }
    }

    #[test]
    fn chance_and_a_slow_target_accuse_no_machine() {
        assert_eq!(named(&[10]), None);
        assert_eq!(named(&[10, 12]), None);
        assert_eq!(named(&[10, 11, 10, 12]), None);
        assert_eq!(named(&[500, 490, 510]), None);
    }

    #[test]
    fn of_two_machines_none_is_accused() {
        assert_eq!(named(&[10, 14]), Some(Named::Ends(1, 2)));
        assert_eq!(named(&[14, 10]), Some(Named::Ends(2, 1)));
    }

    #[test]
    fn a_minority_is_named_whatever_its_share_of_the_operations() {
        let slow = |shares: &[u32]| Some(Named::Odd { slow: shares.to_vec(), fast: Vec::new() });
        assert_eq!(named(&[10, 14, 10]), slow(&[2]));
        // The first has most operations, so the median of all is its own.
        assert_eq!(named(&[14, 10, 10]), slow(&[1]));
        assert_eq!(named(&[30, 10, 11, 30, 10]), slow(&[1, 4]));
        let fast = Some(Named::Odd { slow: Vec::new(), fast: vec![3] });
        assert_eq!(named(&[10, 10, 5, 11]), fast);
        let both = Some(Named::Odd { slow: vec![5], fast: vec![1] });
        assert_eq!(named(&[5, 10, 10, 10, 20]), both);
    }

    #[test]
    fn without_a_majority_the_two_ends_are_shown() {
        assert_eq!(named(&[10, 14, 6]), Some(Named::Ends(3, 2)));
        assert_eq!(named(&[10, 10, 20, 21]), Some(Named::Ends(1, 4)));
    }

    #[test]
    fn an_agent_that_misses_alone_is_short() {
        let mut trial = example::summary().arms.remove(0).trials.remove(0);
        trial.accounting = Accounting { planned: 2_000, missed: 30, ..trial.accounting };
        trial.agents = vec![agent(1, "a", None), agent(2, "b", None)];
        trial.agents[1].accounting.missed = 30;
        assert!(short(&trial).is_empty(), "3 % beside 1.5 % is not twice as much");
        trial.accounting.planned = 8_000;
        assert_eq!(short(&trial).len(), 1);
    }
}
