//! A server that gives each journey a nonce with every answer and requires it in the next step: no value ever crosses
//! journeys, and each row is used once.
//!
//! `PROOFLOAD_PROOF=1` performs a million steps over four workers.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex, PoisonError};

use super::{assert_counted, failures, only_journey, proof, visit};
use crate::lab::answering::answering;
use crate::lab::{Lab, only_trial};

const STEPS: usize = 10;

/// By row: the nonce that its next step must send, and how many steps it has made.
type Journeys = Arc<Mutex<HashMap<u64, (u64, usize)>>>;

#[test]
fn no_value_crosses_journeys_with_connections_of_their_own() {
    chain("own", 2_000);
}

#[test]
fn no_value_crosses_journeys_that_share_connections() {
    chain("pool", 8_000);
}

/// Performs so many journeys of ten steps over two workers, or those of the proof.
fn chain(connections: &str, journeys: u64) {
    let (journeys, workers) = if proof() { (100_000, 4) } else { (journeys, 2) };
    let lab = Lab::new();
    let (url, seen) = server();
    let rows: Vec<String> = (0..journeys).map(|id| id.to_string()).collect();
    lab.write("ids.csv", &format!("id\n{}\n", rows.join("\n")));
    let (ran, summary) = visit(&lab, &url, &experiment(connections, journeys, workers));
    let trial = only_trial(&summary);
    assert_eq!(trial.accounting.failed, 0, "{}", failures(trial));
    assert_counted(&ran);
    assert_eq!(only_journey(trial).whole.succeeded, journeys);
    assert_eq!(trial.accounting.succeeded, journeys * STEPS as u64);
    let seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
    assert_eq!(seen.len() as u64, journeys, "every row");
    assert!(seen.values().all(|(_, steps)| *steps == STEPS), "once, and to its end");
    println!(
        "{connections}: {} steps, {} a second",
        trial.accounting.succeeded, trial.rates.completed
    );
}

fn experiment(connections: &str, journeys: u64, workers: u32) -> String {
    let mut file = format!(
        "[target]\nurl = \"http://127.0.0.1:1\"\n[load]\noperations = {journeys}\nconnections = 16\n\
         workers = {workers}\nwarm_up = \"0s\"\n[[operation]]\nname = \"step0\"\n\
         http = {{ path = \"/begin/{{{{row.id}}}}\" }}\ncapture = {{ nonce = \"$.nonce\" }}\n"
    );
    for step in 1..STEPS {
        let before = step - 1;
        let _ = write!(
            file,
            "[[operation]]\nname = \"step{step}\"\n\
             http = {{ path = \"/next/{{{{row.id}}}}\", header = {{ nonce = \"{{{{step{before}.nonce}}}}\" }} }}\n\
             capture = {{ nonce = \"$.nonce\" }}\n"
        );
    }
    let names: Vec<String> = (0..STEPS).map(|step| format!("step{step}")).collect();
    let rows = "rows = { file = \"ids.csv\", order = \"once\" }";
    let _ = write!(
        file,
        "[[journey]]\nname = \"chain\"\nconnections = \"{connections}\"\n{rows}\nsteps = {names:?}\n"
    );
    file
}

fn server() -> (String, Journeys) {
    let journeys = Journeys::default();
    let seen = Arc::clone(&journeys);
    let address = answering(move || {
        let journeys = Arc::clone(&journeys);
        move |head: &str| {
            let (status, body) = match advance(head, &journeys) {
                Some(nonce) => ("200 OK", format!("{{\"nonce\":\"{nonce}\"}}")),
                None => ("409 Conflict", String::new()),
            };
            format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\n\r\n{body}", body.len())
        }
    });
    (format!("http://{address}"), seen)
}

/// Takes a step; `None` if the row has begun before, or the nonce is not its own.
fn advance(head: &str, journeys: &Journeys) -> Option<u64> {
    let path = head.split(' ').nth(1)?;
    let (kind, row) = path.trim_start_matches('/').split_once('/')?;
    let row: u64 = row.parse().ok()?;
    let mut journeys = journeys.lock().unwrap_or_else(PoisonError::into_inner);
    let steps = match (kind, journeys.get(&row)) {
        ("begin", None) => 0,
        ("next", Some((nonce, steps))) if sent(head)? == *nonce => *steps,
        _ => return None,
    };
    // Unlike those of other rows and of its own other steps.
    let nonce = (row * STEPS as u64 + steps as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    journeys.insert(row, (nonce, steps + 1));
    Some(nonce)
}

fn sent(head: &str) -> Option<u64> {
    let line = head.lines().find(|line| line.to_ascii_lowercase().starts_with("nonce:"))?;
    line.split_once(':')?.1.trim().parse().ok()
}
