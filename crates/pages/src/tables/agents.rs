//! The machines that performed a trial together.

use judge::agents::{ClockAgreement, clocks};
use plan::number;
use record::summary::{Agent, Distribution, TrialSummary};

use super::Table;

/// Name of the table.
pub const MACHINES: &str = "agents";

/// One row for each machine; `None` where it was one.
pub fn table(trial: &TrialSummary) -> Option<Table> {
    let agreement = match clocks(&trial.agents)? {
        ClockAgreement::Within(bound) => {
            format!("Their windows are at most {} apart.", number::duration(bound))
        }
        ClockAgreement::Unknown(_) => {
            "How far their windows are apart is not known: not every clock is kept in time."
                .to_owned()
        }
    };
    let columns = [
        "share",
        "machine",
        "#cores",
        "#planned",
        "#missed",
        "#failed",
        "#p50",
        "#p99",
        "#dispatch lag p99",
        "#CPU",
        "windows off by",
    ];
    let note = format!("Times of each machine by its own clock. {agreement}");
    let mut table = Table::new(MACHINES, "Machines", &columns).note(note);
    let boot_id = &trial.agents.first()?.facts.boot_id;
    let is_one = trial.agents.iter().all(|agent| agent.facts.boot_id == *boot_id);
    for agent in &trial.agents {
        table.row(row(agent, is_one && !boot_id.is_empty()));
    }
    Some(table)
}

/// `one_clock`: whether all machines are one.
fn row(agent: &Agent, one_clock: bool) -> [String; 11] {
    let (facts, accounting) = (&agent.facts, &agent.accounting);
    [
        facts.share.to_string(),
        facts.host.clone(),
        facts.machine.cores.to_string(),
        number::count(accounting.planned),
        number::count(accounting.missed),
        number::count(accounting.failed),
        at(&agent.response_time, 0.5),
        at(&agent.response_time, 0.99),
        at(&agent.generator.dispatch_lag, 0.99),
        number::percent(agent.generator.cpu_ratio),
        match (facts.start_error_ns, facts.clock_bound_ns) {
            (Some(error), _) => number::duration(error),
            _ if one_clock => "one clock".to_owned(),
            (None, Some(bound)) => number::duration(bound),
            (None, None) => "not known".to_owned(),
        },
    ]
}

fn at(times: &Distribution, q: f64) -> String {
    let found = times.quantiles.iter().find(|one| (one.q - q).abs() < 1e-9);
    let known = found.and_then(|one| one.observed_ns);
    known.map_or_else(|| "–".to_owned(), number::duration)
}
