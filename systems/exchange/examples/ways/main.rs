//! The three ways beside each other, and many exchanges over one of them.
//!
//! ```sh
//! cargo run --release -p exchange --example ways                     # measure
//! cargo run --release -p exchange --example ways -- measure --exchanges 20000 --size 262144 --processors 2,3 [--json]
//! cargo run --release -p exchange --example ways -- soak --exchanges 1000000 --clients 64 --way shm
//! ```
//!
//! `measure`: client and producer are a process each, pinned to a processor each. The payload is
//! prepared, its nonce is patched in place, and of each answer nonce and checksum are checked, for
//! which every byte is read. The ways take turns in blocks, so that what the machine does meanwhile
//! meets all of them, and each block has a producer of its own, so that none spins beside another's.
//!
//! `soak`: many clients, each with a connection of its own, and answers of several sizes in turn.
//! It fails unless every exchange succeeded.

#![expect(clippy::unwrap_used, reason = "a measurement that fails is no measurement")]

mod measure;
mod server;
mod soak;

use std::collections::BTreeMap;
use std::process::ExitCode;

use rustix::thread::CpuSet;

fn main() -> ExitCode {
    let mut words = std::env::args().skip(1);
    let part = words.next().unwrap_or_else(|| "measure".to_owned());
    let options = Options::read(words);
    match part.as_str() {
        "measure" => measure::run(&options),
        "soak" => return soak::run(&options),
        server::PART => server::run(&options),
        other => panic!("measure or soak is wanted, not {other}"),
    }
    ExitCode::SUCCESS
}

/// What was given as `--name value`, or as a last `--name` alone.
struct Options(BTreeMap<String, String>);

impl Options {
    fn read(mut words: impl Iterator<Item = String>) -> Self {
        let mut given = BTreeMap::new();
        while let Some(word) = words.next() {
            let name = word.strip_prefix("--").expect("--name value").to_owned();
            given.insert(name, words.next().unwrap_or_default());
        }
        Self(given)
    }

    fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    fn text<'a>(&'a self, name: &str, default: &'a str) -> &'a str {
        self.0.get(name).map_or(default, String::as_str)
    }

    fn number(&self, name: &str, default: u64) -> u64 {
        self.0.get(name).map_or(default, |text| text.parse().unwrap())
    }
}

/// The client's and the server's processor: those named, or the last two that we may use.
fn processors(options: &Options) -> (usize, usize) {
    if let Some((client, server)) = options.text("processors", "").split_once(',') {
        return (client.parse().unwrap(), server.parse().unwrap());
    }
    let ours = rustix::thread::sched_getaffinity(None).unwrap();
    let mut last = (0..CpuSet::MAX_CPU).rev().filter(|processor| ours.is_set(*processor));
    let client = last.next().unwrap();
    (client, last.next().expect("two processors to be pinned to"))
}

/// Pins this thread, and those that it starts from here on.
fn pin(processor: usize) {
    let mut set = CpuSet::new();
    set.set(processor);
    rustix::thread::sched_setaffinity(None, &set).unwrap();
}
