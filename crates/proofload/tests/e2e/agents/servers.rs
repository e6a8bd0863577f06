//! Servers of NATS that want a password or TLS, and one without JetStream.

use std::process::{Command, Stdio};

use rustix::process::Signal;

use super::{experiment, only_trial};
use crate::lab::brokers::Broker;
use crate::lab::process::Running;
use crate::lab::server::truth;
use crate::lab::{Lab, Ran, assert_measured};

/// A run of one agent at this address of NATS, both with this file of authorities, and whether its account is whole.
fn assert_runs(lab: &Lab, via: &str, authorities: Option<&str>) {
    let start = |arguments: &[&str]| {
        let mut command = lab.command(arguments);
        with_authorities(&mut command, authorities);
        command.env("PROOFLOAD_VIA", via).stdout(Stdio::piped()).stderr(Stdio::piped());
        Running::new(command.spawn().expect("the binary starts"))
    };
    let agent = start(&["agent", "--wait", "2m"]);
    let ran = start(&["run", "x.toml", "--quiet", "--out", "run", "--agents", "1"]).finish();
    let said = agent.finish();
    let summary = lab.summary("run").unwrap_or_else(|| panic!("{ran:?}\n{said:?}"));
    assert_measured(&ran, &summary);
    assert_eq!(said.code, 0, "{said:?}");
    assert!(only_trial(&summary).accounting.succeeded > 50);
    assert!(!format!("{ran:?}{said:?}").contains("hush"), "{ran:?}\n{said:?}");
}

fn with_authorities(command: &mut Command, authorities: Option<&str>) {
    match authorities {
        Some(file) => command.env("SSL_CERT_FILE", file),
        None => command.env_remove("SSL_CERT_FILE"),
    };
}

/// All three commands refuse this address alike.
fn assert_refused(lab: &Lab, (via, authorities): (&str, Option<&str>), says: &[&str]) {
    let run = ["run", "x.toml", "--quiet", "--out", "refused", "--agents", "1"];
    for arguments in [&run[..], &["agent", "--wait", "2m"], &["fleet", "status"]] {
        let mut command = lab.command(arguments);
        with_authorities(&mut command, authorities);
        let ran = Ran::from(command.args(["--via", via]).output().expect("the binary starts"));
        assert_eq!(ran.code, 4, "{arguments:?}: {ran:?}");
        for text in says {
            assert!(ran.stderr.contains(text), "{arguments:?} must say {text}: {ran:?}");
        }
        assert!(!format!("{ran:?}").contains("wrong"), "a password is shown: {ran:?}");
    }
}

#[test]
fn a_server_that_wants_a_password() {
    let lab = Lab::new();
    let nats = Broker::nats_with(&lab, &["-js", "--user", "ada", "--pass", "hush"]);
    let (_target, url) = truth(&["mode=none"]);
    lab.write("x.toml", &experiment(&url, 1));
    let at = |user: &str| format!("nats://{user}{}", nats.address());
    for user in ["", "ada:wrong@"] {
        let says =
            ["cannot connect to NATS at nats://127.0.0.1", "authorization", "user:password@host"];
        assert_refused(&lab, (&at(user), None), &says);
    }
    assert_runs(&lab, &at("ada:hush@"), None);
}

#[test]
fn a_server_that_wants_a_token() {
    let lab = Lab::new();
    let nats = Broker::nats_with(&lab, &["-js", "--auth", "hush"]);
    let (_target, url) = truth(&["mode=none"]);
    lab.write("x.toml", &experiment(&url, 1));
    let at = |token: &str| format!("nats://{token}{}", nats.address());
    assert_refused(&lab, (&at("wrong@"), None), &["authorization", "token@host"]);
    assert_runs(&lab, &at("hush@"), None);
}

/// A certificate for 127.0.0.1, signed by an authority that nobody knows: authority, certificate and key.
fn certificates(lab: &Lab) -> [String; 3] {
    let key = || rcgen::KeyPair::generate().expect("a key");
    let mut authority = rcgen::CertificateParams::new(Vec::new()).expect("no names");
    authority.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    let authority_key = key();
    let signed = authority.self_signed(&authority_key).expect("a certificate");
    let issuer = rcgen::Issuer::new(authority, authority_key);
    let own_key = key();
    let own = rcgen::CertificateParams::new(vec!["127.0.0.1".to_owned()]).expect("an address");
    let own = own.signed_by(&own_key, &issuer).expect("a certificate");
    let files =
        [("ca.pem", signed.pem()), ("cert.pem", own.pem()), ("key.pem", own_key.serialize_pem())];
    files.map(|(name, text)| lab.write(name, &text).display().to_string())
}

#[test]
fn a_server_with_tls_and_an_authority_of_ones_own() {
    let lab = Lab::new();
    let [authority, certificate, key] = certificates(&lab);
    let flags = [
        "-js",
        "--tls",
        "--tlscert",
        &certificate,
        "--tlskey",
        &key,
        "--user",
        "ada",
        "--pass",
        "hush",
    ];
    let nats = Broker::nats_with(&lab, &flags);
    let (_target, url) = truth(&["mode=none"]);
    lab.write("x.toml", &experiment(&url, 1));
    let at = |user: &str| format!("tls://{user}{}", nats.address());
    let says = ["cannot connect to NATS at tls://127.0.0.1", "SSL_CERT_FILE"];
    assert_refused(&lab, (&at("ada:hush@"), None), &says);
    let says = ["cannot connect to NATS at tls://127.0.0.1", "user:password@host"];
    assert_refused(&lab, (&at("ada:wrong@"), Some(&authority)), &says);
    assert_runs(&lab, &at("ada:hush@"), Some(&authority));
    let plain = Broker::nats(&lab);
    let without = format!("tls://{}", plain.address());
    assert_refused(&lab, (&without, None), &["cannot connect to NATS at tls://127.0.0.1"]);
}

/// The coordinator says so; agents go on waiting, since another server may come.
#[test]
fn a_server_without_jetstream() {
    let lab = Lab::new();
    let nats = Broker::nats_with(&lab, &[]);
    let (_target, url) = truth(&["mode=none"]);
    lab.write("x.toml", &experiment(&url, 1));
    let via = nats.url();
    let agent = lab.start(&["agent", "--via", &via, "--wait", "2m"]);
    let status = || lab.proofload(&["fleet", "status", "--via", &via]);
    let came = || status().stdout.starts_with("1 agent waits");
    assert!((0..100).any(|_| came()), "the agent waits");
    let ran = lab.proofload(&["run", "x.toml", "--quiet", "--agents", "1", "--via", &via]);
    assert_eq!(ran.code, 4, "{ran:?}");
    for text in ["JetStream", "nats-server -js"] {
        assert!(ran.stderr.contains(text), "{text}: {ran:?}");
    }
    assert!(came(), "it still waits");
    agent.signal(Signal::TERM);
    assert_eq!(agent.finish().code, 3);
}
