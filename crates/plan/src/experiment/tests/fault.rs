//! `[[fault]]`: valid tables, and all problems of invalid ones at once.

use std::time::Duration;

use super::{Options, plan, read};
use crate::fault::{Fault, FaultAction, FaultTarget};

/// A service, a system, ten seconds of load, and these faults.
fn file(faults: &str) -> String {
    format!(
        "[[service]]\nname = \"nats\"\ncommand = \"nats-server -p {{port}}\"\n\
         [system]\nserve = \"truth\"\n[load]\nrate = \"10/s\"\nduration = \"20s\"\n{faults}\n\
         [[operation]]\nhttp = {{ path = \"/\" }}\n"
    )
}

fn whom(process: &str, part: Option<&str>) -> FaultTarget {
    FaultTarget { process: process.to_owned(), part: part.map(str::to_owned) }
}

#[test]
fn a_fault_says_whom_when_what_and_for_how_long() {
    let kill = "[[fault]]\nprocess = \"nats\"\nat = \"10s\"\naction = \"kill\"\nfor = \"4s\"\n\
                [[fault]]\nprocess = \"system\"\nat = \"1500ms\"\naction = \"stop\"";
    let expected = [
        Fault {
            whom: whom("nats", None),
            at: Duration::from_secs(10),
            action: FaultAction::Kill,
            undone_after: Some(Duration::from_secs(4)),
        },
        Fault {
            whom: whom("system", None),
            at: Duration::from_millis(1500),
            action: FaultAction::Stop,
            undone_after: None,
        },
    ];
    assert_eq!(plan(&file(kill)).arms[0].faults, expected);
    assert_ne!(plan(&file(kill)).hash(), plan(&file("")).hash());
}

#[test]
fn a_rehearsal_moves_faults_with_the_phase_that_it_cuts() {
    let text = file("[[fault]]\nprocess = \"nats\"\nat = \"10s\"\naction = \"kill\"\nfor = \"4s\"");
    let options = Options { fresh_seed: 1, quick: true, ..Options::default() };
    let faults = read(&text, &options).unwrap().arms[0].faults.clone();
    assert_eq!(faults[0].at, Duration::from_millis(7_500));
    assert_eq!(faults[0].undone_after, Some(Duration::from_secs(3)));
}

#[test]
fn everything_that_is_wrong_is_told_at_once() {
    let faults = "[[fault]]\nprocess = \"nat\"\nat = \"20s\"\naction = \"freeze\"\n\
                  [[fault]]\nprocess = \"system\"\nat = \"5\"\naction = \"explode\"\nwhen = \"now\"\n\
                  [[fault]]\n";
    let told = read(&file(faults), &Options { fresh_seed: 1, ..Options::default() }).unwrap_err();
    for expected in [
        "unknown process `nat`",
        "did you mean `nats`",
        "not before the end of the measure phase",
        "a process cannot stay frozen",
        "\"kill\", \"stop\" or \"freeze\"",
        "unknown key `when`",
        "missing key `process`",
        "missing key `at`",
        "missing key `action`",
    ] {
        assert!(told.contains(expected), "{expected}\n{told}");
    }
}

fn fault(process: &str, at: &str, action: &str, length: &str) -> String {
    let length = if length.is_empty() { String::new() } else { format!("for = \"{length}\"\n") };
    format!("[[fault]]\nprocess = \"{process}\"\nat = \"{at}\"\naction = \"{action}\"\n{length}")
}

fn refused(first: String, second: String) -> Option<String> {
    let options = Options { fresh_seed: 1, ..Options::default() };
    read(&file(&(first + &second)), &options).err()
}

#[test]
fn a_part_of_a_process_may_be_hit_and_is_not_ours_to_start() {
    let faults = fault("system.producer", "2s", "kill", "")
        + &fault("system.producer", "5s", "freeze", "1s")
        + &fault("nats.0.a", "5s", "stop", "");
    let read = plan(&file(&faults)).arms[0].faults.clone();
    let hit = [("system", "producer"), ("system", "producer"), ("nats", "0.a")];
    assert_eq!(
        read.iter().map(|one| one.whom.clone()).collect::<Vec<_>>(),
        hit.map(|(process, part)| whom(process, Some(part)))
    );
    assert_eq!(read[0].to_string(), "kill system.producer at 2s");
    let json = serde_json::to_value(&read[0]).unwrap();
    assert_eq!((&json["process"], &json["part"]), (&"system".into(), &"producer".into()));
    for (wrong, expected) in [
        (fault("sytem.producer", "2s", "kill", ""), "did you mean `system`"),
        (fault("system.", "2s", "kill", ""), "`system.` names no part"),
        (fault("system.producer", "2s", "kill", "1s"), "cannot restart `system.producer`"),
        (fault("system.producer", "2s", "stop", "1s"), "leave `for` out"),
        (fault("system.producer", "2s", "freeze", ""), "a process cannot stay frozen"),
    ] {
        let told = refused(wrong, String::new()).unwrap_or_default();
        assert!(told.contains(expected), "{expected}\n{told}");
    }
}

#[test]
fn a_process_is_hit_again_only_once_it_is_back() {
    let overlapping = [
        (fault("nats", "2s", "kill", "4s"), fault("nats", "3s", "freeze", "1s")),
        (fault("nats", "3s", "freeze", "1s"), fault("nats", "2s", "kill", "4s")),
        (fault("nats", "2s", "freeze", "4s"), fault("nats", "3s", "freeze", "9s")),
        (fault("nats", "2s", "kill", ""), fault("nats", "9s", "kill", "1s")),
        (fault("nats", "2s", "kill", "1s"), fault("nats", "2s", "kill", "1s")),
        (fault("nats", "2s", "kill", "4s"), fault("nats.a", "3s", "kill", "")),
        (fault("nats.a", "2s", "freeze", "4s"), fault("nats", "3s", "kill", "")),
    ];
    for (first, second) in overlapping {
        let told = refused(first.clone(), second.clone()).unwrap_or_default();
        assert!(told.contains("is not back"), "{first}{second}{told}");
    }
    let part = || fault("nats.a", "2s", "kill", "");
    let told = refused(part(), part()).unwrap_or_default();
    assert!(told.contains("`nats.a` is not back"), "{told}");
    let apart = [
        (fault("nats", "2s", "kill", "1s"), fault("nats", "3s", "kill", "1s")),
        (fault("nats", "2s", "kill", "4s"), fault("system", "3s", "kill", "")),
        (fault("nats.a", "2s", "freeze", "4s"), fault("nats.b", "3s", "kill", "")),
        (fault("nats.a", "2s", "kill", ""), fault("nats.a", "3s", "kill", "")),
    ];
    for (first, second) in apart {
        assert_eq!(refused(first, second), None);
    }
}
