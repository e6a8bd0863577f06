//! The program `proofload-search`: the search service, its parts by themselves, a front, and an observer of recall.

use std::process::ExitCode;

fn main() -> ExitCode {
    serving::program::run(&[
        search::server::SYSTEM,
        search::server::EMBEDDER,
        search::server::INDEX,
        search::front::SYSTEM,
        search::judge::SYSTEM,
    ])
}
