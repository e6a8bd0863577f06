//! Tables of a search for capacity: the answer, its steps, and the way up and down.

use plan::units::format_rate as offered;
use record::summary::{
    Capacity, CapacityEnding, CapacityStep, NoFurther, Scalability, StepResult, Summary,
    TrialSummary,
};

use super::Table;
use judge::capacity::because;
use plan::number::{count, duration, duration_or, percent, rate};

/// All tables of a search; none for another run.
pub fn all(summary: &Summary) -> Vec<Table> {
    let Some(capacity) = &summary.capacity else { return Vec::new() };
    let tables = [Some(answer(capacity)), steps(capacity), stairs(capacity)];
    tables.into_iter().flatten().collect()
}

/// Whether a page shows this trial in full: each trial of an ordinary run; of a search, the last one at either end,
/// and the one up and down.
pub fn shows(summary: &Summary, trial: &TrialSummary) -> bool {
    let Some(capacity) = &summary.capacity else { return true };
    let ends = [(capacity.low, StepResult::Pass), (capacity.high, StepResult::Fail)];
    let last = |(end, result): (Option<f64>, StepResult)| {
        let mut at = capacity.steps.iter().filter(|step| Some(step.rate) == end);
        at.rfind(|step| step.result == result).map(|step| step.trial)
    };
    let stairs = capacity.stairs.as_ref().map(|stairs| stairs.trial);
    ends.into_iter().filter_map(last).chain(stairs).any(|shown| shown == trial.index)
}

fn answer(capacity: &Capacity) -> Table {
    let mut table = Table::new("capacity", "Capacity", &["", "this search"]);
    let mut line = |name: &str, text: String| table.row([name.to_owned(), text]);
    line("criteria", capacity.criteria.join(", "));
    line("interval", interval(capacity));
    if let Some(not_shown) = capacity.not_shown.filter(|rate| Some(*rate) != capacity.high) {
        let why = match capacity.no_further {
            Some(NoFurther::Contested) => passed_between(capacity),
            _ => "trials of this length cannot tell".to_owned(),
        };
        line("undecided from", format!("{}: {why}", offered(not_shown)));
    }
    if let Some(why) = capacity.no_further {
        line("narrowed no further", because(why).to_owned());
    }
    if let Some(achieved) = capacity.achieved {
        line("achieved at the low end", rate(achieved));
    }
    if let Some(confirmation) = capacity.confirmation {
        let (passed, of) = (confirmation.passed, confirmation.of);
        line("confirmed", format!("{passed} of {of} fresh trials at the low end passed"));
    }
    if let Some(limit) = &capacity.limited_by {
        line("limited by", limit.clone());
    }
    if let Some(symptom) = &capacity.symptom {
        line("seen at the upper end", symptom.clone());
    }
    if let Some(power) = capacity.power_point {
        line("power point", format!("{}: most throughput per response time", offered(power)));
    }
    if let Some(law) = &capacity.scalability {
        line("scalability", self::law(law));
    }
    table
}

/// How many trials at rates between the ends passed.
fn passed_between(capacity: &Capacity) -> String {
    let (low, high) = (capacity.low.unwrap_or(0.0), capacity.high.unwrap_or(f64::INFINITY));
    let judged = |step: &&CapacityStep| {
        low < step.rate
            && step.rate < high
            && !matches!(step.result, StepResult::Invalid | StepResult::Stopped)
    };
    let between = || capacity.steps.iter().filter(judged);
    let passed = between().filter(|step| step.result == StepResult::Pass).count();
    format!("{passed} of {} trials between the ends passed", between().count())
}

/// The answers of several searches of one experiment, by the names of their arms.
pub fn side_by_side(searches: &[(String, Summary)]) -> Table {
    let columns = ["arm", "#capacity", "#achieved at the low end", "limited by"];
    let mut table = Table::new("capacities", "Capacity by arm", &columns);
    table.note = note(searches);
    for (arm, capacity) in answers(searches) {
        table.row([
            arm.to_owned(),
            interval(capacity),
            capacity.achieved.map_or_else(|| "–".to_owned(), rate),
            capacity.limited_by.clone().unwrap_or_else(|| "–".to_owned()),
        ]);
    }
    table
}

fn answers(searches: &[(String, Summary)]) -> impl Iterator<Item = (&str, &Capacity)> {
    searches.iter().filter_map(|(arm, one)| Some((arm.as_str(), one.capacity.as_ref()?)))
}

/// How the intervals compare, if there are two answers or more.
fn note(searches: &[(String, Summary)]) -> Option<String> {
    let is_known = |one: &Capacity| one.low.is_some() || upper(one).is_some();
    let (known, unknown): (Vec<_>, Vec<_>) = answers(searches).partition(|(_, one)| is_known(one));
    let unknown: Vec<&str> = unknown.into_iter().map(|(arm, _)| arm).collect();
    let nothing = match &unknown[..] {
        [] => None,
        several if several.len() + known.len() < 2 => None,
        several => Some(format!("Nothing is known of the capacity of {}.", and(several))),
    };
    let told: Vec<String> = overlap(&known).into_iter().chain(nothing).collect();
    (!told.is_empty()).then(|| told.join(" "))
}

/// The lowest rate that failed; if no rate passed, at least the lowest one that was not shown to hold.
fn upper(capacity: &Capacity) -> Option<f64> {
    capacity.high.or(capacity.not_shown.filter(|_| capacity.low.is_none()))
}

/// The arms whose intervals overlap, if there are two answers or more.
fn overlap(known: &[(&str, &Capacity)]) -> Option<String> {
    let ends = known
        .iter()
        .map(|(arm, one)| (one.low.unwrap_or(0.0), upper(one).unwrap_or(f64::INFINITY), *arm));
    let mut ends: Vec<(f64, f64, &str)> = ends.collect();
    if ends.len() < 2 {
        return None;
    }
    ends.sort_by(|one, other| one.0.total_cmp(&other.0));
    // Intervals that all overlap one another do so where the last of them begins.
    let mut meetings: Vec<Vec<&str>> = Vec::new();
    for (place, &(low, ..)) in ends.iter().enumerate() {
        let around = ends[..place].iter().filter(|other| low < other.1).map(|other| other.2);
        let meeting: Vec<&str> = around.chain([ends[place].2]).collect();
        // The group before may be a part of this one.
        if meetings.last().is_some_and(|last| last.iter().all(|arm| meeting.contains(arm))) {
            meetings.pop();
        }
        meetings.push(meeting);
    }
    let named = meetings.iter().filter(|meeting| meeting.len() > 1).map(|meeting| and(meeting));
    let named: Vec<String> = named.collect();
    Some(match &named[..] {
        [] => "No two of the intervals overlap.".to_owned(),
        [one] => format!("The intervals of {one} overlap: they cannot be distinguished."),
        _ => format!(
            "The intervals of {} overlap: arms within each of these cannot be distinguished.",
            named.join("; of ")
        ),
    })
}

fn and(names: &[&str]) -> String {
    match names {
        [first @ .., last] if !first.is_empty() => format!("{} and {last}", first.join(", ")),
        _ => names.concat(),
    }
}

fn interval(capacity: &Capacity) -> String {
    let Some(low) = capacity.low.map(offered) else {
        return upper(capacity)
            .map_or_else(|| "unknown".to_owned(), |rate| format!("below {}", offered(rate)));
    };
    match (capacity.high, capacity.ending) {
        (Some(high), _) => format!("{low} – {}", offered(high)),
        (None, CapacityEnding::GeneratorLimited) => format!("≥ {low}, generator-limited"),
        (None, _) => format!("≥ {low}"),
    }
}

/// The law as text, with a peak only where that may be claimed.
pub(super) fn law(law: &Scalability) -> String {
    let share = |value: f64, low: f64, high: f64| {
        format!("{} ({} – {})", percent(value), percent(low), percent(high))
    };
    let peak = law.peak.map_or_else(
        || "no peak seen".to_owned(),
        |peak| {
            let concurrency = count(peak.concurrency as u64);
            format!("peak near {concurrency} in flight, {}", rate(peak.throughput))
        },
    );
    format!(
        "serial share {}, crosstalk {}; one at a time {}; {peak}",
        share(law.sigma, law.sigma_low, law.sigma_high),
        share(law.kappa, law.kappa_low, law.kappa_high),
        rate(law.lambda),
    )
}

fn steps(capacity: &Capacity) -> Option<Table> {
    let columns = [
        "#trial",
        "#rate",
        "#length",
        "why",
        "result",
        "#achieved",
        "#p50",
        "#p99",
        "#unsuccessful",
    ];
    let mut table = Table::new("steps", "Steps of the search", &columns).note(
        "In the order of execution. p50 and p99 of the outcome time as observed; none where it falls among \
         operations that never succeeded.",
    );
    for step in &capacity.steps {
        table.row([
            step.trial.to_string(),
            offered(step.rate),
            duration(step.duration_ns),
            step.purpose.clone(),
            result(step).to_owned(),
            rate(step.achieved),
            duration_or(step.p50_ns, "–"),
            duration_or(step.p99_ns, "–"),
            percent(step.failed_ratio),
        ]);
    }
    table.unless_empty()
}

/// The result of a step as text.
pub fn result(step: &CapacityStep) -> &'static str {
    match step.result {
        StepResult::Pass => "pass",
        StepResult::Fail => "fail",
        StepResult::Undecided => "undecided",
        StepResult::Invalid => "invalid",
        StepResult::Stopped => "stopped",
    }
}

fn stairs(capacity: &Capacity) -> Option<Table> {
    let stairs = capacity.stairs.as_ref()?;
    let recovery = stairs.recovery_ns.map_or_else(
        || "Response times did not come back to those of the way up.".to_owned(),
        |after| {
            if after == 0 {
                return "Response times were back as soon as the highest step had ended."
                    .to_owned();
            }
            format!(
                "Response times were back {} after the end of the highest step.",
                duration(after)
            )
        },
    );
    let columns = ["#rate", "#p99 going up", "#p99 coming down", ""];
    let mut table = Table::new("stairs", "Up and down again", &columns).note(recovery);
    let highest = stairs.steps.len() - 1;
    for (place, step) in stairs.steps.iter().enumerate() {
        let down = duration_or(step.down_p99_ns, "–");
        table.row([
            offered(step.rate),
            duration_or(step.up_p99_ns, "–"),
            if place == highest { String::new() } else { down },
            if step.differs { "differs".to_owned() } else { String::new() },
        ]);
    }
    Some(table)
}

/// The live line of a step that has ended.
pub fn step_line(step: &CapacityStep, capacity: &Capacity) -> String {
    let p99 = duration_or(step.p99_ns, "none");
    let mut line = format!(
        "{}: {}, p99 {p99}, {} achieved",
        offered(step.rate),
        result(step),
        rate(step.achieved)
    );
    match (capacity.low.map(offered), capacity.not_shown.map(offered)) {
        (Some(low), Some(high)) => line += &format!("; between {low} and {high}"),
        (Some(low), None) => line += &format!("; at least {low}"),
        (None, Some(high)) => line += &format!("; below {high}"),
        (None, None) => {}
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;
    use judge::example;

    #[test]
    fn all_whose_intervals_overlap_are_named_and_nobody_else() {
        let note = |ends: &[(f64, f64)]| {
            let found = |(name, &(low, high)): (char, &(f64, f64))| {
                let ends = Capacity { low: Some(low), high: Some(high), ..example::capacity() };
                (name.to_string(), Summary { capacity: Some(ends), ..example::summary() })
            };
            side_by_side(&('a'..).zip(ends).map(found).collect::<Vec<_>>()).note
        };
        let one = |named: &str| {
            format!("The intervals of {named} overlap: they cannot be distinguished.")
        };
        assert_eq!(note(&[]), None);
        assert_eq!(note(&[(1.0, 2.0)]), None);
        assert_eq!(
            note(&[(1.0, 2.0), (2.0, 3.0)]).unwrap(),
            "No two of the intervals overlap.",
            "they share an end"
        );
        assert_eq!(note(&[(1.0, 5.0), (2.0, 6.0), (3.0, 4.0)]).unwrap(), one("a, b and c"));
        assert_eq!(note(&[(3.0, 4.0), (1.0, 2.0), (1.5, 1.7)]).unwrap(), one("b and c"));
        assert_eq!(
            note(&[(1.0, 9.0), (2.0, 3.0), (4.0, 5.0)]).unwrap(),
            "The intervals of a and b; of a and c overlap: arms within each of these cannot be distinguished."
        );
    }

    #[test]
    fn what_is_not_known_overlaps_with_nothing() {
        let note = |ends: &[(Option<f64>, Option<f64>)]| {
            let found = |(name, &(low, not_shown)): (char, &(Option<f64>, Option<f64>))| {
                let ends = Capacity { low, high: None, not_shown, ..example::capacity() };
                (name.to_string(), Summary { capacity: Some(ends), ..example::summary() })
            };
            side_by_side(&('a'..).zip(ends).map(found).collect::<Vec<_>>()).note
        };
        let unknown = (None, None);
        assert_eq!(note(&[unknown]), None);
        assert_eq!(
            note(&[unknown, unknown]).unwrap(),
            "Nothing is known of the capacity of a and b."
        );
        assert_eq!(
            note(&[(Some(2.0), None), unknown, (Some(1.0), None)]).unwrap(),
            "The intervals of c and a overlap: they cannot be distinguished. Nothing is known of the capacity of b."
        );
        // Below 1/s, and 2/s or more.
        assert_eq!(
            note(&[(None, Some(1.0)), (Some(2.0), None)]).unwrap(),
            "No two of the intervals overlap."
        );
    }
}
