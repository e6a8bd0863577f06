//! `proofload fleet`: who waits for work, and files that let a scheduler start agents.

use std::time::Duration;

use fleet::coordinator::present;
use plan::number;
use plan::printable::printable;

use crate::Exit;
use crate::cli::{FleetArgs, FleetCommand, ManifestArgs, StatusArgs};
use crate::output;
use crate::problem::Problem;
use crate::remote;

/// How long agents have to answer.
const ANSWERS_WITHIN: Duration = Duration::from_secs(2);
/// Memory of an agent, in MiB.
const MEBIBYTES: u32 = 1024;

/// Runs the subcommand.
pub fn fleet(args: &FleetArgs) -> Result<Exit, Problem> {
    match &args.command {
        FleetCommand::Manifest(args) => manifest(args),
        FleetCommand::Status(args) => status(args),
    }
}

fn manifest(args: &ManifestArgs) -> Result<Exit, Problem> {
    let name = remote::name(&args.name)?.to_lowercase().replace('_', "-");
    let template = match (&args.image, args.slurm) {
        (_, true) => include_str!("fleet/array.sh"),
        (Some(_), false) => include_str!("fleet/job.yaml"),
        (None, false) => {
            return Err(Problem::usage("a Kubernetes job needs an image")
                .hint("name it with `--image`, or use `--slurm`"));
        }
    };
    let image = args.image.as_deref().unwrap_or_default();
    if image.chars().any(|one| one.is_whitespace() || one.is_control() || "\"'#{}".contains(one)) {
        return Err(Problem::usage(format!("`{}` is no name of an image", printable(image))));
    }
    let (agents, cores) = (args.agents.to_string(), args.cores.to_string());
    let (memory, megabytes) = (format!("{MEBIBYTES}Mi"), MEBIBYTES.to_string());
    let values = [
        ("name", name.as_str()),
        ("agents", &agents),
        ("cores", &cores),
        ("image", image),
        ("memory", &memory),
        ("megabytes", &megabytes),
    ];
    let filled = values.iter().fold(template.to_owned(), |text, (key, value)| {
        text.replace(&format!("{{{{{key}}}}}"), value)
    });
    output::print(&filled)?;
    Ok(Exit::Passed)
}

fn status(args: &StatusArgs) -> Result<Exit, Problem> {
    let fleet = remote::name(&args.fleet)?;
    let agents = present(&args.via, &fleet, ANSWERS_WITHIN);
    let mut agents = agents.map_err(|error| Problem::fleet(&error))?;
    agents.sort_by(|one, other| one.name.cmp(&other.name));
    let count = agents.len();
    let noun = if count == 1 { "agent waits" } else { "agents wait" };
    output::print(&format!("{count} {noun} at {}\n", nats_address::shown(&args.via)))?;
    for agent in agents {
        let machine = &agent.machine;
        output::print(&format!(
            "  {}  {} cores, {} of memory, Linux {}, proofload {}\n",
            printable(&agent.name),
            machine.cores,
            number::bytes(machine.memory_bytes),
            printable(&machine.kernel),
            printable(&agent.version),
        ))?;
    }
    Ok(Exit::Passed)
}
