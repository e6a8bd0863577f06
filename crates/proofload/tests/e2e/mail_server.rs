//! The mail server as a service: after a kill it has every accepted message, and no fragment of a message that it
//! could not store. Also its HTTP API, used by following the documentation alone.

mod client;
mod peers;

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::thread;

use serde_json::Value;

use crate::lab::server::{Served, bundled};
use crate::lab::{Lab, PROOFLOAD};
use client::{Client, ask};

/// Messages to accept before the server is killed.
const ACCEPTED: usize = 200;
/// Concurrent clients.
const CLIENTS: u64 = 8;

/// The client's message with this number: sizes vary and contents are unique.
fn content(client: u64, number: u64) -> Vec<u8> {
    let head = format!("Subject: {client}-{number}\r\n\r\n");
    let mut content = head.into_bytes();
    // From 1 KiB to about 128 KiB: small messages wait in memory, large ones are written as they arrive.
    let lines = 16 << (number % 8);
    for line in 0..lines {
        content.extend(
            format!(".{client:08} {number:08} {line:08} {:032x}\r\n", line * number).bytes(),
        );
    }
    content
}

/// The address with this name in a ready line.
fn address(ready: &Value, name: &str) -> String {
    ready["listening"][name].as_str().expect("an address in the ready line").to_owned()
}

/// Client and number of a stored message, if it is complete.
fn identify(message: &[u8]) -> Option<(u64, u64)> {
    let from = message.windows(9).position(|window| window == b"Subject: ")?;
    let message = &message[from..];
    let line = std::str::from_utf8(message.split(|byte| *byte == b'\r').next()?).ok()?;
    let (client, number) = line.strip_prefix("Subject: ")?.split_once('-')?;
    let (client, number) = (client.parse().ok()?, number.parse().ok()?);
    (message == content(client, number)).then_some((client, number))
}

/// The messages in a folder, each of which must be complete.
fn stored(folder: &Path) -> BTreeSet<(u64, u64)> {
    let entries = std::fs::read_dir(folder).expect("the folder is there");
    let files = entries.map(|entry| entry.expect("an entry").path());
    files
        .map(|path| {
            let message = std::fs::read(&path).expect("it can be read");
            identify(&message).unwrap_or_else(|| panic!("not whole: {}", path.display()))
        })
        .collect()
}

/// Sends until the server is gone; reports each accepted message.
fn send_until_killed(smtp: &str, number: u64, tell: &mpsc::Sender<(u64, u64)>) {
    let Some(mut client) = Client::connect(smtp) else { return };
    for message in 0.. {
        match client.send(&content(number, message)) {
            Some(250) if tell.send((number, message)).is_ok() => {}
            Some(250) | None => return,
            Some(code) => panic!("told {code}"),
        }
    }
}

/// After a kill during writes, every accepted message is there and every message is complete.
fn assert_accepted_are_kept(folder: &Path) {
    let settings = ["store=maildir".to_owned(), format!("path={}", folder.display())];
    let settings: Vec<&str> = settings.iter().map(String::as_str).collect();
    let (served, ready) = bundled("mail", &settings);
    let smtp = address(&ready, "smtp");
    let (tell, told) = mpsc::channel();
    let accepted: BTreeSet<(u64, u64)> = thread::scope(|scope| {
        for number in 0..CLIENTS {
            let (smtp, tell) = (smtp.clone(), tell.clone());
            scope.spawn(move || send_until_killed(&smtp, number, &tell));
        }
        drop(tell);
        let first: Vec<(u64, u64)> = told.iter().take(ACCEPTED).collect();
        assert_eq!(first.len(), ACCEPTED, "the server went by itself");
        drop(served);
        first.into_iter().chain(told.iter()).collect()
    });
    let there = stored(&folder.join("new"));
    let lost: Vec<_> = accepted.difference(&there).collect();
    assert!(lost.is_empty(), "accepted and not there: {lost:?}");
    // For each client there may be one message whose reply the kill cut off.
    assert!(there.len() <= accepted.len() + CLIENTS as usize, "{} are there", there.len());
    let (_served, ready) = bundled("mail", &settings);
    let left = std::fs::read_dir(folder.join("tmp")).expect("the folder is there").count();
    assert_eq!(left, 0, "what was half written is removed");
    let (status, body) = ask(&address(&ready, "http"), "GET", "/messages?limit=1000");
    let page: Value = serde_json::from_slice(&body).expect("a page in JSON");
    assert_eq!((status, page["messages"].as_array().map(Vec::len)), (200, Some(there.len())));
}

#[test]
fn what_was_accepted_is_there_after_a_kill() {
    let rounds = if std::env::var_os("PROOFLOAD_PROOF").is_some() { 20 } else { 1 };
    let lab = Lab::new();
    for round in 0..rounds {
        assert_accepted_are_kept(&lab.path(&format!("box-{round}")));
    }
}

/// The server on a separate file system of two mebibytes, which other processes see under `/proc/PID/root`.
fn on_a_small_disk(folder: &Path) -> (Served, Value) {
    std::fs::create_dir_all(folder).expect("a folder");
    let script = "mount -t tmpfs -o size=2m none \"$1\" && exec \"$2\" serve mail \
                  --set store=maildir --set path=\"$1/box\"";
    let child = Command::new("unshare")
        .args(["--user", "--map-root-user", "--mount", "sh", "-c", script, "sh"])
        .arg(folder)
        .arg(PROOFLOAD)
        .stdout(Stdio::piped())
        .spawn();
    let mut served = Served { child: child.expect("unshare (Debian: util-linux)") };
    let mut line = String::new();
    let stdout = served.child.stdout.take().expect("its stdout");
    BufReader::new(stdout).read_line(&mut line).expect("its ready line");
    let ready = serde_json::from_str(&line);
    (served, ready.expect("a ready line; the kernel must allow namespaces of users"))
}

#[test]
fn a_full_disk_is_told_and_leaves_nothing_behind() {
    let lab = Lab::new();
    let folder = lab.path("disk");
    let (served, ready) = on_a_small_disk(&folder);
    let root = PathBuf::from(format!("/proc/{}/root", served.child.id()));
    let seen = root.join(folder.strip_prefix("/").expect("it is absolute")).join("box");
    let (smtp, http) = (address(&ready, "smtp"), address(&ready, "http"));
    let mut client = Client::connect(&smtp).expect("it is served");
    let mut accepted = BTreeSet::new();
    let mut refused = 0;
    // First the larger ones find no space, while smaller ones still do.
    for number in 0..200 {
        match client.send(&content(1, number)).expect("the connection stays") {
            250 => drop(accepted.insert((1, number))),
            code => {
                assert_eq!(code, 452, "message {number}");
                refused += 1;
            }
        }
        assert_eq!(std::fs::read_dir(seen.join("tmp")).expect("tmp").count(), 0);
    }
    assert!(accepted.len() >= 8 && refused >= 8, "{} accepted, {refused} refused", accepted.len());
    assert_eq!(stored(&seen.join("new")), accepted);
    let (status, _) = ask(&http, "DELETE", "/messages");
    assert_eq!(status, 200);
    assert_eq!(client.send(&content(1, 7)), Some(250), "there is room again");
}
