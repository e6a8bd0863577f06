//! Flags that say what is written where, and what is seen meanwhile.

use std::net::{SocketAddr, ToSocketAddrs};
use std::path::PathBuf;

use clap::Args;
use pages::Format;

/// What is written where.
#[derive(Debug, Default, Clone, Args)]
#[command(next_help_heading = "Output")]
pub struct OutputFlags {
    /// Run folder [default: runs/TIME-TITLE]
    #[arg(short, long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Write the summary as JSON to a file, or - for stdout and nothing else there
    #[arg(long, value_name = "FILE|-")]
    pub json: Option<String>,
    /// Write the run in a format of `proofload report` to a file, such as junit=load.xml; may be repeated
    #[arg(long, value_name = "FORMAT=FILE", value_parser = export)]
    pub export: Vec<Export>,
    /// No progress on stderr
    #[arg(long)]
    pub quiet: bool,
    /// A line of progress on stderr instead of a whole screen
    #[arg(long)]
    pub plain: bool,
    /// Print every table, not only the answer
    #[arg(long)]
    pub full: bool,
    /// No colour
    #[arg(long)]
    pub no_color: bool,
}

/// Who sees a run while it goes on, beside the terminal.
#[derive(Debug, Default, Clone, Args)]
#[command(next_help_heading = "Output")]
pub struct WatchFlags {
    /// Show the run in browsers at this address, such as 127.0.0.1:7070, and to Prometheus at /metrics; elsewhere than on
    /// loopback the link has a token
    #[arg(long, value_name = "ADDRESS", value_parser = address)]
    pub live: Option<SocketAddr>,
    /// Send metrics each 5 s to this address of Prometheus remote write; a token may be in PROOFLOAD_REMOTE_WRITE_TOKEN
    // Not checked here: messages about a flag quote its value, which may contain a password.
    #[arg(long, value_name = "URL")]
    pub remote_write: Option<String>,
    /// Send metrics each 5 s, and spans of traced operations, to this OTLP receiver (HTTP); a token may be in
    /// PROOFLOAD_OTLP_TOKEN
    #[arg(long, value_name = "URL")]
    pub otlp: Option<String>,
}

fn address(text: &str) -> Result<SocketAddr, String> {
    let problem = || "write ADDRESS:PORT, such as 127.0.0.1:7070 or [::1]:7070".to_owned();
    text.to_socket_addrs().ok().and_then(|mut found| found.next()).ok_or_else(problem)
}

/// A file that is written after the run.
#[derive(Debug, Clone)]
pub struct Export {
    /// What it contains.
    pub format: &'static Format,
    /// Where it goes.
    pub file: PathBuf,
}

fn export(text: &str) -> Result<Export, String> {
    let Some((name, file)) = text.split_once('=').filter(|(_, file)| !file.is_empty()) else {
        return Err("write FORMAT=FILE, such as junit=load.xml".to_owned());
    };
    let Some(format) = Format::named(name) else {
        let names = pages::FORMATS.iter().filter(|format| !format.needs_samples);
        let names: Vec<&str> = names.map(|format| format.name).collect();
        return Err(format!("no format is called {name:?}; there are {}", names.join(", ")));
    };
    if file == "-" {
        return Err(format!(
            "name a file; `proofload report RUN --format {name}` writes to stdout"
        ));
    }
    match format.needs_samples {
        true => Err(format!("{name} is made of raw samples: use `proofload report` after the run")),
        false => Ok(Export { format, file: file.into() }),
    }
}
