//! Tables of closed loads of different sizes.

use record::summary::{Scaling, Summary};

use super::Table;
use super::capacity::law;
use judge::findings::plain;
use judge::scaling::LEVELS;
use plan::number::{duration, rate, significant};

/// One table for each factor and stratum with enough sizes to show a trend.
pub fn all(summary: &Summary) -> Vec<Table> {
    shown(summary).map(table).collect()
}

/// Those with enough sizes to show a trend.
pub fn shown(summary: &Summary) -> impl Iterator<Item = &Scaling> {
    summary.scalings.iter().filter(|one| one.points.len() >= LEVELS)
}

/// The size and the stratum, as text.
pub fn title(scaling: &Scaling) -> String {
    let others = scaling.stratum.iter().map(|(name, level)| format!("{name} = {}", plain(level)));
    let others: Vec<String> = others.collect();
    let place = if others.is_empty() { String::new() } else { format!(", {}", others.join(", ")) };
    format!("Throughput against {}{place}", scaling.actors)
}

fn table(scaling: &Scaling) -> Table {
    let actors = if scaling.actors == "users" { "#users" } else { "#connections" };
    let columns =
        [actors, "#trials", "#goodput", "#least", "#greatest", "#times the first", "#mean service"];
    let note = match &scaling.law {
        Some(known) => format!("Universal Scalability Law: {}.", law(known)),
        None if scaling.points.iter().any(|point| point.crowded) => {
            "No law is fitted: that takes four sizes and six trials in which the generator did not wait for its processor."
                .to_owned()
        }
        None => "No law is fitted: that takes six trials or more.".to_owned(),
    };
    let mut table = Table::new("scaling", title(scaling), &columns).note(note);
    let first = scaling.points.first().map_or(1.0, |point| point.goodput);
    for point in &scaling.points {
        let busy = if point.generator_bound { " (generator busy)" } else { "" };
        let crowded = if point.crowded { " (generator waited)" } else { "" };
        table.row([
            point.concurrency.to_string(),
            point.trials.to_string(),
            format!("{}{busy}{crowded}", rate(point.goodput)),
            rate(point.least),
            rate(point.greatest),
            significant(point.goodput / first),
            duration(point.service_mean_ns),
        ]);
    }
    table
}
