//! `proofload merge`: one run of the shares that several machines performed.

use plan::plan::Plan;
use plan::plan_difference;
use record::folder::{RunReader, names};
use record::summary::Run;

use super::run;
use crate::Exit;
use crate::agenda::Agenda;
use crate::cli::MergeArgs;
use crate::disk::Disk;
use crate::judging::{JudgedFolder, TrialOutcomes};
use crate::live::LiveView;
use crate::loading::{LoadedExperiment, load_without_secrets};
use crate::merging::{self, ShareFolder};
use crate::problem::Problem;
use crate::publishing::{self, folder, write_json};
use crate::redaction;

/// Merges the shares and judges the whole; the exit code is the verdict.
pub fn merge(args: &MergeArgs) -> Result<Exit, Problem> {
    publishing::probe(&args.output, None)?;
    let shares = merging::collect(&args.shares)?;
    let loaded = load(args, &shares[0])?;
    let secrets = &loaded.experiment.plan.secrets;
    let mut live = LiveView::new(args.output.quiet);
    let merged = whole(args, &loaded, &shares, &mut live);
    let (disk, exit) = merged.map_err(|problem| redaction::of_problem(problem, secrets))?;
    publishing::publish(&disk, &args.output, &mut live)?;
    Ok(exit)
}

/// The experiment of the shares, found as they found it, or where the flag says.
fn load(args: &MergeArgs, first: &ShareFolder) -> Result<LoadedExperiment, Problem> {
    let mut asked = first.origin.asked.clone();
    let here = std::env::current_dir();
    match &args.experiment {
        Some(file) => asked.experiment = file.display().to_string(),
        // Paths of the experiment count from the folder in which the share was begun.
        None => drop(std::env::set_current_dir(&first.origin.folder)),
    }
    let loaded = load_without_secrets(&asked);
    if let Ok(here) = here {
        let _ = std::env::set_current_dir(here);
    }
    let hint = "name the experiment file with `--experiment`";
    let loaded = match (loaded, &args.experiment) {
        (Err(problem), None) => return Err(problem.hint(hint)),
        (loaded, _) => loaded?,
    };
    let plan = &loaded.experiment.plan;
    if plan.hash() != first.origin.plan_hash {
        let performed = RunReader::new(&first.disk).plan().unwrap_or_default();
        let what = format!(
            "{} is not the experiment that the shares performed{}",
            asked.experiment,
            plan_difference::after_colon(&plan.to_json(), &performed)
        );
        return Err(Problem::usage(what)
            .hint("undo what was changed in it since, or in the files that it names"));
    }
    Ok(loaded)
}

fn whole(
    args: &MergeArgs,
    loaded: &LoadedExperiment,
    shares: &[ShareFolder],
    live: &mut LiveView,
) -> Result<(Disk, Exit), Problem> {
    let plan = &loaded.experiment.plan;
    let started = shares.iter().map(|share| share.origin.started_at.clone()).min();
    let started = started.unwrap_or_default();
    let disk = Disk::create(&folder(args.output.out.as_deref(), plan, &started))?;
    let merged = fill(&disk, plan, shares, (started, live));
    if merged.is_err() {
        // Half of a merged run would be in the way of the next attempt.
        let _ = std::fs::remove_dir_all(disk.root());
    }
    merged.map(|exit| (disk, exit))
}

/// Merges into an empty folder.
fn fill(
    disk: &Disk,
    plan: &Plan,
    shares: &[ShareFolder],
    (started, live): (String, &mut LiveView),
) -> Result<Exit, Problem> {
    write_json(disk, names::PLAN, &plan.to_json())?;
    live.say(&format!("merging {} shares", shares.len()));
    let left_out = merging::merge(shares, plan, disk)?;
    let judged = JudgedFolder { plan, disk };
    let states = judged.states();
    if states.is_empty() {
        let why = left_out.join("; ");
        return Err(Problem::usage(format!("no trial was finished by every share: {why}"))
            .during("merging shares")
            .hint("perform all shares again"));
    }
    left_out.iter().for_each(|why| live.say(why));
    let provenance = run::provenance(plan, disk, started);
    let run = Run { shares: shares[0].share.of, ..provenance };
    let agenda = Agenda::once(plan, &states);
    let outcomes = TrialOutcomes { states: &states, before: &states, agenda, lost: None };
    let summary = judged.summary(run, outcomes)?;
    run::write_summary(disk, &summary, &plan.secrets)?;
    Ok(judge::verdict::exit(&summary))
}
