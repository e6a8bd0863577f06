//! The program `proofload-subscribers`: sockets that count what reaches them.

use std::process::ExitCode;

fn main() -> ExitCode {
    serving::program::run(&[subscribers::SYSTEM])
}
