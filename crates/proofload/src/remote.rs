//! `proofload run --agents`: finds agents and gives them the plan.

use engine::StopSignal;
use fleet::connection::FleetError;
use fleet::coordinator::{Fleet, FleetAddress, FleetState, User};
use fleet::protocol::Task;
use plan::plan::Arm;
use plan::plan_share::PlanShare;
use plan::units::parse_duration;

use crate::Exit;
use crate::cli::FleetFlags;
use crate::execution::TrialOptions;
use crate::live::LiveView;
use crate::loading::LoadedExperiment;
use crate::problem::Problem;
use crate::sharing;
use crate::shipping::{Shipment, pack};

/// Where the agents are; `None` for a run without.
///
/// Errors: a name or time is wrong
pub fn address(flags: &FleetFlags) -> Result<Option<FleetAddress>, Problem> {
    let (Some(servers), Some(agents)) = (flags.via.clone(), flags.agents) else { return Ok(None) };
    let within = parse_duration(&flags.agents_within).ok_or_else(|| {
        let given = &flags.agents_within;
        Problem::usage(format!("`--agents-within` must be a time such as 2m (got {given})"))
    })?;
    let name = name(&flags.fleet)?;
    Ok(Some(FleetAddress { servers, name, agents, within }))
}

/// The name of a fleet, which is a part of subjects of NATS.
///
/// Errors: it cannot be one
pub fn name(text: &str) -> Result<String, Problem> {
    let is_plain = |one: char| one.is_ascii_alphanumeric() || matches!(one, '-' | '_');
    match !text.is_empty() && text.len() <= 64 && text.chars().all(is_plain) {
        true => Ok(text.to_owned()),
        false => Err(Problem::usage(format!(
            "the name of a fleet has up to 64 letters, digits, `-` and `_` (got {text:?})"
        ))),
    }
}

/// Takes over the agents of a run whose coordinator has died; where they are gone, finds others.
///
/// Errors: no connection; or as [`gather`]
pub fn resume(
    address: &FleetAddress,
    state: Option<FleetState>,
    (loaded, options): (&LoadedExperiment, TrialOptions),
    stop: &StopSignal,
    live: &mut LiveView,
) -> Result<Fleet, Problem> {
    if let Some(state) = state {
        live.say("looking for the agents of this run");
        let taken = Fleet::take_over(address, state).map_err(|error| Problem::fleet(&error))?;
        match taken {
            Some(fleet) => return Ok(fleet),
            None => live.say("they are gone, or not all there: others are to take their places"),
        }
    }
    gather(address, loaded, options, stop, live)
}

/// Finds the agents of a run, and lets them load its plan.
///
/// Errors: the plan cannot be divided or sent, or the agents cannot perform it
pub fn gather(
    address: &FleetAddress,
    loaded: &LoadedExperiment,
    options: TrialOptions,
    stop: &StopSignal,
    live: &mut LiveView,
) -> Result<Fleet, Problem> {
    let request = loaded.asked.clone().ok_or_else(|| {
        Problem::usage("this experiment is part of the program, and cannot be sent to agents")
    })?;
    let (plan, shipments) = (&loaded.experiment.plan, pack(&loaded.files)?);
    live.say(&format!(
        "waiting for {} agents at {}",
        address.agents,
        nats_address::shown(&address.servers)
    ));
    let stopped = || stop.requests() > 0;
    let version = env!("CARGO_PKG_VERSION");
    let mut user = User { stopped: &stopped, say: &mut |text| live.say(text) };
    let found = Fleet::gather(address, version, &mut user);
    let waited = |error: FleetError| match stop.requests() {
        0 => Problem::fleet(&error),
        _ => Problem { exit: Exit::Undecided, ..Problem::fleet(&error) },
    };
    let fleet = found.map_err(waited)?;
    let (files, contents) = shipments
        .into_iter()
        .map(|Shipment { file, content }| (file.clone(), (file.sha256, content)))
        .unzip();
    let task = Task {
        run: String::new(),
        share: 0,
        of: address.agents,
        request,
        files,
        systems: loaded.systems.clone(),
        plan_hash: plan.hash(),
        no_realtime: !options.real_time,
    };
    let mut objects: Vec<(String, Vec<u8>)> = contents;
    objects.push((task.plan_hash.clone(), plan.to_json().to_string().into_bytes()));
    let given = fleet.give(&task, &objects, &stopped);
    given.map_err(|error| waited(error).during("giving the agents their plan"))?;
    Ok(fleet)
}

/// Checks that so many agents can perform these arms.
///
/// Errors: why they cannot
pub fn check<'a>(arms: impl IntoIterator<Item = &'a Arm>, agents: u32) -> Result<(), Problem> {
    let share = PlanShare { number: 1, of: agents };
    match arms.into_iter().find_map(|arm| sharing::refusal(share, arm)) {
        Some((what, hint)) => {
            Err(Problem::usage(what).during("dividing the plan among agents").hint(hint))
        }
        None => Ok(()),
    }
}
