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

/// The agents whose median response time is far from that of all, beyond both intervals.
pub fn differing(trial: &TrialSummary) -> Vec<&Agent> {
    let Some((low, high)) = median(&trial.total.response_time) else { return Vec::new() };
    let far = |agent: &&Agent| {
        median(&agent.response_time).is_some_and(|(from, to)| {
            from as f64 > DIFFERS_FROM * high as f64 || (to as f64) * DIFFERS_FROM < low as f64
        })
    };
    trial.agents.iter().filter(far).collect()
}

/// The interval of the median; `None` where there is none.
fn median(times: &Distribution) -> Option<(u64, u64)> {
    let is_median = |one: &&Quantile| (one.q - 0.5).abs() < 1e-9;
    let median = times.quantiles.iter().find(is_median)?;
    Some((median.low_ns?, median.high_ns?))
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
mod tests {
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

    #[test]
    fn a_slow_path_stands_out_and_chance_does_not() {
        let mut trial = example::summary().arms.remove(0).trials.remove(0);
        trial.total.response_time = times(10);
        trial.agents = vec![agent(1, "a", None), agent(2, "b", None), agent(3, "c", None)];
        trial.agents[1].response_time = times(11);
        assert!(differing(&trial).is_empty());
        trial.agents[1].response_time = times(14);
        trial.agents[2].response_time = times(6);
        let names: Vec<u32> = differing(&trial).iter().map(|one| one.facts.share).collect();
        assert_eq!(names, [2, 3]);
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
