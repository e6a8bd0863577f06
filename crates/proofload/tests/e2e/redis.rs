//! Loads on a Redis of Debian.

use record::summary::TrialSummary;

use crate::lab::brokers::Broker;
use crate::lab::{Lab, Ran, assert_accounting, assert_measured, only_trial};
use crate::peers::self_signed;

/// Two users: one that may do everything but flush, and none by default.
const USERS: [&str; 9] =
    ["--user", "default", "off", "--user", "load", "on", ">s3cret-pass", "~*", "+@all"];

fn experiment(url: &str, target: &str, operations: &str) -> String {
    format!(
        "title = \"redis\"\n[target]\nurl = \"{url}\"\n{target}\n\
         [load]\nconnections = 2\nstreams = 4\noperations = 4000\nwarm_up = \"0s\"\n\
         steady_state = \"reported\"\n{operations}"
    )
}

fn run(lab: &Lab, text: &str) -> (Ran, TrialSummary) {
    lab.write("redis.toml", text);
    let (ran, summary) = lab.run(&["redis.toml", "--samples"]);
    assert_measured(&ran, &summary);
    let trial = only_trial(&summary).clone();
    assert_accounting(&trial);
    (ran, trial)
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
fn commands_are_pipelined_and_errors_are_counted_by_name() {
    let lab = Lab::new();
    let redis = Broker::redis(&lab);
    let operations = "\
        [[operation]]\nname = \"set\"\nredis = [\"SET\", \"user:{{sequence}}\", \"{{bytes 100B}}\"]\n\
        expect = { contains = \"OK\" }\n\
        [[operation]]\nname = \"get\"\nredis = [\"GET\", \"user:{{sequence}}\"]\n\
        [[operation]]\nname = \"push\"\nredis = [\"EVAL\", \"return redis.error_reply('WRONGTYPE not this')\", 0]\n\
        [[operation]]\nname = \"time\"\nredis = { command = [\"TIME\"], db = 3 }\n";
    let text = experiment(
        &redis.url(),
        "",
        &format!("{operations}expect = {{ matches = \"^[0-9]+\\n\" }}\n"),
    );
    let (_, trial) = run(&lab, &text);
    let of =
        |name: &str| trial.operations.iter().find(|one| one.name == name).expect("it is there");
    for name in ["set", "get", "time"] {
        let one = of(name);
        assert!(one.succeeded > 0 && one.failed == 0, "{name}: {:?}", one.failures);
        assert_eq!(one.spans["first_byte"].count, one.succeeded, "{name}");
    }
    let push = of("push");
    assert_eq!(push.statuses.get("WRONGTYPE"), push.failures.get("status"), "{push:?}");
    assert_eq!(push.statuses.keys().collect::<Vec<_>>(), ["WRONGTYPE"]);
    assert!(all_text(&lab.path("run")).contains(",status,WRONGTYPE,"), "raw samples");
}

#[test]
fn a_user_logs_in_and_the_password_is_shown_nowhere() {
    let lab = Lab::new();
    let redis = Broker::redis_with(&lab, &USERS);
    let operation = "[[operation]]\nname = \"set\"\n\
        redis = { command = [\"SET\", \"a b\", \"{{sequence}}\"], user = \"load\", password = \"s3cret-pass\" }\n";
    let text = experiment(&redis.url(), "", operation);
    let (ran, trial) = run(&lab, &text);
    assert_eq!(trial.accounting.succeeded, 4000, "{:?}", trial.total.failures);
    let tried = lab.proofload(&["check", "redis.toml", "--try"]);
    let shown = format!("{}{}{}{}", tried.stdout, tried.stderr, ran.stdout, ran.stderr);
    for line in ["> HELLO 3 AUTH load …", "> SET \"a b\" 0", "< OK"] {
        assert!(shown.contains(line), "{line}: {shown}");
    }
    assert!(!shown.contains("s3cret-pass"), "{shown}");
    assert!(!all_text(&lab.path("run")).contains("s3cret-pass"));
    let wrong = text.replace("s3cret-pass", "an0ther-pass");
    lab.write("wrong.toml", &wrong);
    let tried = lab.proofload(&["check", "wrong.toml", "--try"]);
    let shown = format!("{}{}", tried.stdout, tried.stderr);
    assert!(tried.code != 0 && shown.contains("failed: status (HELLO: WRONGPASS"), "{shown}");
    assert!(!shown.contains("an0ther-pass"), "{shown}");
}

#[test]
fn a_command_without_a_reply_is_shown() {
    let lab = Lab::new();
    let redis = Broker::redis(&lab);
    let operation =
        "[[operation]]\nname = \"wait\"\nredis = [\"BLPOP\", \"nobody pushes\", \"0\"]\n";
    let text = experiment(&redis.url(), "", operation);
    lab.write("wait.toml", &text.replace("[load]", "[load]\ntimeout = \"300ms\""));
    let tried = lab.proofload(&["check", "wait.toml", "--try"]);
    let shown = format!("{}{}", tried.stdout, tried.stderr);
    for line in ["> BLPOP \"nobody pushes\" 0", "failed: timeout (no complete answer"] {
        assert!(shown.contains(line), "{line}: {shown}");
    }
}

#[test]
fn redis_is_reached_over_tls() {
    let lab = Lab::new();
    let (certificate, key) = self_signed();
    let redis = Broker::redis_over_tls(&lab, (&certificate, &key));
    let operation =
        "[[operation]]\nname = \"ping\"\nredis = [\"PING\"]\nexpect = { contains = \"PONG\" }\n";
    let (_, trial) = run(&lab, &experiment(&redis.url(), "insecure = true", operation));
    assert_eq!(trial.accounting.succeeded, 4000, "{:?}", trial.total.failures);
    assert!(trial.total.spans["tls"].count > 0);
}
