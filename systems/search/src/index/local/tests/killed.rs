//! kill -9 while rows are written: those that were acknowledged are there afterwards.

use std::io::{BufRead, BufReader, Write as _};
use std::process::{Child, Command, Stdio};

use super::*;

/// Names the folder for the process that is killed; not set, there is none.
const FOLDER: &str = "SEARCH_KILLED_FOLDER";

/// What an acknowledgement begins with, apart from all else that a test prints.
const MARK: &str = "acknowledged ";

/// Not a test by itself: what the killed process does. It writes row `n` again and again, each
/// time with another vector, and says so when it is acknowledged.
#[test]
fn writes_until_it_is_killed() {
    let Some(folder) = std::env::var_os(FOLDER) else { return };
    let settings = Settings { folder: Some(folder.into()), snapshot_every: 40, ..settings(0) };
    let index = Local::open(settings).unwrap();
    for turn in index.shared.front.now().sequence.. {
        let row = entry(&format!("r-{}", turn % 50), vector(&mut source(turn)), json!({"n": turn}));
        write(&index, rows(vec![row]));
        let mut out = std::io::stdout().lock();
        writeln!(out, "{MARK}{turn}").unwrap();
    }
}

fn child(folder: &TempFolder) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["index::local::tests::killed::writes_until_it_is_killed", "--exact", "--nocapture"])
        .env(FOLDER, &folder.0)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// Short form: 3 times; `PROOFLOAD_PROOF=1`: 20 times.
#[test]
fn what_was_acknowledged_survives_a_kill() {
    let is_long = std::env::var_os("PROOFLOAD_PROOF").is_some();
    let folder = TempFolder::new();
    let mut begun = 0;
    for round in 0..if is_long { 20 } else { 3 } {
        let mut child = child(&folder);
        let lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
        let mut turns = lines.filter_map(|line| line.split(MARK).nth(1)?.parse::<u64>().ok());
        // Each round ends somewhere else.
        let enough = 60 + 37 * round;
        let early = turns.by_ref().take(enough).last().expect("it writes");
        child.kill().unwrap();
        let last = turns.last().unwrap_or(early);
        child.wait().unwrap();
        assert!(last >= begun + enough as u64 - 1, "{last} after {begun}");

        let settings = Settings { folder: Some(folder.0.clone()), ..settings(0) };
        let index = Local::open(settings).unwrap();
        let now = index.shared.front.now();
        // One more may have been written and not been acknowledged.
        assert!((last + 1..=last + 2).contains(&now.sequence), "{last} {}", now.sequence);
        for turn in now.sequence.saturating_sub(50)..now.sequence {
            let mut question = query(vector(&mut source(turn)), 1);
            question.filter = Some(json!({"n": turn}));
            let found = find(&index, question);
            assert_eq!(ids(&found), [format!("r-{}", turn % 50)]);
            assert!(found.nearest[0].score > 0.999_99, "turn {turn}");
        }
        assert_eq!(now.size, now.sequence.min(50));
        begun = now.sequence;
    }
}
