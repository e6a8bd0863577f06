//! Findings about the processes under test and their machine.

use std::time::Duration;

use plan::units;
use record::summary::{Process, Severity};
use serde_json::Value;

use super::codes::SYSTEM_CROWDED;
use super::kind::{Check, FindingKind, Noticed};
use crate::case::Case;
use crate::validity::{self, Waiting};
use plan::number::{duration, percent, significant};

/// A process had no processor time left.
pub const CPU_BOUND: FindingKind = FindingKind {
    code: "target-cpu-bound",
    severity: Severity::Info,
    clearest: Some("cores_used"),
    title: "a process under test had no processor time left",
    explain: "A process under test used a whole core, or all cores that it may use, during the measure phase. That \
              limits it: more of the same load only waits longer. A process that uses one core and may use several \
              does its work on one thread.",
    check: Check::Trial(|case| {
        let (busiest, used) = busy(case)?;
        let cores = case.facts.system_cores.max(1) as f64;
        let on_one = is_on_one(used);
        let claim = format!(
            "{} (process {}) used {} of {} cores: its processor time is what limits it",
            busiest.name,
            busiest.pid,
            significant(used),
            cores
        );
        let advice = match on_one && cores > 1.0 {
            true => "let it use more cores: more threads or more processes",
            false => "profile it, or give it more cores",
        };
        Some(Noticed::new(claim, advice).with("cores_used", used).with("cores", cores))
    }),
};

/// Whether this is one core, so that a single thread does the work.
fn is_on_one(used: f64) -> bool {
    (0.9..1.1).contains(&used)
}

/// The process with no processor time left that used most of it, and how many cores it used: nearly all of them, or
/// the one core that its single busy thread can use, even if other processes used more.
pub(super) fn busy<'c>(case: &Case<'c>) -> Option<(&'c Process, f64)> {
    let wall = (case.trial.phases.measure_ns as f64).max(1.0);
    let cores = case.facts.system_cores.max(1) as f64;
    let processes = case.trial.systems.iter().flat_map(|system| &system.processes);
    let used = processes.map(|process| (process, process.cpu_ns as f64 / wall));
    let full = used.filter(|(_, used)| is_on_one(*used) || *used >= 0.9 * cores);
    full.max_by(|a, b| a.1.total_cmp(&b.1))
}

/// Processor time of the busiest process under test per operation that ended, in nanoseconds; 0 where no process is
/// known.
pub(super) fn work_of_each(case: &Case<'_>) -> f64 {
    let processes = case.trial.systems.iter().flat_map(|system| &system.processes);
    let most = processes.map(|process| process.cpu_ns).max().unwrap_or(0);
    most as f64 / (case.trial.total.succeeded + case.trial.total.failed).max(1) as f64
}

/// A system that waited because of others, which makes its times longer.
pub const CROWDED_ROW: FindingKind = FindingKind {
    code: SYSTEM_CROWDED,
    severity: Severity::Warning,
    clearest: Some("waited_ratio"),
    title: "the system under test waited for its processors",
    explain: "Processes that the run started were ready to run and had no processor for more than 5 % of the time \
              in which they had work, because of programs that are no part of the run: these used more than 5 % of \
              the system's processors, and the wait was more than 1 % of the response time, where a wait delays all \
              operations that are in flight. (Of all waiting, \
              others are charged with their part of the processor time that was used: threads of the system wait \
              for each other, too.) Or the hypervisor took more than 5 % of processor time away. Times are then \
              longer, and rates lower, than those of the system alone. A criterion that passes has passed. A \
              criterion on times or rates that fails is undecided, unless refusals alone make it fail; and a rate \
              that was not reached makes the trial invalid. The generator can be in time all the same, because its \
              workers have real-time priority and the system has not. Stop what else runs on the machine, give the \
              system processors of its own (`taskset`, cgroups), or repeat the run when it is quiet.",
    check: Check::Trial(|case| {
        let claim = validity::system_crowding(case.trial, case.facts)?;
        let advice = "stop what else runs on the system's machine, and repeat the run";
        Some(
            Noticed::new(claim, advice)
                .with("waited_ratio", Waiting::of(case.trial).map(|waiting| waiting.ratio()))
                .with("others_cores", case.trial.generator.others_cores)
                .with("steal_ratio", case.trial.generator.steal_ratio),
        )
    }),
};

/// The faults that the plan injected into its own processes.
pub const PLANNED_FAULTS: FindingKind = FindingKind {
    code: super::codes::PLANNED_FAULTS,
    severity: Severity::Info,
    clearest: None,
    title: "processes were killed, stopped or frozen as the experiment says",
    explain: "The experiment has `[[fault]]` tables: while the load ran, processes of the trial were killed, stopped \
              or frozen, and perhaps started again. Failures from then on are what was asked for; the figures hold \
              for a service with these faults and for no other. The charts over time show when it failed and when \
              it was back.",
    check: Check::Trial(|case| {
        let faults = &case.facts.faults;
        let told = faults.iter().map(|done| {
            let at = duration(done.at_ns.max(0).cast_unsigned());
            let failed = done.failed.as_ref().map_or(String::new(), |why| format!(" ({why})"));
            format!("{} {} at {at}{failed}", done.action, done.process)
        });
        let claim =
            format!("the experiment did this on purpose: {}", told.collect::<Vec<_>>().join(", "));
        let failed = faults.iter().filter(|done| done.failed.is_some()).count();
        let advice = match failed {
            0 => "read failures and times together with the charts over time",
            _ => "what could not be done was not measured: mend the fault and repeat the run",
        };
        let noticed = Noticed::new(claim, advice).with("done", faults.len() - failed);
        (!faults.is_empty()).then(|| noticed.with("not_done", failed))
    }),
};

/// A setting that had no effect.
pub const NOT_EFFECTIVE: FindingKind = FindingKind {
    code: "setting-not-in-force",
    severity: Severity::Error,
    clearest: None,
    title: "a setting is not in force",
    explain: "The experiment asks the system under test for a value, and the system says that another one is in \
              force (rule R42): a limit of the kernel capped it, or it was not understood. What was measured is \
              not what the experiment says. A 0 or \"auto\" leaves the choice to the system. Lift the limit, or ask for the value that is in force.",
    check: Check::Trial(|case| {
        let systems = case.trial.systems.iter();
        let effective = systems.flat_map(|system| &system.effective);
        let differs = |(key, seen): &(&String, &Value)| {
            case.facts.declared.get(*key).is_some_and(|asked| differ(asked, seen))
        };
        let (key, seen) = effective.into_iter().find(differs)?;
        let asked = &case.facts.declared[key];
        let claim = format!("{key} was set to {} and {} is in force", plain(asked), plain(seen));
        let advice = "lift the limit that caps it, or set the value that is in force";
        let noticed = Noticed::new(claim, advice)
            .with("setting", key.as_str())
            .with("declared", asked.clone())
            .with("effective", seen.clone());
        Some(noticed)
    }),
};

/// A target that the run did not start may use the generator's processors.
pub const SHARED_MACHINE: FindingKind = FindingKind {
    code: "shared-machine",
    severity: Severity::Info,
    clearest: Some("run_queue_ratio"),
    title: "target and generator share processors",
    explain: "The target is on this machine and was not started by the instrument, so that it may run on the \
              generator's processors (rule R52), and a worker had to wait for its own during more than a hundredth \
              of the time. Each slows the other. Let the experiment start the target (`[system]`), which gives \
              it processors of its own and accounts for its CPU time, or use two machines.",
    check: Check::Trial(|case| {
        let waited = case.trial.generator.run_queue_ratio;
        if !case.facts.target_is_local || !case.trial.systems.is_empty() || waited <= 0.01 {
            return None;
        }
        let claim = format!(
            "the target runs on this machine beside the generator, and a worker waited for a processor during {} \
             of the time",
            percent(waited)
        );
        let advice = "start the target by `[system]`, so that it gets processors of its own";
        Some(Noticed::new(claim, advice).with("run_queue_ratio", waited))
    }),
};

/// A value with its unit.
#[derive(Debug, PartialEq)]
enum Quantity {
    Truth(bool),
    Number(f64),
    Time(Duration),
    Rate(f64),
    Text(String),
}

/// Whether two values of the same kind differ. Values of different kinds cannot be compared.
fn differ(asked: &Value, seen: &Value) -> bool {
    let (Some(asked), Some(seen)) = (quantity(asked), quantity(seen)) else { return false };
    !left_open(&asked)
        && std::mem::discriminant(&asked) == std::mem::discriminant(&seen)
        && asked != seen
}

/// Whether the system may choose for itself: 0 usually means that (a free port, as many workers as cores).
fn left_open(asked: &Quantity) -> bool {
    match asked {
        Quantity::Number(number) => *number == 0.0,
        Quantity::Text(text) => ["auto", "automatic"].contains(&text.as_str()),
        Quantity::Truth(_) | Quantity::Time(_) | Quantity::Rate(_) => false,
    }
}

fn quantity(value: &Value) -> Option<Quantity> {
    match value {
        Value::Bool(value) => Some(Quantity::Truth(*value)),
        Value::Number(number) => number.as_f64().map(Quantity::Number),
        // Placeholders are replaced by the launcher later.
        Value::String(text) if text.contains('{') => None,
        Value::String(text) => Some(of_text(text)),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

fn of_text(text: &str) -> Quantity {
    let number = || text.parse().ok().or_else(|| Some(units::parse_size(text)? as f64));
    number()
        .map(Quantity::Number)
        .or_else(|| units::parse_duration(text).map(Quantity::Time))
        .or_else(|| units::parse_rate(text).map(Quantity::Rate))
        .unwrap_or_else(|| Quantity::Text(text.to_lowercase()))
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_of_one_sort_are_compared_and_others_are_not() {
        for (asked, seen, differs) in [
            (json!(4096), json!(128), true),
            (json!(4096), json!("4096"), false),
            (json!("4KiB"), json!(4096), false),
            (json!("1ms"), json!("1000us"), false),
            (json!("1ms"), json!("2ms"), true),
            (json!("1ms"), json!(1_000_000), false),
            (json!("1ms"), json!("1 ms"), false),
            (json!("1 ms"), json!("1000 us"), false),
            (json!("4 KiB"), json!("4096"), false),
            (json!(0), json!(41_873), false),
            (json!("0"), json!(4), false),
            (json!("auto"), json!("epoll"), false),
            (json!(4), json!(0), true),
            (json!("epoll"), json!("auto"), true),
            (json!("MM1"), json!("mm1"), false),
            (json!(true), json!(false), true),
            (json!("{port}"), json!(8080), false),
        ] {
            assert_eq!(differ(&asked, &seen), differs, "{asked} {seen}");
        }
    }
}
