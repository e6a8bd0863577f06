use plan::diagnostic::{Colour, render};
use plan::operation::Operation as Planned;

use super::*;
use crate::nats::session::{Auth, Session, UseTls};

fn planned(text: &str) -> Planned {
    crate::planned::planned("nats", text)
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
fn an_operation_publishes_requests_or_publishes_to_jetstream() {
    let publish = compiled(
        "nats = { publish = \"a.{{sequence}}\", payload = 5, header = { a = [\"b\", 1] } }",
    );
    assert_eq!(publish.action, Action::Publish);
    assert_eq!(publish.subject.literal(), None);
    assert_eq!(publish.payload.literal(), Some("5"));
    let headers: Vec<_> =
        publish.headers.iter().map(|(name, value)| (name.as_str(), value.literal())).collect();
    assert_eq!(headers, [("a", Some("b")), ("a", Some("1"))]);
    assert_eq!((publish.copies, publish.session.as_ref()), (1, &Session::default()));
    let request = compiled("nats = { request = \"time\" }\nexpect = { contains = \"x\" }");
    assert_eq!((request.action, request.payload.literal()), (Action::Request, Some("")));
    assert_eq!(request.rules.len(), 1);
    assert_eq!(compiled("nats = { jetstream = \"a\" }").action, Action::JetStream);
}

#[test]
fn credentials_belong_to_the_connection_and_are_not_shown() {
    let user =
        "nats = { publish = \"a\", user = \"load\", password = \"s3cret\", tls = \"always\" }";
    let session = compiled(user).session;
    let auth = Auth::User { user: "load".into(), password: "s3cret".into() };
    assert_eq!(*session, Session { tls: UseTls::Always, auth });
    assert_eq!(format!("{session:?}"), "Session { tls: Always, auth: true }");
    let session =
        compiled("nats = { publish = \"a\", token = \"s3cret\", tls = \"never\" }").session;
    assert_eq!(*session, Session { tls: UseTls::Never, auth: Auth::Token("s3cret".into()) });
    assert!(!format!("{session:?}").contains("s3cret"));
}

#[test]
fn every_problem_points_at_its_place() {
    let with = |more: &str| format!("nats = {{ publish = \"a\", {more} }}");
    check("nats = {}", "none of `publish`, `request` and `jetstream` is given");
    check(&with("request = \"b\""), "`request` is the second");
    check(&with("copies = 0"), "a whole number from 1 to 100000");
    check("nats = { request = \"a\", copies = 2 }", "`copies` needs `publish`");
    for subject in ["", "a b", "a.", "a.*", ">"] {
        check(&format!("nats = {{ publish = \"{subject}\" }}"), "is not a subject");
    }
    check("nats = { publish = 5 }", "expected text, got 5");
    check("nats = { publish = \"{{nonsense}}\" }", "nonsense");
    check(&with("payload = [1]"), "expected text, a number or true or false");
    check(&with("header = { \"a b\" = \"c\" }"), "\"a b\" is not the name of a header");
    check(&with("header = { \"a:\" = \"c\" }"), "is not the name of a header");
    check(&with("header = { a = \"b\\nc: d\" }"), "the value of header a has a line end");
    let long = "a".repeat(5_000);
    check(&format!("nats = {{ publish = \"{long}\" }}"), "a subject of 5000 bytes");
    check(&with("user = \"load\""), "`user` needs a `password`");
    check(&with("password = \"load\""), "`password` needs a `user`");
    check(&with("token = \"t\", user = \"load\""), "`token` stands alone");
    check(&with("token = \"{{sequence}}\""), "differs from operation to operation");
    check(&with("tls = true"), "\"never\", \"if_offered\" or \"always\"");
    check(&with("acknowledged = true"), "unknown key `acknowledged`");
    check("nats = { publish = \"a\" }\nexpect = { contains = \"x\" }", "`publish` has none");
    check("nats = { publish = \"a\" }\nitems = { n = \"$.n\" }", "`publish` has none");
    check("nats = { request = \"a\" }\nexpect = { status = 200 }", "unknown key `status`");
}
