//! `proofload run --resume`: resumes an interrupted or killed run, with the same plan and in the same folder.

use std::path::Path;

use engine::StopSignal;
use fleet::coordinator::{Begun, Fleet, FleetState};
use fleet::protocol::DEFAULT_FLEET;
use plan::plan::Plan;
use plan::plan_difference;
use record::folder::{Folder, RunOrigin, RunReader, names};
use record::summary::Run;

use super::run;
use plan::plan_share::PlanShare;

use crate::Exit;
use crate::agenda::Agenda;
use crate::cli::{FleetFlags, GeneratorFlags, OutputFlags, WatchFlags};
use crate::crew::{Crew, LocalCrew, RemoteCrew};
use crate::disk::Disk;
use crate::execution::{Execution, TrialOptions};
use crate::judging::JudgedFolder;
use crate::live::LiveView;
use crate::loading::{LoadedExperiment, load_again};
use crate::problem::Problem;
use crate::sharing::ShareRun;
use crate::systems::launcher;
use crate::{contact, interrupt, publishing, redaction, remote};

/// Executes the missing trials and judges the whole run; the exit code is the verdict.
pub fn resume(
    root: &Path,
    (flags, watch, fleet): (&OutputFlags, &WatchFlags, &FleetFlags),
    generator: GeneratorFlags,
) -> Result<Exit, Problem> {
    let flags = &publishing::probed_from_here(flags, root)?;
    let root = std::path::absolute(root)
        .map_err(|error| Problem::usage(format!("cannot find {}: {error}", root.display())))?;
    let disk = Disk::open(&root)?;
    let origin = origin(&disk)?;
    if let Some(share) = &origin.share {
        return Err(Problem::usage(format!(
            "{} is share {share} of a run, which cannot be resumed: the shares begin together",
            root.display()
        ))
        .hint("start all shares again"));
    }
    let _held = disk.hold()?;
    // Relative paths and programs in the experiment refer to that folder.
    std::env::set_current_dir(&origin.folder).map_err(|error| {
        Problem::usage(format!("cannot go to {}, where the run was begun: {error}", origin.folder))
    })?;
    let loaded = load_again(&origin.asked)?;
    let (experiment, plan) = (&loaded.experiment, &loaded.experiment.plan);
    if plan.hash() != origin.plan_hash {
        let begun = RunReader::new(&disk).plan().unwrap_or_default();
        let differs = plan_difference::after_colon(&plan.to_json(), &begun);
        let what = format!("the experiment has changed since the run was begun{differs}");
        return Err(Problem::usage(what)
            .during(format!(
                "comparing {} with the plan of {}",
                origin.asked.experiment,
                root.display()
            ))
            .hint(
                "undo the change, or start a new run: trials from different plans cannot be combined",
            ));
    }
    let stop = interrupt::listen()?;
    let mut live = LiveView::of_run((flags, watch), plan, &stop)?;
    live.recorded_in(&root);
    let provenance = run::provenance(plan, &disk, origin.started_at.clone());
    let provenance = Run { command: origin.command.clone(), shares: origin.agents, ..provenance };
    // All trials of a run get the same scheduling, unless the user turns it off now.
    let real_time = !(origin.no_realtime || generator.no_realtime);
    let share_run = ShareRun::WHOLE;
    let options = TrialOptions { keep_samples: origin.samples, real_time, share_run };
    let launcher =
        launcher(&plan.arms).map_err(|problem| redaction::of_problem(problem, &plan.secrets))?;
    let fleet = match origin.agents {
        0 => None,
        _ => agents(&loaded, &disk, (&origin, fleet), options, (&stop, &mut live))?,
    };
    let crew: Box<dyn Crew> = match &fleet {
        Some(fleet) => Box::new(RemoteCrew { fleet, launcher, disk: &disk, plan, searched: None }),
        None => {
            contact::foresee(&plan.arms, plan.is_duet(), PlanShare::WHOLE, &mut live)?;
            Box::new(LocalCrew { launcher, share_run: options.share_run })
        }
    };
    let execution =
        Execution { experiment, disk: &disk, live: &mut live, stop, crew: &*crew, options };
    let summary = run::carry_out(execution, provenance)
        .map_err(|problem| redaction::of_problem(problem, &plan.secrets))?;
    drop(crew);
    publishing::publish(&disk, flags, &mut live)?;
    Ok(judge::verdict::exit(&summary))
}

/// The agents that perform the trials that are left; `None` if none is.
///
/// Errors: there is no address of NATS, or the agents do not come
fn agents(
    loaded: &LoadedExperiment,
    disk: &Disk,
    (origin, flags): (&RunOrigin, &FleetFlags),
    options: TrialOptions,
    (stop, live): (&StopSignal, &mut LiveView),
) -> Result<Option<Fleet>, Problem> {
    let plan = &loaded.experiment.plan;
    let agenda = Agenda::of(plan, &JudgedFolder { plan, disk }.states());
    if agenda.trials.is_empty() {
        return Ok(None);
    }
    let flags = FleetFlags {
        agents: Some(origin.agents),
        fleet: origin.fleet.clone().unwrap_or_else(|| DEFAULT_FLEET.to_owned()),
        ..flags.clone()
    };
    let Some(address) = remote::address(&flags)? else {
        let what =
            format!("agents perform this run ({}), and their address is not known", origin.agents);
        return Err(Problem::usage(what).hint("give `--via nats://…`, or set PROOFLOAD_VIA"));
    };
    let state = state(disk, plan, &agenda);
    remote::resume(&address, state, (loaded, options), stop, live).map(Some)
}

/// What the last coordinator kept, as far as it can be used: trials whose processes died with it begin anew.
fn state(disk: &Disk, plan: &Plan, agenda: &Agenda) -> Option<FleetState> {
    let mut state = FleetState::from_json(&RunReader::new(disk).text(names::FLEET).ok()?)?;
    let next = agenda.next();
    let is_next = |begun: &Begun| begun.trials.iter().eq(next.iter().map(|trial| &trial.index));
    let has_processes = next.iter().any(|trial| {
        let arm = &plan.arms[trial.arm];
        arm.system.is_some() || !arm.services.is_empty() || !arm.observers.is_empty()
    });
    state.begun = state.begun.filter(|begun| is_next(begun) && !has_processes);
    Some(state)
}

/// How the run was started.
fn origin(disk: &Disk) -> Result<RunOrigin, Problem> {
    let refuse = |what: String| {
        Problem::usage(what).during(format!("going on with {}", disk.root().display()))
    };
    if !disk.exists(names::ORIGIN) {
        let what = format!("it has no {}: it was not begun by `proofload run`", names::ORIGIN);
        return Err(refuse(what).hint("name a folder that `proofload run` made"));
    }
    let origin = RunReader::new(disk).origin().map_err(|error| refuse(error.to_string()))?;
    let version = env!("CARGO_PKG_VERSION");
    if origin.version != version {
        let what = format!("it was begun by version {}, and this is {version}", origin.version);
        return Err(
            refuse(what).hint("resume with the same version: others may measure differently")
        );
    }
    Ok(origin)
}
