//! Third-party senders against the server: Postfix's `smtp-source`, `swaks`, Python's `smtplib`; in the clear, over
//! STARTTLS and over TLS from the first byte, with and without a password.

use std::process::Command;

use serde_json::Value;

use super::client::ask;
use super::{Served, address, bundled};
use crate::lab::{Lab, Ran};

/// A Debian program, which may be outside a user's PATH.
fn run(program: &str, arguments: &[&str]) -> Ran {
    let path = std::env::var("PATH").unwrap_or_default();
    let mut command = Command::new(program);
    command.env("PATH", format!("{path}:/usr/sbin:/sbin")).args(arguments);
    let output = command.output();
    Ran::from(output.unwrap_or_else(|error| panic!("{program} (Debian: postfix, swaks): {error}")))
}

/// The JSON of an answer of the HTTP API.
fn get(ready: &Value, path: &str) -> Value {
    let (status, body) = ask(&address(ready, "http"), "GET", path);
    assert_eq!(status, 200, "{path}: {}", String::from_utf8_lossy(&body));
    serde_json::from_slice(&body).expect("a body in JSON")
}

/// A server that requires TLS and a password: user `ada` has `se:cret`.
fn guarded(lab: &Lab) -> (Served, Value) {
    let users = lab.write("users", "ada:se:cret\n").display().to_string();
    let users = format!("users={users}");
    bundled("mail", &["tls=required", "auth=required", "smtps=127.0.0.1:0", &users])
}

/// The only stored message, in full.
fn only_message(ready: &Value) -> Value {
    let page = get(ready, "/messages");
    let messages = page["messages"].as_array().expect("a list");
    assert_eq!(messages.len(), 1, "{page}");
    get(ready, &format!("/messages/{}", messages[0]["id"].as_str().expect("an id")))
}

#[test]
fn smtp_source_hands_over_all_that_it_has() {
    let _lab = Lab::new();
    let (_served, ready) = bundled("mail", &[]);
    let smtp = address(&ready, "smtp");
    let common = ["-s", "10", "-m", "300", "-f", "a@x.example", "-t", "b@y.example"];
    for more in [&["-l", "1024"][..], &["-d", "-l", "10240"], &["-d", "-r", "3", "-l", "102400"]] {
        let ran = run("smtp-source", &[&common[..], more, &[&smtp]].concat());
        assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{more:?}");
    }
    let counts = get(&ready, "/counts");
    // With -r it numbers each of the three recipients.
    assert_eq!((&counts["messages"], &counts["recipients"]), (&900.into(), &1_500.into()));
    assert!(counts["bytes"].as_u64() > Some(300 * (1_024 + 10_240 + 102_400)), "{counts}");
}

#[test]
fn swaks_comes_over_tls_and_with_a_password_only() {
    let lab = Lab::new();
    let (_served, ready) = guarded(&lab);
    let smtp = address(&ready, "smtp");
    let common =
        ["--server", &smtp, "--from", "a@x.example", "--to", "b@y.example", "--ehlo", "c.example"];
    let user = ["--auth-user", "ada", "--auth-password", "se:cret"];
    let wrong = ["--auth-user", "ada", "--auth-password", "other"];
    let refused: [&[&str]; 3] =
        [&[], &["--tls"], &[&["--tls", "--auth", "PLAIN"][..], &wrong].concat()];
    for more in refused {
        let ran = run("swaks", &[&common[..], more].concat());
        assert_ne!(ran.code, 0, "{more:?}: {}", ran.stdout);
    }
    assert_eq!(get(&ready, "/counts")["messages"], 0);
    for (number, mechanism) in ["PLAIN", "LOGIN"].into_iter().enumerate() {
        let more = ["--tls", "--auth", mechanism, "--body", "hello\n.a dot"];
        let ran = run("swaks", &[&common[..], &more, &user].concat());
        assert_eq!(ran.code, 0, "{mechanism}: {}{}", ran.stdout, ran.stderr);
        assert_eq!(get(&ready, "/counts")["messages"], number + 1);
    }
    assert_eq!(
        run(
            "swaks",
            &[
                &["--tlsc", "--server", &address(&ready, "smtps")],
                &common[2..],
                &["--auth", "PLAIN"],
                &user
            ]
            .concat()
        )
        .code,
        0
    );
    let newest = get(&ready, "/messages")["messages"][0]["id"].as_str().map(str::to_owned);
    let shown = get(&ready, &format!("/messages/{}", newest.expect("an id")));
    let envelope = &shown["envelope"];
    assert_eq!((&envelope["user"], &envelope["client"]), (&"ada".into(), &"c.example".into()));
    assert_eq!(envelope["tls"], "TLSv1.3");
}

const SMTPLIB: &str = r#"
import smtplib, ssl, sys
from email.message import EmailMessage

host, port, secure = sys.argv[1], int(sys.argv[2]), sys.argv[3]
context = ssl.create_default_context()
context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
message = EmailMessage()
message["From"], message["To"], message["Subject"] = "a@x.example", "b@y.example", "grüße"
message.set_content("Hello.\n.\n..\nÄ\n")
if secure == "implicit":
    smtp = smtplib.SMTP_SSL(host, port, context=context)
else:
    smtp = smtplib.SMTP(host, port)
    smtp.starttls(context=context)
with smtp:
    try:
        smtp.send_message(message)
        sys.exit("sent without a password")
    except smtplib.SMTPException:
        pass
    smtp.login("ada", "se:cret")
    smtp.send_message(message)
"#;

#[test]
fn smtplib_comes_over_tls_of_either_kind() {
    for (secure, name) in [("implicit", "smtps"), ("starttls", "smtp")] {
        let lab = Lab::new();
        let (_served, ready) = guarded(&lab);
        let place = address(&ready, name);
        let (host, port) = place.split_once(':').expect("host and port");
        let ran = run("python3", &["-c", SMTPLIB, host, port, secure]);
        assert_eq!(ran.code, 0, "{secure}: {}", ran.stderr);
        let shown = only_message(&ready);
        assert_eq!(
            (&shown["subject"], &shown["envelope"]["user"]),
            (&"grüße".into(), &"ada".into())
        );
        assert_eq!(
            shown["text"].as_str().map(|text| text.replace('\r', "")),
            Some("Hello.\n.\n..\nÄ\n".into())
        );
    }
}
