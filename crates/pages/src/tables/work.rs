//! The processor time of an operation in the processes under test: one table for all arms.

use std::collections::{BTreeMap, BTreeSet};

use record::summary::{Arm, Summary, TrialSummary};

use super::Table;
use super::arms::Arms;
use plan::number;

/// Processor time of each process per operation that ended, over all trials that count, if there is more than one arm
/// and processes were watched. Processes without work in any arm, such as a watcher of others, are left out.
pub fn by_arm(summary: &Summary) -> Option<Table> {
    if summary.arms.len() < 2 || summary.capacity.is_some() {
        return None;
    }
    let columns = ["arm", "process", "#cpu an operation", "#least – greatest trial", "#trials"];
    let note = "Processor time of a process for each operation that ended, well or badly: of all trials together, and in \
                the trials with the least and the most. What a process does besides operations is in it.";
    let mut table = Table::new("work-by-arm", "Work by arm", &columns).note(note);
    let names = Arms::head(summary, &mut table, 0);
    let all: Vec<_> = summary.arms.iter().map(|arm| (arm, processes(arm))).collect();
    let works = all.iter().flat_map(|(_, found)| found).filter(|(_, work)| work.sum().0 > 0);
    let worked: BTreeSet<&str> = works.map(|(name, _)| *name).collect();
    for (arm, found) in &all {
        for (process, work) in found.iter().filter(|(name, _)| worked.contains(*name)) {
            table.row([
                names.cell(&arm.name),
                (*process).to_owned(),
                number::duration(work.mean()),
                work.range(),
                number::count(work.trials.len() as u64),
            ]);
        }
    }
    table.unless_empty()
}

/// The work of an arm's processes, by name; several of the same name are added up.
fn processes(arm: &Arm) -> BTreeMap<&str, Work> {
    let mut found: BTreeMap<&str, Work> = BTreeMap::new();
    for trial in arm.counted() {
        let mut used: BTreeMap<&str, u64> = BTreeMap::new();
        for process in trial.systems.iter().flat_map(|system| &system.processes) {
            *used.entry(&process.name).or_default() += process.cpu_ns;
        }
        let ended = ended(trial);
        for (name, cpu_ns) in used.into_iter().filter(|_| ended > 0) {
            found.entry(name).or_default().trials.push((cpu_ns, ended));
        }
    }
    found
}

fn ended(trial: &TrialSummary) -> u64 {
    trial.total.succeeded + trial.total.failed
}

/// Processor time in nanoseconds and operations that ended, of each trial.
#[derive(Debug, Default)]
struct Work {
    trials: Vec<(u64, u64)>,
}

impl Work {
    /// Processor time and operations of all trials.
    fn sum(&self) -> (u64, u64) {
        self.trials.iter().fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1))
    }

    fn mean(&self) -> u64 {
        let (cpu_ns, ended) = self.sum();
        cpu_ns / ended.max(1)
    }

    fn range(&self) -> String {
        let each = || self.trials.iter().map(|(cpu_ns, ended)| cpu_ns / ended.max(&1));
        match (each().min(), each().max()) {
            (Some(least), Some(greatest)) if self.trials.len() > 1 => {
                format!("{} – {}", number::duration(least), number::duration(greatest))
            }
            _ => "–".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use record::summary::{CountsFor, Process, System};

    use super::*;
    use judge::example;

    /// An arm with one trial per list of processes: name and processor time in milliseconds; 1,000 operations ended.
    fn arm(name: &str, trials: &[&[(&str, u64)]]) -> Arm {
        let model = example::flawless(1).arms.remove(0);
        let trial = |processes: &&[(&str, u64)]| {
            let mut trial = model.trials[0].clone();
            (trial.total.succeeded, trial.total.failed) = (990, 10);
            let process = |&(name, cpu_ms): &(&str, u64)| Process {
                name: name.to_owned(),
                cpu_ns: cpu_ms * 1_000_000,
                ..Process::default()
            };
            let processes = processes.iter().map(process).collect();
            trial.systems = vec![System { processes, ..System::default() }];
            trial
        };
        Arm { name: name.to_owned(), trials: trials.iter().map(trial).collect(), ..model.clone() }
    }

    fn run(arms: Vec<Arm>) -> Summary {
        Summary { arms, ..example::summary() }
    }

    #[test]
    fn what_an_operation_cost_each_process_stands_by_arm() {
        let direct: &[&[(&str, u64)]] = &[&[("search", 300)], &[("search", 100)]];
        let front: &[&[(&str, u64)]] = &[&[("search", 200), ("front", 40), ("front", 60)]];
        let mut summary = run(vec![arm("path=direct", direct), arm("path=front", front)]);
        let mut aside = summary.arms[0].trials[0].clone();
        aside.counts_for = CountsFor::Nothing;
        aside.systems[0].processes[0].cpu_ns *= 9;
        summary.arms[0].trials.push(aside);
        let table = by_arm(&summary).unwrap();
        assert_eq!(table.rows[0], ["path=direct", "search", "200 µs", "100 µs – 300 µs", "2"]);
        assert_eq!(table.rows[1], ["path=front", "front", "100 µs", "–", "1"], "two of one name");
        assert_eq!(table.rows[2], ["path=front", "search", "200 µs", "–", "1"]);
        assert_eq!(table.rows.len(), 3);
    }

    #[test]
    fn who_works_in_one_arm_stands_in_all_and_who_works_in_none_stands_nowhere() {
        let idle: &[&[(&str, u64)]] = &[&[("proxy", 100), ("monitor", 0), ("cat", 0)]];
        let busy: &[&[(&str, u64)]] = &[&[("proxy", 100), ("monitor", 1), ("cat", 0)]];
        let table = by_arm(&run(vec![arm("messages=0", idle), arm("messages=10", busy)])).unwrap();
        let told = |row: &Vec<String>| row[..3].join(" ");
        assert_eq!(
            table.rows.iter().map(told).collect::<Vec<_>>(),
            [
                "messages=0 monitor 0 ns",
                "messages=0 proxy 100 µs",
                "messages=10 monitor 1.00 µs",
                "messages=10 proxy 100 µs"
            ]
        );
    }

    #[test]
    fn one_arm_has_it_in_its_trial_and_nobody_watched_is_no_table() {
        assert_eq!(by_arm(&run(vec![arm("all", &[&[("search", 300)]])])), None);
        assert_eq!(by_arm(&run(vec![arm("a", &[&[]]), arm("b", &[&[]])])), None);
    }
}
