//! The command-line flags: one table, from which the help is derived. Values stay text here; `plan` interprets them.

mod help;
mod importing;
mod machines;
mod output;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

pub use help::{CompletionsArgs, ExplainArgs, ManualArgs, Shell};
pub use importing::ImportArgs;
pub use machines::{
    AgentArgs, FleetArgs, FleetCommand, FleetFlags, ManifestArgs, MergeArgs, ShareFlags, StatusArgs,
};
pub use output::{Export, OutputFlags, WatchFlags};

/// The command line.
#[derive(Debug, Parser)]
#[command(
    name = "proofload",
    version,
    about = "Runs a load experiment and measures how much load the system sustains.",
    max_term_width = 79,
    after_help = "Examples:\n  proofload run http://127.0.0.1:8080/ --rate 500/s --duration 60s\n  proofload run experiment.toml --criterion \"p99 < 20ms\"\n\nExit: 0 passed, 1 a criterion failed, 2 usage, 3 inconclusive or invalid,\n      4 could not run, 101 a bug. `proofload explain exit-codes` says more."
)]
pub struct Cli {
    /// What to do; without it, things to try are shown.
    #[command(subcommand)]
    pub command: Option<Command>,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run an experiment file, or a URL with flags
    Run(Box<RunArgs>),
    /// Search the highest rate that meets the criteria
    Capacity(Box<CapacityArgs>),
    /// Validate an experiment and print the whole plan; sends nothing
    Check(CheckArgs),
    /// Write any report from a run folder
    Report(ReportArgs),
    /// Compare stored runs
    Compare(CompareArgs),
    /// Explain a finding, a term or an exit code
    Explain(ExplainArgs),
    /// Make an experiment file from curl lines and files of other tools
    Import(ImportArgs),
    /// Check a report of another tool: does it contradict itself?
    Audit(AuditArgs),
    /// Start a system, or list those that are found
    Serve(ServeArgs),
    /// Say what this machine can measure
    Doctor,
    /// Check the instrument against targets of known behaviour
    Calibrate(CalibrateArgs),
    /// Wait for a coordinator and perform a share of its run
    Agent(AgentArgs),
    /// List agents, or let a scheduler start them
    Fleet(FleetArgs),
    /// Make one run of the shares that several machines performed
    Merge(MergeArgs),
    /// Write the descriptors of a gRPC server that offers reflection
    Reflect(ReflectArgs),
    /// Write the completions for a shell
    Completions(CompletionsArgs),
    /// Write the manual pages
    #[command(hide = true)]
    Manual(ManualArgs),
}

/// Flags that the interrupted run has already decided.
const RESUME_TAKES_NONE: [&str; 9] = [
    "experiment",
    "LoadFlags",
    "RequestFlags",
    "ConnectionFlags",
    "PlanFlags",
    "share",
    "agents",
    "out",
    "samples",
];

/// `proofload run`.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  proofload run http://127.0.0.1:8080/ --rate 500/s --duration 60s\n  proofload run experiment.toml --set load.rate=200/s --out runs/slow\n  proofload run --resume runs/slow"
)]
pub struct RunArgs {
    /// An experiment file (TOML), or a URL to be loaded with the flags below
    #[arg(value_name = "EXPERIMENT|URL", required_unless_present = "resume")]
    pub experiment: Option<String>,
    /// Resume an interrupted run: its folder
    #[arg(long, value_name = "RUN", conflicts_with_all = RESUME_TAKES_NONE)]
    pub resume: Option<PathBuf>,
    #[command(flatten)]
    pub load: LoadFlags,
    #[command(flatten)]
    pub request: RequestFlags,
    #[command(flatten)]
    pub connection: ConnectionFlags,
    #[command(flatten)]
    pub plan: PlanFlags,
    #[command(flatten)]
    pub share: ShareFlags,
    #[command(flatten)]
    pub generator: GeneratorFlags,
    #[command(flatten)]
    pub record: RecordFlags,
    #[command(flatten)]
    pub output: OutputFlags,
    #[command(flatten)]
    pub watch: WatchFlags,
}

/// How much load; only with a URL.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Load (with a URL)")]
pub struct LoadFlags {
    /// Open load: operations a second, such as 500/s
    #[arg(long, value_name = "RATE")]
    pub rate: Option<String>,
    /// Length of the measure phase [default: 10s]
    #[arg(long, value_name = "TIME")]
    pub duration: Option<String>,
    /// Stop after so many operations instead
    #[arg(long, value_name = "N")]
    pub requests: Option<u64>,
    /// Closed load over N connections [default: 50]; with --rate, the limit
    #[arg(long, value_name = "N")]
    pub connections: Option<u32>,
    /// Closed load of N users who think between operations
    #[arg(long, value_name = "N")]
    pub users: Option<u32>,
    /// Users a second until all are there, such as 10/s
    #[arg(long, value_name = "RATE")]
    pub spawn_rate: Option<String>,
    /// Think time, such as 2s or 1s..3s
    #[arg(long, value_name = "TIME")]
    pub think: Option<String>,
    /// Spacing of an open load: poisson or constant [default: poisson]
    #[arg(long, value_name = "PROCESS")]
    pub arrivals: Option<String>,
    /// Fail an operation after this time [default: 30s]
    #[arg(long, value_name = "TIME")]
    pub timeout: Option<String>,
}

/// What is sent; only with a URL.
#[derive(Debug, Default, Clone, Args)]
#[command(next_help_heading = "Request (with a URL)")]
pub struct RequestFlags {
    /// Method [default: GET, or POST with a body]
    #[arg(long, value_name = "METHOD")]
    pub method: Option<String>,
    /// Header line "name: value"; may be repeated
    #[arg(long, value_name = "LINE")]
    pub header: Vec<String>,
    /// Body text, may hold {{templates}}
    #[arg(long, value_name = "TEXT")]
    pub body: Option<String>,
    /// Body from a file
    #[arg(long, value_name = "FILE", conflicts_with = "body")]
    pub body_file: Option<PathBuf>,
}

/// How the target is reached; only with a URL.
#[derive(Debug, Default, Clone, Args)]
#[command(next_help_heading = "Connection (with a URL)")]
pub struct ConnectionFlags {
    /// A new connection for each operation
    #[arg(long)]
    pub new_connections: bool,
    /// Connect to this Unix socket
    #[arg(long, value_name = "PATH")]
    pub unix_socket: Option<PathBuf>,
    /// Connect to this address instead of the URL's, or to several with commas between them
    #[arg(long, value_name = "HOST:PORT")]
    pub connect_to: Option<String>,
    /// Trust this certificate authority, or this certificate of the server itself (PEM)
    #[arg(long, value_name = "FILE")]
    pub cacert: Option<PathBuf>,
    /// Client certificate (PEM)
    #[arg(long, value_name = "FILE", requires = "key")]
    pub cert: Option<PathBuf>,
    /// Its key (PEM)
    #[arg(long, value_name = "FILE", requires = "cert")]
    pub key: Option<PathBuf>,
    /// Accept any certificate
    #[arg(long)]
    pub insecure: bool,
}

/// What changes the plan of a file or a URL.
#[derive(Debug, Default, Clone, Args)]
#[command(next_help_heading = "Plan")]
pub struct PlanFlags {
    /// What must hold, such as "p99 < 20ms"; may be repeated
    #[arg(long = "criterion", value_name = "TEXT")]
    pub criteria: Vec<String>,
    /// Run without judging before the measure phase; auto: 5s, and a finding if that was too short [default: 5s]
    #[arg(long, value_name = "TIME|auto")]
    pub warm_up: Option<String>,
    /// Seed of schedule and content
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Generator threads [default: one fewer than processors]
    #[arg(long, value_name = "N")]
    pub workers: Option<u32>,
    /// Override one value of the file, such as load.rate=200/s; may be repeated
    #[arg(long, value_name = "PATH=VALUE")]
    pub set: Vec<String>,
    /// Send a W3C trace id with this share of the operations, and list the slowest and the failed [default: 100%]
    #[arg(long, value_name = "SHARE", num_args = 0..=1, require_equals = true, default_missing_value = "100%")]
    pub traceparent: Option<String>,
    /// Address of the page that shows a trace, with `{trace_id}` in it; makes links in the report
    #[arg(long, value_name = "URL")]
    pub trace_url: Option<String>,
    /// Rehearse: at most 15 s of measuring; criteria are shown, none passes
    #[arg(long)]
    pub quick: bool,
    /// End the run as soon as a criterion can no longer be met
    #[arg(long)]
    pub fail_fast: bool,
    /// Continue although every operation fails in the same way from the start
    #[arg(long)]
    pub keep_going: bool,
    /// Measure until intervals are narrow enough: 30 s to 15 min
    #[arg(long, conflicts_with = "quick")]
    pub adaptive: bool,
}

/// How the generator uses the machine.
#[derive(Debug, Default, Clone, Copy, Args)]
#[command(next_help_heading = "Generator")]
pub struct GeneratorFlags {
    /// Leave the workers' scheduling as it is: no SCHED_FIFO, no better nice value
    #[arg(long)]
    pub no_realtime: bool,
}

/// What the record keeps.
#[derive(Debug, Default, Clone, Copy, Args)]
#[command(next_help_heading = "Output")]
pub struct RecordFlags {
    /// Keep every sample in samples.csv
    #[arg(long)]
    pub samples: bool,
}

/// `proofload capacity`.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  proofload capacity http://127.0.0.1:8080/ --criterion \"p99 < 20ms\"\n  proofload capacity experiment.toml --precision 2% --longest 10m\n\nExit: 0 both ends of the interval are known, 3 they are not, 2 usage, 4 could not run."
)]
pub struct CapacityArgs {
    /// An experiment file (TOML), each of whose arms is searched, or a URL to be loaded with the flags below
    #[arg(value_name = "EXPERIMENT|URL")]
    pub experiment: String,
    #[command(flatten)]
    pub search: SearchFlags,
    #[command(flatten)]
    pub load: OpenFlags,
    #[command(flatten)]
    pub request: RequestFlags,
    #[command(flatten)]
    pub connection: ConnectionFlags,
    #[command(flatten)]
    pub plan: PlanFlags,
    #[command(flatten)]
    pub fleet: FleetFlags,
    #[command(flatten)]
    pub generator: GeneratorFlags,
    #[command(flatten)]
    pub record: RecordFlags,
    #[command(flatten)]
    pub output: OutputFlags,
    #[command(flatten)]
    pub watch: WatchFlags,
}

/// How the capacity is searched.
#[derive(Debug, Args)]
#[command(next_help_heading = "Search")]
pub struct SearchFlags {
    /// How close the ends of the interval must come
    #[arg(long, value_name = "PERCENT", default_value = "5%")]
    pub precision: String,
    /// First rate [default: the experiment's, or 100/s]
    #[arg(long, value_name = "RATE")]
    pub from: Option<String>,
    /// Never offer more
    #[arg(long, value_name = "RATE")]
    pub max: Option<String>,
    /// Shortest trial
    #[arg(long, value_name = "TIME", default_value = "20s")]
    pub trial: String,
    /// Longest trial; longer trials are more precise
    #[arg(long, value_name = "TIME", default_value = "60s")]
    pub longest: String,
    /// Fresh trials that confirm the low end, four of five of which must pass; 0 for none
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(0..=100))]
    pub confirm: u32,
    /// Trials that narrow the interval; then its low end is confirmed
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub narrow: u32,
    /// Judge each rate by many trials of --trial, --longest in all; half of them may be disturbed
    #[arg(long)]
    pub noisy_host: bool,
    /// Afterwards test for hysteresis: step the rate up above the capacity and down again, each step as long as --trial
    #[arg(long)]
    pub descend: bool,
}

/// The open load whose rate is searched; only with a URL.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Load (with a URL)")]
pub struct OpenFlags {
    /// Most connections [default: 1000]
    #[arg(long, value_name = "N")]
    pub connections: Option<u32>,
    /// Spacing: poisson or constant [default: poisson]
    #[arg(long, value_name = "PROCESS")]
    pub arrivals: Option<String>,
    /// Fail an operation after this time [default: 30s]
    #[arg(long, value_name = "TIME")]
    pub timeout: Option<String>,
}

/// `proofload check`.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  proofload check experiment.toml\n  proofload check experiment.toml --try\n  proofload check script.js"
)]
pub struct CheckArgs {
    /// The experiment file, or a script of k6 to look over; scripts are not performed
    #[arg(value_name = "EXPERIMENT")]
    pub experiment: String,
    /// Send each operation once, and print request, answer and expectations
    #[arg(long = "try")]
    pub try_once: bool,
    #[command(flatten)]
    pub plan: PlanFlags,
}

/// `proofload report`.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  proofload report runs/20260101T120000Z-home\n  proofload report runs/20260101T120000Z-home --format csv > windows.csv"
)]
pub struct ReportArgs {
    /// The run folder
    #[arg(value_name = "RUN")]
    pub run: PathBuf,
    /// Which form
    #[arg(long, value_name = "FORMAT", default_value = "text", value_parser = format_names())]
    pub format: String,
    /// Print every table, not only the answer; of `text` only
    #[arg(long)]
    pub full: bool,
    /// No colour
    #[arg(long)]
    pub no_color: bool,
}

/// `proofload compare`.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  proofload compare runs/monday runs/tuesday\n  proofload compare runs/old runs/new --criterion \"p99 < 110%\"\n\nExit: 0 compared, and every criterion is met; 1 a criterion is not met; 2 the runs are\n      unlike, or usage; 3 a criterion cannot be decided."
)]
pub struct CompareArgs {
    /// The run folder of the baseline
    #[arg(value_name = "BASELINE-RUN")]
    pub baseline: PathBuf,
    /// The run folder of the candidate
    #[arg(value_name = "CANDIDATE-RUN")]
    pub candidate: PathBuf,
    /// One more run on the baseline's side; may be repeated
    #[arg(long = "baseline", value_name = "RUN")]
    pub more_baselines: Vec<PathBuf>,
    /// One more run on the candidate's side; may be repeated
    #[arg(long = "candidate", value_name = "RUN")]
    pub more_candidates: Vec<PathBuf>,
    /// Compare even runs of other plans, machines or versions
    #[arg(long)]
    pub unlike: bool,
    /// What must hold of candidate over baseline, such as "p99 < 110%"; may be repeated
    #[arg(long = "criterion", value_name = "TEXT")]
    pub criteria: Vec<String>,
    /// Which form
    #[arg(long, value_name = "FORMAT", default_value = "text", value_parser = pages::stored::FORMATS)]
    pub format: String,
}

/// `proofload calibrate`.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  proofload calibrate\n  proofload calibrate --out runs/calibration"
)]
pub struct CalibrateArgs {
    /// Keep the run folders below this one
    #[arg(short, long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// No progress on stderr
    #[arg(long)]
    pub quiet: bool,
    #[command(flatten)]
    pub generator: GeneratorFlags,
}

/// `proofload audit`.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  wrk -d 30s --latency http://127.0.0.1:8080/ | proofload audit -\n  proofload audit summary.json --from k6 --format markdown\n\nExit: 0 no number is contradicted (claims may be weak), 1 one is, 2 not a\n      report of a known format."
)]
pub struct AuditArgs {
    /// The report, or - for stdin
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Its format, if its content does not show it
    #[arg(long, value_name = "FORMAT", value_parser = imported_names())]
    pub from: Option<String>,
    /// Form of the result
    #[arg(long, value_name = "FORMAT", default_value = "text", value_parser = audit::page::FORMATS)]
    pub format: String,
    /// No colour
    #[arg(long)]
    pub no_color: bool,
}

/// `proofload serve`.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  proofload serve truth --listen 127.0.0.1:8080\n  proofload serve truth --set mode=mm1 --set rate=1000/s\n  proofload serve",
    long_about = "Start a system, or list those that are found.\n\nIts program is a file proofload-SYSTEM beside this program or on PATH, or one that serves it under another name."
)]
pub struct ServeArgs {
    /// Which system; without it, the systems that are found are listed
    #[arg(value_name = "SYSTEM")]
    pub system: Option<String>,
    /// Address to listen on; port 0 chooses a free one
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:0")]
    pub listen: String,
    /// One setting of the system; may be repeated
    #[arg(long, value_name = "KEY=VALUE", requires = "system")]
    pub set: Vec<String>,
}

/// `proofload reflect`.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  proofload reflect http://127.0.0.1:50051 > shop.pb\n  proofload reflect https://shop.example --cacert ca.pem > shop.pb"
)]
pub struct ReflectArgs {
    /// Its address, such as http://127.0.0.1:50051
    #[arg(value_name = "URL")]
    pub url: String,
    /// Connect to this address instead of the URL's
    #[arg(long, value_name = "HOST:PORT")]
    pub connect_to: Option<String>,
    /// Trust this certificate authority, or this certificate of the server itself (PEM)
    #[arg(long, value_name = "FILE")]
    pub cacert: Option<PathBuf>,
    /// Accept any certificate
    #[arg(long)]
    pub insecure: bool,
}

fn imported_names() -> clap::builder::PossibleValuesParser {
    clap::builder::PossibleValuesParser::new(
        audit::imports::FORMATS.iter().map(|format| format.name),
    )
}

fn format_names() -> clap::builder::PossibleValuesParser {
    clap::builder::PossibleValuesParser::new(pages::FORMATS.iter().map(|format| format.name))
}
