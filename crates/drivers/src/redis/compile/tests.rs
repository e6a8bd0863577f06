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
fn words_are_fixed_or_templates() {
    let operation = compiled("redis = { command = [\"SETEX\", \"user:{{sequence}}\", 60, \"x\"] }");
    let fixed = |word: &Word| match word {
        Word::Fixed(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        Word::Template(_) => "template".to_owned(),
    };
    let words: Vec<String> = operation.words.iter().map(fixed).collect();
    assert_eq!(words, ["$5\r\nSETEX\r\n", "template", "$2\r\n60\r\n", "$1\r\nx\r\n"]);
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
