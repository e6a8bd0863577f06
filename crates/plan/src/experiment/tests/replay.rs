//! A replay at another rate.

use std::sync::Arc;

use super::*;
use crate::journey::{AfterFailure, Connections, Journey, Repeat, Step};
use crate::mix::Mix;
use crate::operation::{Operation, Request};
use crate::rows::Rows;
use crate::sessions::Sessions;

fn journey(sessions: Sessions) -> Journey {
    Journey {
        name: "session".to_owned(),
        weight: 1.0,
        rows: None,
        sessions: Some(Arc::new(sessions)),
        order: RowOrder::RoundRobin,
        steps: Vec::new(),
        connections: Connections::Own,
        after_failure: AfterFailure::Continue,
    }
}

const SESSIONS: &str = r#"
title = "sessions"
[target]
url = "http://a:1"
[load]
replay = "offsets.csv"
[[operation]]
name    = "login"
http    = { path = "/login" }
[[operation]]
name    = "request"
targets = { file = "paths.txt" }
[[journey]]
name     = "session"
sessions = "sessions.csv"
steps    = ["login", "request"]
"#;

#[test]
fn a_step_with_a_list_performs_the_requests_of_a_session() {
    let arm = plan(SESSIONS).arms.remove(0);
    let journey = &arm.journeys[0];
    let repeats = journey.steps.iter().map(|step| match step {
        Step::Do(action) => action.repeat.clone(),
        step => panic!("{step:?}"),
    });
    assert_eq!(repeats.collect::<Vec<_>>(), [Repeat::Once, Repeat::Session]);
    assert_eq!((journey.row_count(), journey.thinking()), (1, Duration::from_millis(1500)));
    let listed = plan(SESSIONS).describe();
    for says in [
        "one of 1 sessions of sessions.csv for each, 2 requests together",
        "with the recorded pauses",
    ] {
        assert!(listed.contains(says), "{says}: {listed}");
    }
}

/// The file is wrong with this change.
#[track_caller]
fn refused(file: &str, from: &str, to: &str, says: &str) {
    let text = file.replace(from, to);
    assert_ne!(text, file, "{from}");
    let message = read(&text, &Options { fresh_seed: 1, ..Options::default() }).unwrap_err();
    assert!(message.contains(says), "{says}: {message}");
}

#[test]
fn sessions_that_cannot_be_are_refused() {
    for (from, to, says) in [
        ("paths.txt", "one.txt", "sessions.csv has 2 requests, and the list of `request` has 1"),
        ("sessions.csv", "lost.csv", "cannot read lost.csv"),
        ("sessions.csv", "offsets.csv", "offsets.csv line 1: expected a session and a time"),
        (", \"request\"]", "]", "`sessions` needs a step whose operation has `targets`"),
        (
            "steps    =",
            "rows = { file = \"accounts.csv\" }\nsteps =",
            "`rows` and `sessions` exclude each other",
        ),
        (
            "sessions = \"sessions.csv\"",
            "",
            "`targets` in `request`, which is a step of journey `session`",
        ),
        ("[\"login\", \"request\"]", "[[\"login\", \"request\"]]", "`targets` in `request`"),
        (
            "\"request\"]",
            "{ do = \"request\", times = 2 }]",
            "`sessions` needs a step whose operation has `targets`",
        ),
    ] {
        refused(SESSIONS, from, to, says);
    }
}

/// Three arrivals at 0, 1.5 ms and 1 s, which repeat after 1.5 s.
#[test]
fn a_scaled_replay_keeps_the_row_of_each_arrival() {
    let arm = |more: &str| {
        let load = format!("[load]\nreplay = \"offsets.csv\"\n{more}\n\n[[operation]]");
        let text = HOME.replace("[[operation]]", &load);
        let start = text.find("[load]").expect("its own load");
        let end = text.rfind("[load]").expect("ours");
        let text = format!("{}{}", &text[..start], &text[end..]);
        read(&text, &Options { fresh_seed: 1, ..Options::default() })
            .map(|plan| plan.arms[0].clone())
    };
    let twice = arm("scale = 2").unwrap();
    let Model::Open { arrivals } = &twice.load.model else { panic!("not a replay") };
    let ArrivalProcess::Replay { list, .. } = arrivals else { panic!("not a replay") };
    let us = list.iter().map(|one| one.offset_ns / 1_000).collect::<Vec<_>>();
    assert_eq!(us, [0, 1_500, 250_000, 750_000, 751_500, 1_000_000]);
    assert_eq!(twice.load.stop, Stop::Operations { count: 6 });
    let shifted = arm("scale = 2\nshift = \"0.2s\"").unwrap();
    let rows_of = |operation: Operation| {
        let mix = Mix::new(&[operation], &[], 1).of_load(&shifted.load);
        mix.take(6).map(|one| one.row).collect::<Vec<_>>()
    };
    let request = || Request {
        method: "GET".to_owned(),
        path: "/".to_owned(),
        headers: Vec::new(),
        body: Vec::new(),
    };
    let listed = |count: usize, order| {
        let requests = Some((0..count).map(|_| request()).collect());
        rows_of(Operation { requests, order, ..Operation::named("x") })
    };
    for order in [RowOrder::RoundRobin, RowOrder::Once] {
        assert_eq!(listed(3, order), [0, 1, 0, 1, 2, 2], "{order:?}");
    }
    let sessions = Sessions::parse("s.csv", "1,0s\n2,0s\n3,0s\n").unwrap();
    let journeys = [journey(sessions)];
    let mix = Mix::new(&[], &journeys, 1).of_load(&shifted.load);
    assert_eq!(mix.take(6).map(|one| one.row).collect::<Vec<_>>(), [0, 1, 0, 1, 2, 2]);
    // A list of another length, and data of users, are taken as they come.
    assert_eq!(listed(4, RowOrder::RoundRobin), [0, 1, 2, 3, 0, 1]);
    let rows = Arc::new(Rows::parse("n.csv", b"n\n0\n1\n2\n").unwrap());
    let data = Operation { rows: Some(rows), order: RowOrder::Once, ..Operation::named("x") };
    assert_eq!(rows_of(data), [0, 1, 2]);
    assert_eq!(arm("scale = 1\nshift = \"1s\"").unwrap().load.stop, Stop::Operations { count: 3 });
    for (more, says) in [
        ("scale = 0", "`scale` must be above 0 and at most 1000 (got 0)"),
        ("scale = 1001", "at most 1000 (got 1001)"),
        ("scale = 0.5\nshift = \"1s\"", "`shift` needs a `scale` above 1 (got 0.5)"),
        ("shift = \"1s\"", "`shift` means nothing without `scale`"),
        ("scale = 2\nshift = \"3s\"", "the same requests at the same instants"),
        (
            "scale = 2\nresolution = \"1s\"\nshift = \"1500ms\"",
            "must be a multiple of `resolution`",
        ),
        ("scale = 2\nresolution = \"0s\"", "`resolution` is zero"),
        ("scale = 0.000001", "no arrival left"),
    ] {
        let message = arm(more).unwrap_err();
        assert!(message.contains(says), "{says}: {message}");
    }
}

const NAMED: &str = r#"
title = "named"
[target]
url = "http://a:1"
[load]
replay = "named.csv"
[[operation]]
name    = "request"
targets = { file = "paths.txt" }
"#;

fn rows(text: &str) -> Vec<usize> {
    let plan = plan(text);
    let arm = &plan.arms[0];
    let mix = Mix::new(&arm.operations, &arm.journeys, 1).of_load(&arm.load);
    mix.take(6).map(|one| one.row).collect()
}

#[test]
fn arrivals_may_name_their_requests() {
    assert_eq!(rows(NAMED)[..3], [1, 0, 1]);
    // At 0 and 1.5 ms; of the copy at 0.25, 0.75 and 0.7515 s the third, the first and the second; at 1 s.
    let twice = NAMED.replace("\n[[op", "\nscale = 2\n[[op");
    assert_eq!(rows(&twice), [1, 0, 1, 1, 0, 1]);
    assert!(plan(NAMED).describe().contains("2 listed requests, as the replay names them"));
    refused(SESSIONS, "offsets.csv", "named.csv", "but a journey has `sessions`");
    let of = |file: &str| match &plan(&NAMED.replace("named.csv", file)).arms[0].load.model {
        Model::Open { arrivals: ArrivalProcess::Replay { digest, .. } } => digest.clone(),
        model => panic!("{model:?}"),
    };
    assert_ne!(of("named.csv"), of("offsets.csv"), "the plan's hash covers the requests");
}

#[test]
fn requests_that_cannot_be_are_refused() {
    for (from, to, says) in [
        ("paths.txt", "one.txt", "up to number 2, but the list of `request` has only 1"),
        ("\" }\n", "\", order = \"once\" }\n", "up to number 2, but `request` has an `order`"),
        (
            "targets = { file = \"paths.txt\" }",
            "http = { path = \"/\" }",
            "but no operation has `targets`",
        ),
        (
            "[[operation]]",
            "[[operation]]\nname = \"other\"\ntargets = { file = \"targets.txt\" }\n[[operation]]",
            "but 2 operations have `targets`",
        ),
        (
            "named.csv",
            "nameless.csv",
            "nameless.csv line 3: expected the number of a request, from 1, got \"0\"",
        ),
        ("named.csv", "lost.csv", "cannot read lost.csv"),
    ] {
        refused(NAMED, from, to, says);
    }
}
