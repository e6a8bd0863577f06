//! The program `proofload-registry`: the registry, and receivers that count arrivals.

use std::process::ExitCode;

fn main() -> ExitCode {
    serving::program::run(&[registry::SYSTEM, registry::receivers::SYSTEM])
}
