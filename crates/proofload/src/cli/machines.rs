//! Flags of runs that several machines perform.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use fleet::protocol::DEFAULT_FLEET;
use jiff::Timestamp;
use plan::plan_share::PlanShare;

use super::OutputFlags;

/// One machine's part of a run over several.
#[derive(Debug, Default, Clone, Args)]
#[command(next_help_heading = "Several machines")]
pub struct ShareFlags {
    /// Perform one share of the plan, such as 3/8; `proofload merge` joins the shares
    #[arg(long, value_name = "I/N", requires = "start_at", conflicts_with = "agents")]
    pub share: Option<PlanShare>,
    /// Begin at this instant, the same on every machine, such as 2026-01-01T12:00:00Z
    #[arg(long, value_name = "TIME", requires = "share")]
    pub start_at: Option<Timestamp>,
    #[command(flatten)]
    pub fleet: FleetFlags,
}

/// Agents that perform a run together.
#[derive(Debug, Default, Clone, Args)]
#[command(next_help_heading = "Several machines")]
pub struct FleetFlags {
    /// Let so many agents perform the run together (`proofload agent` on each machine)
    #[arg(long, value_name = "N", requires = "via", conflicts_with = "samples", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub agents: Option<u32>,
    /// Server of NATS with JetStream where agents wait, such as nats://10.0.0.1:4222
    #[arg(long, value_name = "URL", env = "PROOFLOAD_VIA", hide_env = true)]
    pub via: Option<String>,
    /// Which of several fleets there
    #[arg(long, value_name = "NAME", requires = "agents", default_value = DEFAULT_FLEET)]
    pub fleet: String,
    /// How long to wait for the agents
    #[arg(long, value_name = "TIME", requires = "via", default_value = "2m")]
    pub agents_within: String,
}

/// `proofload agent`.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  proofload agent --via nats://10.0.0.1:4222\n  proofload agent --via nats://user:password@10.0.0.1:4222 --name load-3\n\nExit: 0 the run is over, 2 usage, 3 stopped or left alone, 4 no coordinator came, or no NATS."
)]
pub struct AgentArgs {
    /// Server of NATS with JetStream, such as nats://10.0.0.1:4222
    #[arg(long, value_name = "URL", env = "PROOFLOAD_VIA", hide_env = true)]
    pub via: String,
    /// Which of several fleets there
    #[arg(long, value_name = "NAME", default_value = DEFAULT_FLEET)]
    pub fleet: String,
    /// Name in the report [default: that of the machine]
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,
    /// How long to wait for a coordinator
    #[arg(long, value_name = "TIME", default_value = "10m")]
    pub wait: String,
    /// Perform shares of one run after the other, until it is stopped
    #[arg(long)]
    pub stay: bool,
    /// No messages on stderr
    #[arg(long)]
    pub quiet: bool,
}

/// `proofload merge`.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  proofload merge shares/*/ --out runs/whole\n  proofload merge s1 s2 s3 --experiment shop.toml\n\nExit: as for `run`; 2 if the folders are not all the shares of one run."
)]
pub struct MergeArgs {
    /// The run folders of all shares (`proofload run --share`)
    #[arg(value_name = "SHARE", required = true)]
    pub shares: Vec<PathBuf>,
    /// The experiment file, if it is not where the shares found it
    #[arg(long, value_name = "FILE")]
    pub experiment: Option<PathBuf>,
    #[command(flatten)]
    pub output: OutputFlags,
}

/// `proofload fleet`.
#[derive(Debug, Args)]
pub struct FleetArgs {
    /// What to do
    #[command(subcommand)]
    pub command: FleetCommand,
}

/// What to do about a fleet.
#[derive(Debug, Subcommand)]
pub enum FleetCommand {
    /// Print the file that lets Kubernetes or Slurm start agents
    Manifest(ManifestArgs),
    /// List the agents that wait for a run
    Status(StatusArgs),
}

/// `proofload fleet manifest`.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  proofload fleet manifest --agents 8 --image registry/proofload:0.1 > job.yaml\n  proofload fleet manifest --agents 8 --slurm > array.sh"
)]
pub struct ManifestArgs {
    /// How many agents
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub agents: u32,
    /// Image of proofload, for Kubernetes
    #[arg(long, value_name = "IMAGE")]
    pub image: Option<String>,
    /// A job array for Slurm instead
    #[arg(long, conflicts_with = "image")]
    pub slurm: bool,
    /// Processors of each agent
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=1_024))]
    pub cores: u32,
    /// Name of the job, and of the Secret with the address of NATS
    #[arg(long, value_name = "NAME", default_value = "proofload-agents")]
    pub name: String,
}

/// `proofload fleet status`.
#[derive(Debug, Args)]
pub struct StatusArgs {
    /// Server of NATS, such as nats://10.0.0.1:4222
    #[arg(long, value_name = "URL", env = "PROOFLOAD_VIA", hide_env = true)]
    pub via: String,
    /// Which of several fleets there
    #[arg(long, value_name = "NAME", default_value = DEFAULT_FLEET)]
    pub fleet: String,
}
