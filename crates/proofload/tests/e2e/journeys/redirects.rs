//! nginx that redirects, over HTTP/1.1 and HTTP/2: how methods change, loops, and redirects that leave the origin.

use super::{assert_counted, failures, step, visit};
use crate::lab::nginx::nginx_listening;
use crate::lab::server::NOBODY;
use crate::lab::{Lab, only_trial};

const JOURNEYS: u64 = 20;

/// How the requests are sent.
struct Protocol {
    /// The key of an operation.
    key: &'static str,
    /// The option with which nginx listens.
    listen: &'static str,
}

const HTTP1: Protocol = Protocol { key: "http", listen: "" };
const HTTP2: Protocol = Protocol { key: "http2", listen: "http2" };

/// `/to/STATUS` leads to a page that shows the method and the length of the body that arrive there.
fn server() -> String {
    let to = [301, 302, 303, 307, 308]
        .map(|status| format!("location = /to/{status} {{ return {status} /shown; }}\n"));
    format!(
        "keepalive_requests 1000000; default_type text/plain;
         {}
         location = /absolute {{ return 302 $scheme://$http_host/shown; }}
         location = /twice {{ return 301 /to/308; }}
         location = /loop {{ return 302 /loop; }}
         location = /closing {{ keepalive_timeout 0; return 302 /shown; }}
         location = /elsewhere {{ return 302 http://{NOBODY}/; }}
         location = /secure {{ return 301 https://$http_host/shown; }}
         location = /shown {{ return 200 \"$request_method,$content_length,$http_authorization,\"; }}",
        to.join("")
    )
}

/// An operation with this request.
fn operation(protocol: &Protocol, name: &str, request: &str, expected: &str) -> String {
    let key = protocol.key;
    format!(
        "[[operation]]\nname = \"{name}\"\n{key} = {{ {request} }}\nexpect = {{ status = 200, contains = \"{expected}\" }}\n"
    )
}

fn experiment(operations: &str, journeys: &str) -> String {
    format!(
        "[target]\nurl = \"http://127.0.0.1:1\"\n[load]\noperations = {JOURNEYS}\nconnections = 2\n\
         warm_up = \"0s\"\n{operations}{journeys}"
    )
}

#[test]
fn nginx_redirects_within_its_origin_as_for_a_browser() {
    redirected(&HTTP1);
}

#[test]
fn nginx_redirects_over_http2_within_its_origin_as_for_a_browser() {
    redirected(&HTTP2);
}

fn redirected(protocol: &Protocol) {
    let lab = Lab::new();
    let (_nginx, port) = nginx_listening(&lab, "redirects", &server(), protocol.listen);
    let mut operations = Vec::new();
    for (status, as_post) in [(301, false), (302, false), (303, false), (307, true), (308, true)] {
        let get = format!("path = \"/to/{status}\", auth = {{ bearer = \"abc\" }}, follow = 1");
        operations.push((format!("get{status}"), get, "GET,,Bearer abc,"));
        let form = format!("path = \"/to/{status}\", form = {{ a = \"bcd\" }}, follow = 1");
        let shown = if as_post { "POST,5,," } else { "GET,,," };
        operations.push((format!("post{status}"), form, shown));
    }
    let more = [
        ("absolute", "path = \"/absolute\", follow = 1"),
        ("closing", "path = \"/closing\", follow = 1"),
        ("twice", "path = \"/twice\", follow = 2"),
    ];
    operations.extend(more.map(|(name, request)| (name.to_owned(), request.to_owned(), "GET,,,")));
    let texts =
        operations.iter().map(|(name, request, shown)| operation(protocol, name, request, shown));
    let names: Vec<&str> = operations.iter().map(|(name, ..)| name.as_str()).collect();
    let journey = format!("[[journey]]\nname = \"redirected\"\nsteps = {names:?}\n");
    let file = experiment(&texts.collect::<String>(), &journey);
    let (ran, summary) = visit(&lab, &format!("http://127.0.0.1:{port}"), &file);
    let trial = only_trial(&summary);
    assert_eq!(trial.accounting.failed, 0, "{}", failures(trial));
    assert_counted(&ran);
    assert_eq!(trial.accounting.succeeded, names.len() as u64 * JOURNEYS);
    assert_eq!(trial.total.spans["connect"].count, JOURNEYS, "before operations begin");
    assert_eq!(trial.total.spans["redirects"].count, names.len() as u64 * JOURNEYS);
}

#[test]
fn nginx_redirects_to_another_target_and_names_addresses_there() {
    led(&HTTP1);
}

#[test]
fn nginx_redirects_over_http2_to_another_target_and_names_addresses_there() {
    led(&HTTP2);
}

fn led(protocol: &Protocol) {
    let lab = Lab::new();
    let (_other, other) = nginx_listening(&lab, "other", &server(), protocol.listen);
    let there = format!("http://localhost:{other}");
    let here = format!(
        "keepalive_requests 1000000; default_type application/json;
         location = /away {{ return 307 {there}/shown; }}
         location = /back {{ return 302 {there}/to/301; }}
         location = /next {{ return 200 '{{\"next\": \"{there}/shown?a=b\"}}'; }}"
    );
    let (_nginx, port) = nginx_listening(&lab, "here", &here, protocol.listen);
    let auth = "auth = { bearer = \"abc\" }";
    let followed = format!("path = \"/away\", follow = 1, {auth}");
    let form = format!("path = \"/away\", form = {{ a = 1 }}, follow = 1, {auth}");
    let back = format!("path = \"/back\", follow = 2, {auth}");
    let given = format!("url = \"{{{{next.next}}}}\", {auth}");
    let fixed = format!("url = \"{there}/shown\"");
    let operations = [
        operation(protocol, "away", &followed, "GET,,,"),
        operation(protocol, "form", &form, "POST,3,,"),
        operation(protocol, "back", &back, "GET,,,"),
        operation(protocol, "next", "path = \"/next\"", "next"),
        "capture = { next = \"$.next\" }\n".to_owned(),
        operation(protocol, "given", &given, "GET,,Bearer abc,"),
        operation(protocol, "fixed", &fixed, "GET,,,"),
    ];
    for connections in ["own", "pool"] {
        let journey = format!(
            "[[journey]]\nname = \"both\"\nconnections = \"{connections}\"\n\
             steps = [\"away\", \"form\", \"back\", \"next\", \"given\", \"fixed\"]\n"
        );
        let file = experiment(&operations.concat(), &journey);
        let file = file.replace("[load]", &format!("also = [\"{there}\"]\n[load]"));
        let (_, summary) = visit(&lab, &format!("http://127.0.0.1:{port}"), &file);
        let trial = only_trial(&summary);
        assert_eq!(trial.accounting.failed, 0, "{connections}: {}", failures(trial));
        assert_eq!(trial.accounting.succeeded, 6 * JOURNEYS);
        assert_eq!(trial.total.spans["redirects"].count, 3 * JOURNEYS);
        std::fs::remove_dir_all(lab.path("run")).expect("the run can go");
    }
}

#[test]
fn redirects_that_lead_nowhere_end_their_journeys() {
    lost(&HTTP1);
}

#[test]
fn redirects_that_lead_nowhere_over_http2_end_their_journeys() {
    lost(&HTTP2);
}

fn lost(protocol: &Protocol) {
    let lab = Lab::new();
    let (_nginx, port) = nginx_listening(&lab, "nowhere", &server(), protocol.listen);
    let wrong = [
        ("loop", "more than 10 redirects; the next leads to "),
        ("elsewhere", "is no target of this run"),
        ("secure", "is no target of this run"),
    ];
    for (name, why) in wrong {
        let operations = operation(protocol, "shown", "path = \"/shown\"", "GET")
            + &operation(protocol, name, &format!("path = \"/{name}\", follow = 10"), "GET")
            + &operation(protocol, "last", "path = \"/shown\"", "GET");
        let journey =
            format!("[[journey]]\nname = \"lost\"\nsteps = [\"shown\", \"{name}\", \"last\"]\n");
        let (_, summary) =
            visit(&lab, &format!("http://127.0.0.1:{port}"), &experiment(&operations, &journey));
        let trial = only_trial(&summary);
        let journey = super::only_journey(trial);
        assert_eq!(journey.whole.failed, JOURNEYS, "{name}");
        assert_eq!(step(journey, "shown").succeeded, JOURNEYS, "{name}");
        assert_eq!(step(journey, name).ended, JOURNEYS, "{name}");
        assert_eq!(step(journey, "last").reached, 0, "{name}");
        let kinds: Vec<(&str, u64)> =
            trial.total.failures.iter().map(|(kind, count)| (kind.as_str(), *count)).collect();
        assert_eq!(kinds, [("redirect", JOURNEYS)], "{name}");
        assert!(failures(trial).contains(why), "{name}: {}", failures(trial));
        std::fs::remove_dir_all(lab.path("run")).expect("the run can go");
    }
}
