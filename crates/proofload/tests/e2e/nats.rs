//! Loads on a nats-server of Debian, with answers from the Python client of the NATS project.

use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStdout, Command, Stdio};

use record::summary::{Operation, TrialSummary};
use serde_json::Value;

use crate::lab::brokers::Broker;
use crate::lab::{Lab, Ran, assert_accounting, assert_measured, only_trial, repository};
use crate::peers::self_signed;

/// Two users: one that may do everything, and one that may publish to `open` alone.
const USERS: &str = "authorization { users = [
  { user: load, password: s3cret-pass }
  { user: few, password: s3cret-pass, permissions: { publish: open, subscribe: \"_INBOX.>\" } }
] }\n";

/// A client that answers, counts and keeps streams.
struct Peer {
    child: Child,
    lines: BufReader<ChildStdout>,
}

impl Peer {
    fn start(nats: &Broker) -> Self {
        let interpreter = repository(".venv/bin/python");
        assert!(interpreter.exists(), "run scripts/prerequisites, which makes .venv");
        let program = repository("crates/proofload/tests/e2e/nats/peer.py");
        let child = Command::new(interpreter)
            .arg(program)
            .arg(nats.url())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn();
        let mut child = child.expect("python");
        let lines = BufReader::new(child.stdout.take().expect("its output"));
        let mut peer = Self { child, lines };
        assert_eq!(peer.line(), "ready\n");
        peer
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.lines.read_line(&mut line).expect("a line");
        line
    }

    /// Ends it; what it has seen.
    fn seen(mut self) -> Value {
        drop(self.child.stdin.take());
        let seen = self.line();
        serde_json::from_str(&seen).unwrap_or_else(|_| panic!("{seen:?} is what it has seen"))
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn experiment(url: &str, target: &str, operations: &str) -> String {
    format!(
        "title = \"nats\"\n[target]\nurl = \"{url}\"\n{target}\n\
         [load]\nconnections = 2\nstreams = 4\noperations = 4000\nwarm_up = \"0s\"\n\
         steady_state = \"reported\"\n{operations}"
    )
}

fn operation(name: &str, table: &str) -> String {
    format!("[[operation]]\nname = \"{name}\"\nnats = {{ {table} }}\n")
}

fn run(lab: &Lab, text: &str) -> (Ran, TrialSummary) {
    lab.write("nats.toml", text);
    let (ran, summary) = lab.run(&["nats.toml", "--samples"]);
    assert_measured(&ran, &summary);
    let trial = only_trial(&summary).clone();
    assert_accounting(&trial);
    (ran, trial)
}

fn of<'t>(trial: &'t TrialSummary, name: &str) -> &'t Operation {
    trial.operations.iter().find(|one| one.name == name).expect("it is there")
}

/// All of its operations failed with this status.
#[track_caller]
fn assert_refused(one: &Operation, status: &str) {
    assert_eq!(one.statuses.keys().collect::<Vec<_>>(), [status], "{one:?}");
    assert_eq!(one.statuses.get(status), one.failures.get("status"), "{one:?}");
    assert_eq!(one.succeeded, 0, "{one:?}");
}

/// Every file of the folder as text.
fn all_text(folder: &std::path::Path) -> String {
    let mut text = String::new();
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            text.push_str(&all_text(&path));
        } else if let Ok(bytes) = std::fs::read(&path) {
            text.push_str(&String::from_utf8_lossy(&bytes));
        }
    }
    text
}

#[test]
fn messages_are_published_answered_and_stored_and_refusals_are_counted_by_name() {
    let lab = Lab::new();
    let nats = Broker::nats(&lab);
    let peer = Peer::start(&nats);
    let operations = [
        operation(
            "publish",
            "publish = \"counted.{{sequence}}\", payload = \"{{bytes 100B}}\", header = { a = \"b\" }",
        ),
        operation("request", "request = \"time.now\", payload = \"four\"")
            + "expect = { json = { \"$.ok\" = true } }\nitems = { length = \"$.length\" }\n",
        operation("store", "jetstream = \"orders.new\", payload = \"{{sequence}}\"")
            + "expect = { json = { \"$.stream\" = \"ORDERS\" } }\n",
        operation("nobody", "request = \"nobody.there\""),
        operation("no_stream", "jetstream = \"no.stream\""),
        operation("refused", "request = \"refuse.it\""),
    ];
    let (_, trial) = run(&lab, &experiment(&nats.url(), "", &operations.concat()));
    let seen = peer.seen();
    for name in ["publish", "request", "store"] {
        let one = of(&trial, name);
        assert!(one.succeeded > 0 && one.failed == 0, "{name}: {:?}", one.failures);
    }
    let published = of(&trial, "publish");
    assert_eq!(seen["published"], published.succeeded, "{seen}");
    assert_eq!(seen["bytes"], 100 * published.succeeded, "{seen}");
    assert_eq!(seen["headers"], published.succeeded, "{seen}");
    assert!(!published.spans.contains_key("first_byte"), "a publication has no reply");
    let request = of(&trial, "request");
    assert_eq!(request.spans["first_byte"].count, request.succeeded);
    assert_eq!(request.items["length"].sum, 4.0 * request.succeeded as f64);
    assert_eq!(seen["stored"], of(&trial, "store").succeeded, "{seen}");
    assert_refused(of(&trial, "nobody"), "no_responders");
    assert_refused(of(&trial, "no_stream"), "no_responders");
    assert_refused(of(&trial, "refused"), "429");
    assert!(all_text(&lab.path("run")).contains(",status,no_responders,"), "raw samples");
}

#[test]
fn copies_arrive_each() {
    let lab = Lab::new();
    let nats = Broker::nats(&lab);
    let peer = Peer::start(&nats);
    let publish = "publish = \"counted.copy\", payload = \"{{bytes 100B}}\", header = { a = \"b\" }, copies = 10";
    let (_, trial) = run(&lab, &experiment(&nats.url(), "", &operation("publish", publish)));
    assert_eq!((trial.accounting.succeeded, &peer.seen()["published"]), (4000, &40_000.into()));
}

#[test]
fn a_full_stream_refuses_with_the_error_of_jetstream() {
    let lab = Lab::new();
    let nats = Broker::nats(&lab);
    let _peer = Peer::start(&nats);
    let (_, trial) =
        run(&lab, &experiment(&nats.url(), "", &operation("store", "jetstream = \"full\"")));
    let one = of(&trial, "store");
    assert_eq!((one.succeeded, one.statuses.get("JS10077")), (1, Some(&3999)), "{one:?}");
}

#[test]
fn a_user_logs_in_and_may_not_do_everything() {
    let lab = Lab::new();
    let users = lab.write("users.conf", USERS).display().to_string();
    let nats = Broker::nats_with(&lab, &["-c", &users]);
    let as_few = "user = \"few\", password = \"s3cret-pass\"";
    let operations = [
        operation("open", &format!("publish = \"open\", {as_few}")),
        operation("closed", &format!("publish = \"closed\", copies = 10, {as_few}")),
        operation("ask", &format!("request = \"closed.too\", {as_few}")),
    ];
    let (ran, trial) = run(&lab, &experiment(&nats.url(), "", &operations.concat()));
    let open = of(&trial, "open");
    assert!(open.succeeded > 0 && open.failed == 0, "{:?}", open.failures);
    for name in ["closed", "ask"] {
        assert_refused(of(&trial, name), "permissions");
    }
    // Refusals close no connection.
    assert_eq!(trial.total.spans["connect"].count, 2);
    let tried = lab.proofload(&["check", "nats.toml", "--try"]);
    let shown = format!("{}{}{}{}", tried.stdout, tried.stderr, ran.stdout, ran.stderr);
    assert!(shown.contains("\"user\":\"few\",\"pass\":\"…\""), "{shown}");
    assert!(!shown.contains("s3cret-pass"), "{shown}");
    assert!(!all_text(&lab.path("run")).contains("s3cret-pass"));
}

#[test]
fn a_token_opens_the_server_and_is_shown_nowhere() {
    let lab = Lab::new();
    let nats = Broker::nats_with(&lab, &["--auth", "s3cret-token"]);
    let text = experiment(
        &nats.url(),
        "",
        &operation("open", "publish = \"a\", token = \"s3cret-token\""),
    );
    let (ran, trial) = run(&lab, &text);
    assert_eq!(trial.accounting.succeeded, 4000, "{:?}", trial.total.failures);
    let tried = lab.proofload(&["check", "nats.toml", "--try"]);
    let shown = format!("{}{}{}{}", tried.stdout, tried.stderr, ran.stdout, ran.stderr);
    assert!(shown.contains("PUB a 0"), "{shown}");
    assert!(!shown.contains("s3cret-token"), "{shown}");
    assert!(!all_text(&lab.path("run")).contains("s3cret-token"));
    lab.write("wrong.toml", &text.replace("s3cret-token", "an0ther-token"));
    let tried = lab.proofload(&["check", "wrong.toml", "--try"]);
    let shown = format!("{}{}", tried.stdout, tried.stderr);
    assert!(tried.code != 0 && shown.contains("failed: status (Authorization"), "{shown}");
    assert!(!shown.contains("an0ther-token"), "{shown}");
}

#[test]
fn nats_is_reached_over_tls() {
    let lab = Lab::new();
    let (certificate, key) = self_signed();
    let (certificate, key) = (lab.write("nats.pem", &certificate), lab.write("nats.key", &key));
    let (certificate, key) = (certificate.display().to_string(), key.display().to_string());
    let nats = Broker::nats_with(&lab, &["--tls", "--tlscert", &certificate, "--tlskey", &key]);
    for tls in ["if_offered", "always"] {
        let operation = operation("publish", &format!("publish = \"a\", tls = \"{tls}\""));
        let (_, trial) = run(&lab, &experiment(&nats.url(), "insecure = true", &operation));
        assert_eq!(trial.accounting.succeeded, 4000, "{:?}", trial.total.failures);
        assert!(trial.total.spans["tls"].count > 0);
        std::fs::remove_dir_all(lab.path("run")).expect("the run");
    }
    let plain = Broker::nats_with(&lab, &[]);
    let insists = operation("publish", "publish = \"a\", token = \"s3cret\", tls = \"always\"");
    lab.write("plain.toml", &experiment(&plain.url(), "", &insists));
    let tried = lab.proofload(&["check", "plain.toml", "--try"]);
    let shown = format!("{}{}", tried.stdout, tried.stderr);
    assert!(shown.contains("the server does not offer TLS"), "{shown}");
}

#[test]
fn a_payload_longer_than_the_server_takes_is_refused() {
    let lab = Lab::new();
    let limit = lab.write("limit.conf", "max_payload: 1000\n").display().to_string();
    let nats = Broker::nats_with(&lab, &["-c", &limit]);
    let operations = [
        operation("long", "publish = \"a\", payload = \"{{bytes 1001B}}\""),
        operation("short", "publish = \"a\", payload = \"{{bytes 1000B}}\""),
    ];
    let (_, trial) = run(&lab, &experiment(&nats.url(), "", &operations.concat()));
    assert_refused(of(&trial, "long"), "max_payload");
    assert_eq!(of(&trial, "short").failed, 0);
}

#[test]
fn a_server_that_is_killed_costs_operations_until_it_is_back() {
    let lab = Lab::new();
    lab.write(
        "killed.toml",
        "title = \"killed\"\n\
         [[service]]\nname = \"nats\"\ncommand = \"nats-server -a 127.0.0.1 -p {port}\"\nready = \"tcp\"\n\
         [[fault]]\nprocess = \"nats\"\nat = \"1s\"\naction = \"kill\"\nfor = \"1s\"\n\
         [target]\nurl = \"nats://{nats}\"\n\
         [load]\nrate = \"500/s\"\nconnections = 2\nstreams = 4\nwarm_up = \"0s\"\nduration = \"4s\"\n\
         steady_state = \"reported\"\n\
         [[operation]]\nname = \"publish\"\nnats = { publish = \"a\" }\n",
    );
    let (_, summary) = lab.run(&["killed.toml"]);
    let trial = only_trial(&summary);
    assert_accounting(trial);
    let accounting = &trial.accounting;
    assert!(accounting.failed > 0 && accounting.succeeded > 500, "{accounting:?}");
    let known = ["closed", "refused", "reset", "connect_timeout", "greeting_timeout", "timeout"];
    let failures = &trial.total.failures;
    assert!(failures.keys().all(|kind| known.contains(&kind.as_str())), "{failures:?}");
}
