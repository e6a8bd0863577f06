//! Makes one run of the run folders of its shares.
//!
//! What does not belong together is refused, with the share that differs. Not here: how files are merged (see
//! `record::folder`).

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use engine::trial::layout;
use plan::plan::{Plan, TrialPlan};
use plan::plan_share::PlanShare;
use record::TrialFacts;
use record::folder::{
    MergeError, MergedTrial, RunOrigin, RunReader, TrialHeader, TrialWriter, write_facts,
};
use record::summary::Accounting;

use crate::disk::{Disk, unwritable};
use crate::execution::driver;
use crate::planned_counts;
use crate::problem::Problem;

/// Most that shares may have begun apart by their own clocks: they wait for one instant, so more is another run.
const APART_NS: u64 = 50_000_000;

/// The run folder of a share.
#[derive(Debug)]
pub struct ShareFolder {
    /// Where.
    pub disk: Disk,
    /// How it was begun.
    pub origin: RunOrigin,
    /// Which share.
    pub share: PlanShare,
}

/// Reads the folders of all shares of one run, and returns them in the order of their numbers.
///
/// Errors: all folders that do not belong together, each with the reason
pub fn collect(folders: &[PathBuf]) -> Result<Vec<ShareFolder>, Problem> {
    let (mut shares, mut refused) = (Vec::new(), Vec::new());
    for folder in folders {
        match open(folder) {
            Ok(share) => shares.push(share),
            Err(why) => refused.push(why),
        }
    }
    shares.sort_by_key(|share| share.share.number);
    refused.extend(unlike(&shares));
    match refused.is_empty() {
        true => Ok(shares),
        false => Err(Problem::usage(refused.join("\n  and ")).during("merging shares")),
    }
}

fn open(folder: &Path) -> Result<ShareFolder, String> {
    let name = folder.display();
    let disk = Disk::open(folder).map_err(|problem| problem.what)?;
    let origin = RunReader::new(&disk).origin().map_err(|error| format!("{name}: {error}"))?;
    let share = origin.share.as_deref();
    let share = share.ok_or_else(|| format!("{name} is a whole run, not a share"))?;
    let share = share.parse().map_err(|why| format!("{name}: {why}"))?;
    let version = env!("CARGO_PKG_VERSION");
    match origin.version == version {
        true => Ok(ShareFolder { disk, origin, share }),
        false => Err(format!("{name} is of version {}, and this is {version}", origin.version)),
    }
}

/// What keeps these from being all the shares of one run.
fn unlike(shares: &[ShareFolder]) -> Vec<String> {
    let Some(first) = shares.first() else { return Vec::new() };
    let name = |one: &ShareFolder| one.disk.root().display().to_string();
    let mut refused = Vec::new();
    for one in &shares[1..] {
        if one.share.of != first.share.of {
            let (a, b) = (one.share, first.share);
            refused.push(format!("{} is share {a}, and {} is share {b}", name(one), name(first)));
        } else if one.origin.plan_hash != first.origin.plan_hash {
            let seeds = match one.origin.asked.seed == first.origin.asked.seed {
                true => String::new(),
                false => {
                    format!(": seed {}, not {}", one.origin.asked.seed, first.origin.asked.seed)
                }
            };
            refused.push(format!("{} has another plan than {}{seeds}", name(one), name(first)));
        }
    }
    for pair in shares.windows(2).filter(|pair| pair[0].share == pair[1].share) {
        refused.push(format!(
            "{} and {} are both share {}",
            name(&pair[0]),
            name(&pair[1]),
            pair[0].share
        ));
    }
    let missing =
        (1..=first.share.of).filter(|number| !shares.iter().any(|one| one.share.number == *number));
    let missing: Vec<String> = missing.map(|number| number.to_string()).collect();
    if !missing.is_empty() {
        let of = first.share.of;
        refused.push(format!("of {of} shares, these are missing: {}", missing.join(", ")));
    }
    refused
}

/// Merges the trials that every share has finished into `out`. Returns sentences on those that one has not.
///
/// Errors: a record cannot be read or written, or the shares are not those of one trial
pub fn merge(shares: &[ShareFolder], plan: &Plan, out: &Disk) -> Result<Vec<String>, Problem> {
    let readers: Vec<RunReader<'_>> =
        shares.iter().map(|share| RunReader::new(&share.disk)).collect();
    let mut left_out = Vec::new();
    for trial in &plan.trials {
        let lacks = readers.iter().position(|reader| reader.facts(trial.index).is_err());
        if let Some(place) = lacks {
            let share = shares[place].share;
            left_out.push(format!(
                "trial {} is left out: share {share} did not finish it",
                trial.index
            ));
            continue;
        }
        merge_trial(&readers, plan, trial, out)
            .map_err(|problem| problem.during(format!("merging trial {}", trial.index)))?;
    }
    Ok(left_out)
}

fn merge_trial(
    readers: &[RunReader<'_>],
    plan: &Plan,
    trial: &TrialPlan,
    out: &Disk,
) -> Result<(), Problem> {
    let arm = &plan.arms[trial.arm];
    let layout = layout(arm, &driver(arm)?);
    let merged = MergedTrial { shares: readers, trial: trial.index, layout: &layout };
    let problem = |error: MergeError| match error {
        MergeError::Write(error) => unwritable(out.root(), &error),
        MergeError::Share { .. } => Problem::usage(error.to_string()),
    };
    let facts = merged.facts(out).map_err(problem)?;
    began_together(readers, trial.index)?;
    complete(plan, trial, &facts)?;
    let samples = readers
        .iter()
        .any(|reader| matches!(reader.samples(trial.index, &layout.operations), Ok(Some(_))));
    let header = TrialHeader {
        trial: trial.index,
        start_ms: started_ms(readers, trial.index),
        window_ns: facts.window_ns,
        layout: layout.clone(),
        samples,
    };
    let keep = |error| unwritable(out.root(), &error);
    let mut writer = TrialWriter::new(out, header).map_err(keep)?;
    merged.write(&mut writer, accounting(&facts)).map_err(problem)?;
    writer.finish(&facts.totals).map_err(keep)?;
    write_facts(out, &facts).map_err(keep)
}

fn accounting(facts: &TrialFacts) -> Accounting {
    let total = facts.totals.total();
    let started = total.succeeded + total.failed + total.abandoned;
    Accounting {
        planned: total.planned,
        started,
        missed: total.missed,
        succeeded: total.succeeded,
        failed: total.failed,
        abandoned: total.abandoned,
    }
}

/// Start of the measure phase, in milliseconds since 1970: the earliest.
fn started_ms(readers: &[RunReader<'_>], trial: u32) -> u64 {
    starts(readers, trial).into_iter().map(|(_, at)| at / 1_000_000).min().unwrap_or(0)
}

fn starts(readers: &[RunReader<'_>], trial: u32) -> Vec<(String, u64)> {
    let agents = readers.iter().filter_map(|reader| reader.facts(trial).ok()?.agent);
    agents.map(|agent| (agent.name(), agent.measure_from_ns)).collect()
}

/// Errors: shares began apart, each by its own clock
fn began_together(readers: &[RunReader<'_>], trial: u32) -> Result<(), Problem> {
    let starts = starts(readers, trial);
    let first = starts.iter().min_by_key(|(_, at)| at);
    let last = starts.iter().max_by_key(|(_, at)| at);
    let (Some(first), Some(last)) = (first, last) else { return Ok(()) };
    let apart = last.1 - first.1;
    if apart <= APART_NS {
        return Ok(());
    }
    let apart = plan::number::duration(apart);
    Err(Problem::usage(format!("{} began {apart} after {}", last.0, first.0))
        .hint("give every share the same `--start-at`"))
}

/// Checks that the shares together planned exactly what the plan says.
///
/// Errors: the first operation of which they did not
fn complete(plan: &Plan, trial: &TrialPlan, facts: &TrialFacts) -> Result<(), Problem> {
    let cut_short = facts.interrupted || facts.died.is_some() || facts.early_end.is_some();
    let Some(planned) = planned_counts::of(&plan.arms[trial.arm], trial).filter(|_| !cut_short)
    else {
        return Ok(());
    };
    let performed: BTreeMap<&str, u64> = facts
        .totals
        .operations
        .iter()
        .chain(facts.totals.journeys.iter().map(|journey| &journey.totals))
        .map(|totals| (totals.name.as_str(), totals.planned))
        .collect();
    for (name, count) in planned {
        let has = performed.get(name.as_str()).copied().unwrap_or(0);
        if has != count {
            return Err(Problem::usage(format!(
                "the plan has {count} of `{name}`, and the shares together planned {has}"
            ))
            .hint("a folder is damaged or was changed: take another copy"));
        }
    }
    Ok(())
}
