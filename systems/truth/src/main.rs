//! The program `proofload-truth`: a target of known behaviour.

use std::process::ExitCode;

fn main() -> ExitCode {
    serving::program::run(&[truth::SYSTEM])
}
