//! `proofload run --resume`: resumes an interrupted or killed run, with the same plan and in the same folder.

use std::path::Path;

use record::folder::{Folder, RunOrigin, RunReader, names};
use record::summary::Run;

use super::run;
use plan::plan_share::PlanShare;

use crate::cli::{GeneratorFlags, OutputFlags};
use crate::crew::LocalCrew;
use crate::disk::Disk;
use crate::execution::{Execution, TrialOptions};
use crate::exit::Exit;
use crate::live::LiveView;
use crate::loading::load_again;
use crate::problem::Problem;
use crate::sharing::ShareRun;
use crate::systems::launcher;
use crate::{contact, interrupt, publishing, redaction};

/// Executes the missing trials and judges the whole run; the exit code is the verdict.
pub fn resume(
    root: &Path,
    flags: &OutputFlags,
    generator: GeneratorFlags,
) -> Result<Exit, Problem> {
    publishing::probe(flags)?;
    let root = std::path::absolute(root)
        .map_err(|error| Problem::usage(format!("cannot find {}: {error}", root.display())))?;
    let disk = Disk::open(&root)?;
    let origin = origin(&disk)?;
    if origin.agents > 0 {
        let root = root.display();
        let agents = origin.agents;
        return Err(Problem::usage(format!(
            "{root} was performed by {agents} agents, which one machine cannot resume"
        ))
        .hint("run it again, with `--agents` and `--via`"));
    }
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
    let plan = &loaded.experiment.plan;
    if plan.hash() != origin.plan_hash {
        return Err(Problem::usage("the experiment has changed since the run was begun")
            .during(format!(
                "comparing {} with the plan of {}",
                origin.asked.experiment,
                root.display()
            ))
            .hint(
                "undo the change, or start a new run: trials from different plans cannot be combined",
            ));
    }
    let mut live = LiveView::new(flags.quiet);
    let stop = interrupt::listen()?;
    contact::foresee(&plan.arms, plan.is_duet(), PlanShare::WHOLE, &mut live)?;
    let provenance = run::provenance(plan, &disk, origin.started_at.clone());
    let provenance = Run { command: origin.command.clone(), ..provenance };
    // All trials of a run get the same scheduling, unless the user turns it off now.
    let real_time = !(origin.no_realtime || generator.no_realtime);
    let share_run = ShareRun::WHOLE;
    let options = TrialOptions { keep_samples: origin.samples, real_time, share_run };
    let experiment = &loaded.experiment;
    let launcher =
        launcher(&plan.arms).map_err(|problem| redaction::of_problem(problem, &plan.secrets))?;
    let crew = LocalCrew { launcher, share_run: options.share_run };
    let execution =
        Execution { experiment, disk: &disk, live: &mut live, stop, crew: &crew, options };
    let summary = run::carry_out(execution, provenance)
        .map_err(|problem| redaction::of_problem(problem, &plan.secrets))?;
    publishing::publish(&disk, flags, &mut live)?;
    Ok(run::exit(&summary))
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
