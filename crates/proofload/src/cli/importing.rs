//! Flags of `proofload import`.

use std::path::PathBuf;

use clap::Args;

/// `proofload import`.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  proofload import visit.har --host shop.example --out visit.toml\n  proofload import script.js --out script.toml\n  proofload import plan.jmx --out plan.toml\n  proofload import results.jtl --out again.toml\n  proofload import \"curl -d 'q=tea' http://127.0.0.1:8080/search\"\n  xclip -o | proofload import - > search.toml",
    long_about = "Make an experiment file from curl lines and files of other tools.\n\nNothing is sent, and scripts of k6 are not performed. Credentials become environment variables; what cannot be taken over is listed."
)]
pub struct ImportArgs {
    /// A file, - for stdin, or a line that begins with curl
    #[arg(value_name = "FILE|CURL")]
    pub source: String,
    /// Its format, if its content does not show it
    #[arg(long, value_name = "FORMAT", value_parser = importable_names())]
    pub from: Option<String>,
    /// Take requests to this host only; may be repeated
    #[arg(long = "host", value_name = "HOST")]
    pub hosts: Vec<String>,
    /// Group a log's requests by client: address and User-Agent, or FIELD of JSON lines
    #[arg(long, value_name = "FIELD", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    pub sessions: Option<String>,
    /// Write the experiment here, not to stdout; an existing file is not overwritten
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Refuse a source of which something cannot be taken over
    #[arg(long)]
    pub strict: bool,
}

fn importable_names() -> Vec<&'static str> {
    let names = import::Format::ALL.into_iter().map(|(name, _)| name);
    names.chain([crate::commands::import::LOG]).collect()
}
