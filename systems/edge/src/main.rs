//! The program `proofload-edge`: the edge, and each of its parts by itself.

use std::process::ExitCode;

fn main() -> ExitCode {
    serving::program::run(&[
        edge::assembly::SYSTEM,
        edge::origin::SYSTEM,
        edge::proxy::SYSTEM,
        edge::monitor::SYSTEM,
    ])
}
