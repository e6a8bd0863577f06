//! Mail to third-party servers: Postfix and its sink.

use record::summary::TrialSummary;
use sha2::{Digest, Sha256};

use crate::lab::nginx::nginx;
use crate::lab::postfix::{Postfix, sink};
use crate::lab::{Lab, Ran, assert_accounting, assert_measured, only_trial};
use crate::peers::self_signed;

/// A closed loop over four connections with messages of this table.
fn experiment(port: u16, load: &str, table: &str) -> String {
    format!(
        "title = \"mail\"\n\
         [target]\nurl = \"smtp://127.0.0.1:{port}\"\ninsecure = true\n\
         [load]\nconnections = 4\nwarm_up = \"0s\"\nsteady_state = \"reported\"\n{load}\n\
         [[operation]]\nname = \"message\"\n\
         smtp = {{ to = [\"one@mail.example\", \"two@mail.example\"], {table} }}\n\
         items = {{ taken = \"recipients.accepted\", bytes = \"size\" }}\n"
    )
}

fn run(lab: &Lab, text: &str) -> (Ran, TrialSummary) {
    lab.write("mail.toml", text);
    let (ran, summary) = lab.run(&["mail.toml"]);
    assert_measured(&ran, &summary);
    let trial = only_trial(&summary).clone();
    assert_accounting(&trial);
    (ran, trial)
}

#[track_caller]
fn assert_all_accepted(trial: &TrialSummary, messages: u64) {
    assert_eq!(trial.accounting.succeeded, messages, "{:?}", trial.total.failures);
    assert_eq!(trial.total.statuses["250"], messages);
    for span in ["mail", "rcpt", "content", "accepted"] {
        assert_eq!(trial.total.spans[span].count, messages, "{span}");
    }
}

/// Nonces of the messages in the sink's folder; each body must match the digest in its header.
fn kept(lab: &Lab) -> Vec<String> {
    let files = std::fs::read_dir(lab.path("kept")).expect("the sink's folder");
    let nonce = |file: std::io::Result<std::fs::DirEntry>| {
        let text = std::fs::read_to_string(file.expect("a file").path()).expect("a message");
        let (header, body) = text.split_once("\n\n").expect("header and body");
        let field = |name: &str| {
            let mut lines = header.lines().filter_map(|line| line.strip_prefix(name));
            lines.next().unwrap_or_else(|| panic!("no {name} in {header}")).to_owned()
        };
        // The sink writes line ends as in files.
        let body = body.strip_suffix("\n\n").map_or(body.to_owned(), |body| format!("{body}\n"));
        let digest = Sha256::digest(body.replace('\n', "\r\n"));
        let digest: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(field("X-Proofload-Digest: sha256="), digest, "{text}");
        assert!(body.lines().any(|line| line.starts_with('.')), "dots are exercised");
        field("X-Proofload-Nonce: ")
    };
    files.map(nonce).collect()
}

#[test]
fn what_the_sink_of_postfix_keeps_is_what_was_sent() {
    for (load, table) in [
        ("operations = 200", "size = \"10KiB\""),
        ("operations = 200\nnew_connections = true", "size = \"100KiB\""),
        ("operations = 200", "size = \"2KiB\", pipelining = true"),
    ] {
        let lab = Lab::new();
        let (sink, port) = sink(&lab, &[]);
        let (_, trial) = run(&lab, &experiment(port, load, table));
        assert_all_accepted(&trial, 200);
        assert_eq!(trial.operations[0].items["taken"].sum, 400.0);
        let connections = if load.contains("new") { 200 } else { 4 };
        assert_eq!(trial.total.spans["greeting"].count, connections);
        drop(sink);
        let mut nonces = kept(&lab);
        nonces.sort_unstable();
        nonces.dedup();
        assert_eq!(nonces.len(), 200, "each of them once");
    }
}

#[test]
fn a_real_postfix_takes_it_in_the_clear_and_after_starttls() {
    let lab = Lab::new();
    let (certificate, key) = self_signed();
    let Some(postfix) = Postfix::start(&lab, (&certificate, &key)) else { return };
    for (load, table, secure) in [
        ("operations = 40", "size = \"10KiB\"", false),
        ("operations = 40", "size = \"10KiB\", tls = \"starttls\"", true),
        ("operations = 20\nnew_connections = true", "size = \"1KiB\", tls = \"if_offered\"", true),
        (
            "operations = 40",
            "size = \"64KiB\", tls = \"starttls\", chunking = true, eight_bit = true",
            true,
        ),
        ("operations = 40", "body = \"h\\u00e9\", pipelining = true, chunking = true", false),
    ] {
        let _ = std::fs::remove_dir_all(lab.path("run"));
        let (_, trial) = run(&lab, &experiment(postfix.port, load, table));
        let messages = trial.accounting.planned;
        assert_all_accepted(&trial, messages);
        let spans = &trial.total.spans;
        let count = |span: &str| spans.get(span).map_or(0, |span| span.count);
        let connections = count("greeting");
        assert_eq!(count("tls"), if secure { connections } else { 0 }, "{table}");
        assert_eq!(count("starttls"), count("tls"), "{table}");
        assert_eq!(count("ehlo_tls"), count("tls"), "{table}");
        assert_eq!(count("data"), if table.contains("chunking") { 0 } else { messages }, "{table}");
    }
}

#[test]
fn refusals_of_the_sink_are_kinds_with_their_codes() {
    for (arguments, kind, status) in [
        (&["-r", "RCPT"][..], "transient", Some("450")),
        (&["-f", "DATA"], "permanent", Some("500")),
        (&["-f", "."], "permanent", Some("500")),
        (&["-f", "CONNECT"], "permanent", Some("500")),
        (&["-Q", "MAIL"], "transient", Some("421")),
        (&["-q", "DATA"], "closed", None),
    ] {
        let lab = Lab::new();
        let (_sink, port) = sink(&lab, arguments);
        lab.write("mail.toml", &experiment(port, "operations = 20", "size = \"1KiB\""));
        let ran = lab.proofload(&["run", "mail.toml", "--out", "run", "--quiet"]);
        let summary = lab.summary("run").unwrap_or_else(|| panic!("{ran:?}"));
        let total = &only_trial(&summary).total;
        assert_eq!(total.failures.get(kind), Some(&20), "{arguments:?}: {:?}", total.failures);
        let first = &only_trial(&summary).first_failures;
        assert_eq!((first.len(), first[0].kind.as_str()), (1, kind), "{arguments:?}: {first:?}");
        assert!(status.is_none_or(|status| first[0].seen.contains(status)), "{first:?}");
        assert!(ran.stdout.contains("the first one"), "{ran:?}");
        if let Some(status) = status {
            assert_eq!(
                total.statuses.get(status),
                Some(&20),
                "{arguments:?}: {:?}",
                total.statuses
            );
        }
    }
}

#[test]
fn a_message_is_tried_and_its_dialogue_shown_without_the_password() {
    let lab = Lab::new();
    let (_sink, port) = sink(&lab, &[]);
    let auth = "auth = { mechanism = \"plain\", user = \"tim\", password = \"tanstaaf\" }";
    lab.write("mail.toml", &experiment(port, "operations = 5", auth));
    let ran = lab.proofload(&["check", "mail.toml", "--try"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    for shown in [
        "< 220 smtp-sink",
        "> EHLO client.example",
        "> AUTH PLAIN …",
        "> RCPT TO:<two@mail.example>",
        "> X-Proofload-Digest: sha256=",
        "> QUIT",
        "< 221 ",
        "holds: status is 2xx (seen: 250)",
        "holds: item recipients.accepted is known (seen: 2)",
    ] {
        assert!(ran.stdout.contains(shown), "{shown}: {}", ran.stdout);
    }
    for secret in ["tanstaaf", "AHRpbQ"] {
        assert!(!ran.stdout.contains(secret), "{}", ran.stdout);
    }
    lab.write("none.toml", &experiment(1, "operations = 5", "size = \"1KiB\""));
    let ran = lab.proofload(&["check", "none.toml", "--try"]);
    assert!(ran.stdout.contains("failed: refused"), "{ran:?}");
}

#[test]
fn one_experiment_may_speak_several_protocols() {
    let lab = Lab::new();
    let (_sink, mail) = sink(&lab, &[]);
    let (_nginx, web) = nginx(&lab, "web", "location / { return 200 hello; }");
    let page = format!(
        "[[operation]]\nname = \"page\"\nweight = 3\ntarget = \"http://127.0.0.1:{web}\"\n\
         http = {{ path = \"/\" }}\n"
    );
    let text = experiment(mail, "operations = 400", "size = \"1KiB\"") + &page;
    let (_, trial) = run(&lab, &text);
    assert_eq!(trial.accounting.succeeded, 400, "{:?}", trial.total.failures);
    let [message, page] = &trial.operations[..] else { panic!("two operations") };
    assert_eq!(message.statuses.keys().collect::<Vec<_>>(), ["250"]);
    assert_eq!(page.statuses.keys().collect::<Vec<_>>(), ["200"]);
    let stamped = |operation: &record::summary::Operation, span: &str| {
        operation.spans.get(span).map_or(0, |span| span.count)
    };
    assert_eq!(stamped(message, "accepted"), message.succeeded);
    assert_eq!((stamped(message, "first_byte"), stamped(page, "accepted")), (0, 0));
    assert_eq!(stamped(page, "first_byte"), page.succeeded);

    let astray = text.replace("target = \"http:", "target = \"smtp:");
    lab.write("astray.toml", &astray);
    let ran = lab.proofload(&["check", "astray.toml"]);
    assert_eq!(ran.code, 2, "{ran:?}");
    assert!(ran.stderr.contains("its target begins with http:// or https://"), "{}", ran.stderr);
}

#[test]
fn our_own_server_counts_every_message_whole_and_once() {
    let lab = Lab::new();
    lab.write("users", "tim:tanstaaf\n");
    let (ran, summary) = {
        let file = lab.path("users");
        lab.write("mail.toml", &own(&file.display().to_string()));
        lab.run(&["mail.toml"])
    };
    assert_measured(&ran, &summary);
    let trial = only_trial(&summary);
    assert_accounting(trial);
    assert_eq!(trial.accounting.succeeded, 300, "{:?}", trial.total.failures);
    let sink = &trial.observers[0];
    assert_eq!((sink.received, sink.duplicates, sink.unexpected, sink.lost), (300, 0, 0, 0));
    assert_eq!((&sink.detail["intact"], &sink.detail["damaged"]), (&300.into(), &0.into()));
    assert!(trial.total.spans["auth"].count > 0 && trial.total.spans["ehlo_tls"].count > 0);
    assert!(sink.delivery_time.is_some(), "the nonce tells when a message was sent");
}

/// Messages in every supported way, to our own mail server, whose HTTP API counts them.
fn own(users: &str) -> String {
    format!(
        "title = \"own\"\n\
         [system]\nserve = \"mail\"\n\
         set = {{ store = \"memory\", tls = \"starttls\", auth = \"optional\", users = \"{users}\" }}\n\
         [[observer]]\nname = \"sink\"\n\
         expect = \"received == proved.succeeded + chunks.succeeded + text.succeeded\"\n\
         [target]\nurl = \"smtp://{{system.smtp}}\"\ninsecure = true\n\
         [load]\nconnections = 4\noperations = 300\nwarm_up = \"0s\"\nsteady_state = \"reported\"\n\
         [[operation]]\nname = \"proved\"\n\
         smtp = {{ to = [\"a@b.example\", \"c@d.example\"], size = \"10KiB\", tls = \"starttls\", \
         auth = {{ mechanism = \"login\", user = \"tim\", password = \"tanstaaf\" }} }}\n\
         [[operation]]\nname = \"chunks\"\n\
         smtp = {{ to = \"a@b.example\", size = \"100KiB\", chunking = true, pipelining = true, eight_bit = true }}\n\
         [[operation]]\nname = \"text\"\n\
         smtp = {{ to = \"a-{{{{sequence}}}}@b.example\", body = \".a\\n..\\n.\\n{{{{nonce}}}}\" }}\n"
    )
}
