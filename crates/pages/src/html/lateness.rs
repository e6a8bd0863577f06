//! The lateness of each machine's generator, one below the other on one axis: a machine that cannot keep its schedule
//! stands out.

use plan::number::duration;
use record::summary::{Agent, TrialSummary};

use super::axis::rounded;
use super::bars::{Bar, Bars, Line};

/// The axis begins here: smaller lateness changes no result.
const LEAST_NS: f64 = 1_000.0;

/// None without a machine whose lateness is known.
pub fn bars(trial: &TrialSummary) -> Option<Bars> {
    let most = trial.agents.iter().filter_map(|agent| lag(agent, 1.0)).max()?;
    let axis = Axis { decades: (most as f64 / LEAST_NS).max(10.0).log10() };
    Some(Bars {
        title: "Dispatch lag of each machine".to_owned(),
        lines: trial.agents.iter().map(|agent| line(agent, &axis)).collect(),
        legend: vec![("half", "to p50"), ("most", "to p99"), ("tail", "to the greatest")],
        note: Some(format!("Logarithmic, from 1 µs to {}.", duration(most))),
    })
}

/// Logarithmic, the same for all machines.
struct Axis {
    decades: f64,
}

impl Axis {
    fn place(&self, lag_ns: u64) -> f64 {
        let decades = (lag_ns as f64 / LEAST_NS).max(1.0).log10();
        rounded((100.0 * decades / self.decades).clamp(0.0, 100.0))
    }
}

fn line(agent: &Agent, axis: &Axis) -> Line {
    let name = agent.facts.name();
    let marks = [0.5, 0.99, 1.0].map(|q| lag(agent, q));
    let [Some(half), Some(most), Some(all)] = marks else {
        let text = format!("{name}: not known");
        return Line { name, bars: Vec::new(), figure: "not known".to_owned(), text };
    };
    let mut from = 0.0;
    let mut bars = Vec::new();
    for (what, lag) in [("half", half), ("most", most), ("tail", all)] {
        let to = axis.place(lag);
        bars.push(Bar { what, from, width: rounded(to - from) });
        from = to;
    }
    let [half, most, all] = [half, most, all].map(duration);
    Line {
        text: format!("{name}: p50 {half}, p99 {most}, at most {all}"),
        name,
        bars,
        figure: format!("p99 {most}"),
    }
}

/// The lateness at this quantile; 1 for the greatest.
fn lag(agent: &Agent, q: f64) -> Option<u64> {
    let lags = &agent.generator.dispatch_lag;
    match q {
        1.0 => Some(lags.max_ns).filter(|_| lags.count > 0),
        _ => lags.quantiles.iter().find(|one| (one.q - q).abs() < 1e-9)?.observed_ns,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use judge::example;
    use record::summary::{AgentFacts, Distribution, Grade, Quantile};

    fn agent(share: u32, lags: Option<[u64; 3]>) -> Agent {
        let facts = AgentFacts { share, of: 2, host: "load".to_owned(), ..AgentFacts::default() };
        let mut agent = Agent {
            facts,
            accounting: Default::default(),
            response_time: Distribution::default(),
            generator: Default::default(),
            spoiled: Vec::new(),
        };
        if let Some([half, most, max]) = lags {
            let at = |q, ns| Quantile {
                q,
                observed_ns: Some(ns),
                low_ns: None,
                high_ns: None,
                support: 9.0,
                grade: Grade::Supported,
            };
            let quantiles = vec![at(0.5, half), at(0.99, most)];
            let known =
                Distribution { count: 9, max_ns: max, quantiles, ..Distribution::default() };
            agent.generator.dispatch_lag = known;
        }
        agent
    }

    #[test]
    fn machines_share_one_logarithmic_axis() {
        let summary = example::summary();
        let mut trial = summary.arms[0].trials[0].clone();
        assert!(bars(&trial).is_none(), "one machine has no picture");
        trial.agents = vec![
            agent(1, Some([10_000, 100_000, 10_000_000])),
            agent(2, Some([500, 1_000, 1_000])),
            agent(3, None),
        ];
        let drawn = bars(&trial).expect("two are known");
        let widths = |line: usize| {
            let bars = &drawn.lines[line].bars;
            bars.iter().map(|bar| (bar.what, bar.from, bar.width)).collect::<Vec<_>>()
        };
        // Four decades, from a microsecond to ten milliseconds.
        assert_eq!(widths(0), [("half", 0.0, 25.0), ("most", 25.0, 25.0), ("tail", 50.0, 50.0)]);
        assert_eq!(widths(1), [("half", 0.0, 0.0), ("most", 0.0, 0.0), ("tail", 0.0, 0.0)]);
        assert_eq!((widths(2).len(), drawn.lines[2].figure.as_str()), (0, "not known"));
    }
}
