use plan::diagnostic::{Colour, render};
use plan::operation::Operation as Planned;

use super::*;

fn planned(text: &str) -> Planned {
    crate::planned::planned("redis", text)
}

fn compiled(text: &str) -> Operation {
    operation(&planned(text)).unwrap_or_else(|problems| panic!("{text}: {problems:?}"))
}

#[track_caller]
fn check(text: &str, message: &str) {
    let problems = operation(&planned(text)).expect_err("it is wrong");
    let seen = render("test.toml", text, &problems, Colour::Off);
    assert!(seen.contains(message), "{text}: {seen}");
}

#[test]
fn a_command_is_made_of_fixed_bytes_and_words_that_are_rendered() {
    let operation = compiled("redis = { command = [\"SETEX\", \"user:{{sequence}}\", 60, \"x\"] }");
    let shown = |piece: &Piece| match piece {
        Piece::Fixed(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        Piece::Word(_) => "rendered".to_owned(),
    };
    let pieces: Vec<String> = operation.command.iter().map(shown).collect();
    let expected = ["*4\r\n$5\r\nSETEX\r\n", "rendered", "$2\r\n60\r\n$1\r\nx\r\n"];
    assert_eq!(pieces, expected);
    assert_eq!(*operation.session, Session::default());
}

#[test]
fn credentials_belong_to_the_connection_and_are_not_shown() {
    let table = "redis = { command = [\"PING\"], user = \"load\", password = \"s3cret\", db = 2 }";
    let session = compiled(table).session;
    let auth = Auth { user: Some("load".into()), password: "s3cret".into() };
    assert_eq!(*session, Session { auth: Some(auth), db: 2 });
    assert_eq!(format!("{session:?}"), "Session { auth: true, db: 2 }");
}

#[test]
fn every_problem_points_at_its_place() {
    check("redis = {}", "missing key `command`");
    check("redis = { command = \"PING\" }", "expected a list, got \"PING\"");
    check("redis = { command = [] }", "a list of words such as");
    check("redis = { command = [[1]] }", "expected text, a number or true or false");
    check("redis = { command = [\"GET\", \"{{nonsense}}\"] }", "nonsense");
    check("redis = { command = [\"subscribe\", \"x\"] }", "`subscribe` cannot be an operation");
    check("redis = { command = [\"client\", \"reply\", \"off\"] }", "cannot be an operation");
    check("redis = { command = [\"PING\"], user = \"load\" }", "`user` needs a `password`");
    check(
        "redis = { command = [\"PING\"], password = \"{{sequence}}\" }",
        "differs from operation",
    );
    check("redis = { command = [\"PING\"], db = -1 }", "`db` must be 0 or more (got -1)");
    check("redis = { command = [\"PING\"], database = 1 }", "unknown key `database`");
    check("redis = { command = [\"PING\"] }\nexpect = { status = 200 }", "unknown key `status`");
}
