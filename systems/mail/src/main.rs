//! The program `proofload-mail`: the mail server, and a crowd of idle sessions.

use std::process::ExitCode;

fn main() -> ExitCode {
    serving::program::run(&[mail::SYSTEM, mail::crowd::SYSTEM])
}
