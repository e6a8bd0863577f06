//! A log whose requests repeat: each instant sends the request that it had.

use std::collections::BTreeSet;

use super::target::target;
use crate::lab::{Lab, assert_accounting, only_trial};

/// The path of each line: three that repeat in no regular order.
fn paths() -> Vec<String> {
    let order = (0..90_u32).map(|place| place.wrapping_mul(2_654_435_761) >> 24);
    order.map(|number| format!("/{}", ["new", "old?page=2", "cart"][number as usize % 3])).collect()
}

#[test]
fn requests_that_repeat_come_in_the_order_of_the_log() {
    let lab = Lab::new();
    let (address, visits) = target();
    let paths = paths();
    let line = |(place, path): (usize, &String)| {
        let second = place / 45;
        format!(
            "192.0.2.1 - - [10/Oct/2000:13:00:{second:02} +0000] \"GET {path} HTTP/1.1\" 200 1 \"-\" \"x\"\n"
        )
    };
    lab.write("access.log", &paths.iter().enumerate().map(line).collect::<String>());
    let import = ["import", "access.log", "--host", &address, "--out", "replay.toml"];
    let ran = lab.proofload(&import);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let listed = lab.read("replay.requests.txt");
    let different: BTreeSet<&String> = paths.iter().collect();
    assert_eq!((listed.matches("GET ").count(), different.len()), (3, 3), "{listed}");

    // One connection, so that none overtakes another.
    let (ran, summary) = lab.run(&["replay.toml", "--set", "load.connections=1"]);
    let trial = only_trial(&summary);
    assert_accounting(trial);
    assert_eq!(trial.accounting.succeeded, 90, "{ran:?}");
    let seen = visits.lock().expect("nobody panics with it").concat();
    assert_eq!(seen, paths, "{ran:?}");
}
