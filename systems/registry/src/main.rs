//! The program `proofload-registry`: the registry, and the receivers that count what arrives.

use std::process::ExitCode;

fn main() -> ExitCode {
    serving::program::run(&[registry::SYSTEM, registry::receivers::SYSTEM])
}
