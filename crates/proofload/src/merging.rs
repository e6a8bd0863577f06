//! Makes one run of the run folders of its shares.
//!
//! What does not belong together is refused, with the share that differs. Not here: how files are merged (see
//! `record::folder`).

use std::path::{Path, PathBuf};

use engine::trial::layout;
use plan::load::Stop;
use plan::plan::{Plan, TrialPlan};
use plan::plan_difference;
use plan::plan_share::PlanShare;
use plan::planned_counts;
use plan::schedule::nanos;
use record::TrialFacts;
use record::folder::{
    Folder, MergeError, MergedTrial, RunOrigin, RunReader, TrialHeader, TrialWriter, names,
    write_facts,
};
use record::summary::AgentFacts;

use crate::disk::{Disk, unwritable};
use crate::execution::driver;
use crate::judging::refusal;
use crate::problem::Problem;

/// Most that shares may have begun apart by their own clocks: they wait for one instant, so more is another run.
const APART_NS: u64 = 50_000_000;

/// Most missing shares that an error lists.
const LISTED: usize = 20;

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
    if refused.is_empty() {
        refused = unlike(&shares);
    }
    match refused.is_empty() {
        true => Ok(shares),
        false => Err(Problem::usage(refused.join("\n  and ")).during("merging shares")),
    }
}

fn open(folder: &Path) -> Result<ShareFolder, String> {
    let name = folder.display();
    let disk = Disk::open(folder).map_err(|problem| problem.what)?;
    let reader = RunReader::new(&disk);
    if reader.summary().is_ok_and(|summary| summary.run.shares > 0) {
        return Err(format!("{name} is a run of several shares already"));
    }
    let origin = reader.origin().map_err(|error| format!("{name}: {error}"))?;
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
            let plan = |share: &ShareFolder| RunReader::new(&share.disk).plan().unwrap_or_default();
            let differs = plan_difference::after_colon(&plan(one), &plan(first));
            refused.push(format!("{} has another plan than {}{differs}", name(one), name(first)));
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
    if !missing.is_empty() && refused.is_empty() {
        let (of, listed) = (first.share.of, missing.len().min(LISTED));
        let more = match missing.len() - listed {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let listed = missing[..listed].join(", ");
        refused.push(format!("of {of} shares, these are missing: {listed}{more}"));
    }
    refused
}

/// Merges the trials that every share has finished into `out`. Returns sentences on those that one has not.
///
/// Errors: a record cannot be read or written, or the shares are not those of one trial
pub fn merge(shares: &[ShareFolder], plan: &Plan, out: &Disk) -> Result<Vec<String>, Problem> {
    let mut left_out = Vec::new();
    for trial in &plan.trials {
        let during = |problem: Problem| problem.during(format!("merging trial {}", trial.index));
        match shares.iter().find_map(|share| unfinished(share, trial.index)) {
            Some(why) => left_out.push(format!("trial {} is left out: {why}", trial.index)),
            None => merge_trial(shares, plan, trial, out).map_err(during)?,
        }
    }
    Ok(left_out)
}

/// Why a share has no facts of a trial, if it has none.
fn unfinished(share: &ShareFolder, trial: u32) -> Option<String> {
    let name = format!("share {}", share.share);
    if share.disk.exists(&names::facts(trial)) {
        return None;
    }
    if share.disk.hold().is_err() {
        return Some(format!("{name} is still running"));
    }
    let reason = refusal(&RunReader::new(&share.disk), trial);
    Some(match reason {
        Some(reason) => format!("{name} could not begin it: {reason}"),
        None => format!("{name} did not finish it"),
    })
}

fn merge_trial(
    shares: &[ShareFolder],
    plan: &Plan,
    trial: &TrialPlan,
    out: &Disk,
) -> Result<(), Problem> {
    let arm = &plan.arms[trial.arm];
    let layout = layout(arm, &driver(arm)?);
    let readers: Vec<RunReader<'_>> =
        shares.iter().map(|share| RunReader::new(&share.disk)).collect();
    let damaged = |share: &ShareFolder, why: &dyn std::fmt::Display| {
        Problem::usage(format!("{}: {why}", share.disk.root().display()))
            .hint("the folder is damaged: take another copy of it, or perform all shares again")
    };
    let mut starts = Vec::new();
    for (share, reader) in shares.iter().zip(&readers) {
        let facts = reader.facts(trial.index).map_err(|error| damaged(share, &error))?;
        let agent = fits(&facts, share.share, plan, trial);
        let agent = agent.map_err(|why| damaged(share, &why))?;
        starts.push((agent.name(), agent.measure_from_ns));
    }
    began_together(&starts)?;
    let window_ns = nanos(arm.load.window());
    let measured = match arm.load.stop {
        Stop::Duration { after } => nanos(after),
        Stop::Operations { .. } => 0,
    };
    let windows = measured.div_ceil(window_ns.max(1));
    let merged = MergedTrial { windows, shares: &readers, trial: trial.index, layout: &layout };
    let problem = |error: MergeError| match error {
        MergeError::Write(error) => unwritable(out.root(), &error),
        MergeError::Share { share, error } => damaged(&shares[share - 1], &error),
    };
    let facts = merged.facts(out).map_err(problem)?;
    complete(plan, trial, &facts)?;
    // Samples of some shares would look like those of all.
    let samples = shares.iter().all(|share| share.disk.exists(&names::samples(trial.index)));
    let first = starts.iter().map(|(_, at)| at / 1_000_000).min();
    let header = TrialHeader {
        trial: trial.index,
        start_ms: first.unwrap_or(0),
        window_ns: facts.window_ns,
        layout: layout.clone(),
        samples,
    };
    let keep = |error| unwritable(out.root(), &error);
    let mut writer = TrialWriter::new(out, header).map_err(keep)?;
    merged.write(&mut writer, facts.totals.total().accounting()).map_err(problem)?;
    writer.finish(&facts.totals).map_err(keep)?;
    write_facts(out, &facts).map_err(keep)
}

/// Whose facts these are, if they are those of this share of the trial.
///
/// Errors: what does not fit; a sentence
fn fits(
    facts: &TrialFacts,
    share: PlanShare,
    plan: &Plan,
    trial: &TrialPlan,
) -> Result<AgentFacts, String> {
    let file = names::facts(trial.index);
    let arm = &plan.arms[trial.arm];
    let agent = facts.agent.clone().ok_or_else(|| format!("{file} is not that of a share"))?;
    if (agent.share, agent.of) != (share.number, share.of) {
        return Err(format!("{file} is that of share {}/{}", agent.share, agent.of));
    }
    let is_planned = (facts.index, facts.block, facts.order)
        == (trial.index, trial.block, trial.order)
        && facts.arm == plan.secrets.redact(&arm.name)
        && facts.window_ns == nanos(arm.load.window())
        && facts.timeout_ns == nanos(arm.load.timeout);
    if !is_planned {
        return Err(format!("{file} is not that of trial {} of the plan", trial.index));
    }
    if let Stop::Duration { after } = arm.load.stop
        && facts.phases.measure_ns > nanos(after)
    {
        return Err(format!("{file} has a longer measure phase than the plan"));
    }
    Ok(agent)
}

/// Errors: shares began apart, each by its own clock
fn began_together(starts: &[(String, u64)]) -> Result<(), Problem> {
    let first = starts.iter().min_by_key(|(_, at)| at);
    let last = starts.iter().max_by_key(|(_, at)| at);
    let (Some(first), Some(last)) = (first, last) else { return Ok(()) };
    let apart = last.1 - first.1;
    if apart <= APART_NS {
        return Ok(());
    }
    let apart = plan::number::duration(apart);
    Err(Problem::usage(format!("{} began {apart} after {}, by their own clocks", last.0, first.0))
        .hint("perform all shares again, with the same `--start-at`"))
}

/// Checks that the shares together planned exactly what the plan says.
///
/// Errors: the first operation of which they did not
pub fn complete(plan: &Plan, trial: &TrialPlan, facts: &TrialFacts) -> Result<(), Problem> {
    let cut_short = facts.interrupted || facts.died.is_some() || facts.early_end.is_some();
    let arm = &plan.arms[trial.arm];
    let planned = planned_counts::of(arm, trial, PlanShare::WHOLE, None).filter(|_| !cut_short);
    for (place, (name, count)) in
        arm.names().into_iter().zip(planned.into_iter().flatten()).enumerate()
    {
        let is_step = arm.operations.get(place).is_some_and(|one| one.is_step);
        let has = facts.totals.part(place).planned;
        if !is_step && has != count {
            return Err(Problem::usage(format!(
                "the plan has {count} of `{name}`, and the shares together planned {has}"
            ))
            .hint("a folder is damaged or was changed: take another copy"));
        }
    }
    Ok(())
}
