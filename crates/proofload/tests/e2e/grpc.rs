//! Calls to a server that is not ours: Python's grpcio.

use std::fs;

use record::summary::{Operation, TrialSummary};

use crate::journeys::application::{Application, python};
use crate::lab::{Lab, Ran, assert_accounting, assert_measured, only_trial, repository};
use crate::peers::self_signed;

const APPLICATIONS: &str = "crates/proofload/tests/e2e/journeys/applications";

/// Puts the server's .proto files into the lab and starts it.
fn cart(lab: &Lab, arguments: &[&str]) -> Application {
    fs::create_dir_all(lab.path("common")).expect("a folder");
    for file in ["cart.proto", "common/item.proto"] {
        let text = fs::read_to_string(repository(APPLICATIONS).join(file)).expect("a file");
        lab.write(file, &text);
    }
    let program = repository(APPLICATIONS).join("cart.py").display().to_string();
    Application::start(python(lab, &[&[program.as_str()], arguments].concat()))
}

fn experiment(url: &str, target: &str, operations: &str) -> String {
    format!(
        "title = \"gRPC\"\n[target]\nurl = \"{url}\"\n{target}\n\
         [load]\nconnections = 2\nstreams = 4\noperations = 800\nwarm_up = \"0s\"\n\
         steady_state = \"reported\"\n{operations}"
    )
}

fn operation(name: &str, table: &str, rest: &str) -> String {
    format!(
        "[[operation]]\nname = \"{name}\"\ngrpc = {{ {table}, proto = \"cart.proto\" }}\n{rest}\n"
    )
}

fn run(lab: &Lab, text: &str) -> (Ran, TrialSummary) {
    lab.write("grpc.toml", text);
    let (ran, summary) = lab.run(&["grpc.toml"]);
    assert_measured(&ran, &summary);
    let trial = only_trial(&summary).clone();
    assert_accounting(&trial);
    (ran, trial)
}

fn of<'a>(trial: &'a TrialSummary, name: &str) -> &'a Operation {
    trial.operations.iter().find(|one| one.name == name).expect("it is there")
}

#[test]
fn all_kinds_of_call_are_made_and_statuses_are_counted_by_name() {
    let lab = Lab::new();
    let application = cart(&lab, &[]);
    let operations = [
        operation(
            "add",
            "method = \"shop.Cart/Add\", message = { id = \"{{sequence}}\", count = 21, size = \"LARGE\", tags = [\"a\"] }, \
             metadata = { x-user = \"{{sequence}}\" }, deadline = \"20s\"",
            "expect = { json = { \"$.id\" = \"{{sequence}}\", \"$.size\" = \"LARGE\", \"$.seen['x-user']\" = \"{{sequence}}\" }, \
             contains = \"tags\" }\nitems = { count = \"$.count\" }",
        ),
        operation(
            "list",
            "method = \"shop.Cart/List\", message = { id = \"x\", count = 5 }, stream = true",
            "expect = { events = 5 }\nitems = { last = \"$.count\", with = { events = \"$.id\" } }",
        ),
        operation(
            "put",
            "method = \"shop.Cart/Put\", messages = [{ count = 1 }, { count = 2 }, { count = 39 }]",
            "items = { sum = \"$.count\" }",
        ),
        operation(
            "talk",
            "method = \"shop.Cart/Talk\", messages = [{ id = \"a\" }, { id = \"{{sequence}}\" }], stream = true",
            "expect = { events = 2, contains = \"\\\"id\\\":\\\"{{sequence}}\\\"\" }",
        ),
        operation("absent", "method = \"shop.Cart/Add\", message = { id = \"absent\" }", ""),
        operation(
            "expected",
            "method = \"shop.Cart/Add\", message = { id = \"absent\" }",
            "expect = { status = \"NOT_FOUND\" }",
        ),
    ]
    .concat();
    let (_, trial) = run(&lab, &experiment(&application.url, "", &operations));
    for name in ["add", "list", "put", "talk", "expected"] {
        let one = of(&trial, name);
        assert!(one.succeeded > 0 && one.failed == 0, "{name}: {:?}", one.failures);
        let status = if name == "expected" { "NOT_FOUND" } else { "OK" };
        assert_eq!(one.statuses.get(status), Some(&one.succeeded), "{name}");
        assert_eq!(one.spans["first_byte"].count, one.succeeded, "{name}");
    }
    let sum = |name: &str, item: &str, each: u64| {
        let one = of(&trial, name);
        assert_eq!(one.items[item].sum, (one.succeeded * each) as f64, "{name} {item}");
    };
    sum("add", "count", 42);
    sum("list", "events", 5);
    sum("list", "last", 5);
    sum("list", "with", 5);
    sum("put", "sum", 42);
    sum("talk", "events", 2);
    let list = of(&trial, "list");
    assert_eq!(list.spans["gap"].count, list.succeeded * 4);
    assert!(list.spans["first_event"].mean_ns <= list.spans["last_event"].mean_ns);
    let absent = of(&trial, "absent");
    assert_eq!(absent.statuses.keys().map(String::as_str).collect::<Vec<_>>(), ["NOT_FOUND"]);
    assert_eq!(absent.failures.get("status"), Some(&absent.failed));
}

#[test]
fn a_deadline_is_the_servers_to_keep() {
    let lab = Lab::new();
    let application = cart(&lab, &[]);
    let slow = operation(
        "slow",
        "method = \"shop.Cart/Add\", message = { id = \"slow\" }, deadline = \"50ms\"",
        "",
    );
    let text =
        experiment(&application.url, "", &slow).replace("operations = 800", "operations = 40");
    lab.write("grpc.toml", &text);
    let (_, summary) = lab.run(&["grpc.toml"]);
    let trial = only_trial(&summary);
    assert_accounting(trial);
    let slow = of(trial, "slow");
    assert_eq!(slow.statuses.get("DEADLINE_EXCEEDED"), Some(&slow.failed), "{:?}", slow.failures);
    assert_eq!((slow.succeeded, slow.failed), (0, 40));
}

#[test]
fn calls_are_tried_and_shown_as_json_over_tls() {
    let lab = Lab::new();
    let (certificate, key) = self_signed();
    let certificate = lab.write("certificate.pem", &certificate).display().to_string();
    let key = lab.write("key.pem", &key).display().to_string();
    let application = cart(&lab, &[&certificate, &key]);
    let url = application.url.replace("http://127.0.0.1", "https://localhost");
    let port = url.rsplit(':').next().expect("a port");
    let target = format!("cacert = \"{certificate}\"\nconnect_to = \"127.0.0.1:{port}\"");
    let add =
        operation("add", "method = \"shop.Cart/Add\", message = { id = \"größe\", count = 2 }", "");
    let (_, trial) = run(&lab, &experiment(&url, &target, &add));
    assert_eq!(trial.accounting.succeeded, 800, "{:?}", trial.total.failures);
    assert!(trial.total.spans["tls"].count > 0);
    let tried = lab.proofload(&["check", "grpc.toml", "--try"]);
    assert_eq!(tried.code, 0, "{tried:?}");
    for shown in [
        "shop.Cart/Add",
        "{\"id\":\"größe\",\"count\":2,",
        "\"count\":4,",
        "x-added",
        "status is OK",
    ] {
        assert!(tried.stdout.contains(shown), "{shown} in {}", tried.stdout);
    }
}

#[test]
fn a_server_with_reflection_describes_itself() {
    let lab = Lab::new();
    let application = cart(&lab, &[]);
    let ran = lab.command(&["reflect", &application.url]).output().expect("it runs");
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    fs::write(lab.path("shop.pb"), &ran.stdout).expect("a file");
    let add =
        operation("add", "method = \"shop.Cart/Add\", message = { id = \"a\", count = 2 }", "")
            .replace("proto = \"cart.proto\"", "protoset = \"shop.pb\"");
    let (_, trial) = run(&lab, &experiment(&application.url, "", &add));
    assert_eq!(trial.accounting.succeeded, 800, "{:?}", trial.total.failures);
}

#[test]
fn a_file_that_cannot_be_read_is_reported_once() {
    let lab = Lab::new();
    let add = operation("add", "method = \"shop.Cart/Add\"", "");
    lab.write("grpc.toml", &experiment("http://127.0.0.1:1", "", &add));
    let checked = lab.proofload(&["check", "grpc.toml"]);
    assert_eq!(checked.code, 2, "{checked:?}");
    assert!(checked.stderr.contains("cannot read cart.proto"), "{}", checked.stderr);
    assert_eq!(checked.stderr.matches("error: ").count(), 1, "{}", checked.stderr);
}
