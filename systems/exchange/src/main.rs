//! The program `proofload-exchange`: the exchange, and its producer by itself.

use std::process::ExitCode;

fn main() -> ExitCode {
    serving::program::run(&[exchange::front::SYSTEM, exchange::producer::SYSTEM])
}
