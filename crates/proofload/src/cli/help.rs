//! Flags of the commands that explain, and that write what shells and `man` show.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

/// `proofload explain`.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  proofload explain late-generator\n  proofload explain \"response time\""
)]
pub struct ExplainArgs {
    /// A finding's code, a term or an exit code; without it, everything that can be explained
    #[arg(value_name = "CODE or TERM")]
    pub term: Vec<String>,
}

/// `proofload completions`.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  proofload completions bash > ~/.local/share/bash-completion/completions/proofload\n  proofload completions zsh > ~/.zfunc/_proofload\n  proofload completions fish > ~/.config/fish/completions/proofload.fish"
)]
pub struct CompletionsArgs {
    /// The shell
    pub shell: Shell,
}

/// A shell that completes commands.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum Shell {
    /// Bash.
    Bash,
    /// Zsh.
    Zsh,
    /// Fish.
    Fish,
}

/// `proofload manual`: for packages.
#[derive(Debug, Args)]
pub struct ManualArgs {
    /// The folder, which exists
    pub folder: PathBuf,
}
