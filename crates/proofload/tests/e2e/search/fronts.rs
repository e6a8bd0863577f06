//! The service behind a front that it starts.

use std::net::TcpStream;
use std::path::Path;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use super::asking::{address, ask, json_of};
use crate::lab::process::pid;
use crate::lab::server::{Served, bundled};
use crate::lab::{Lab, PROOFLOAD};

/// A service behind our front, its ready line, and the front's process.
fn fronted() -> (Served, Value, Pid) {
    behind("front")
}

/// The same behind another front.
fn behind(front: &str) -> (Served, Value, Pid) {
    let (served, ready) = bundled("search", &["workers=200", &format!("front={front}")]);
    let processes = ready["processes"].as_array().expect("its processes");
    let front = processes.iter().find(|process| process["name"] == "front").expect("a front");
    let front = front["pid"].as_i64().and_then(|pid| Pid::from_raw(pid as i32));
    (served, ready, front.expect("a process id"))
}

#[test]
fn clients_are_told_the_front_and_it_tells_its_time() {
    let _lab = Lab::new();
    let (mut served, ready, _) = fronted();
    let (http, gateway) = (address(&ready, "http"), address(&ready, "gateway"));
    assert_ne!(http, gateway);
    assert_eq!(ready["effective"]["front"], "front");
    let query = json!({ "query": "forklift" }).to_string();
    let (_, _, direct) = ask(&gateway, "POST", "/v1/matrix/search", &query);
    for path in ["/v1/matrix/search", "/_go/v1/matrix/search"] {
        let (status, head, body) = ask(&http, "POST", path, &query);
        assert_eq!((status, &json_of(&body)["results"]), (200, &json_of(&direct)["results"]));
        let timing = head.lines().filter_map(|line| line.strip_prefix("server-timing: "));
        let timing: String = timing.collect::<Vec<_>>().join(", ");
        for part in ["embed;dur=", "search;dur=", "join;dur=", "gateway;dur=", "front;dur="] {
            assert!(timing.contains(part), "{part} in {timing}");
        }
    }
    kill_process(pid(&served.child), Signal::TERM).expect("signals");
    assert_eq!(served.child.wait().expect("it ends").code(), Some(0));
    assert!(TcpStream::connect(&http).is_err(), "the front has outlived the service");
}

#[test]
fn the_death_of_the_front_is_the_end_of_the_service() {
    let _lab = Lab::new();
    let (mut served, ready, front) = fronted();
    kill_process(front, Signal::KILL).expect("signals");
    assert_eq!(served.child.wait().expect("it ends").code(), Some(4));
    assert!(TcpStream::connect(address(&ready, "gateway")).is_err());
}

/// A front that starts a process in its own session, which ignores SIGTERM.
#[test]
fn what_a_front_leaves_behind_ends_with_the_service() {
    let lab = Lab::new();
    for (signal, code) in [(Signal::TERM, 0), (Signal::KILL, 4)] {
        let left = lab.path(&format!("left-{code}"));
        let script = lab.write(
            "front.sh",
            &format!(
                "setsid sh -c 'trap \"\" TERM; echo $$ > {left}; exec sleep 1000' &\n\
                 while [ ! -s {left} ]; do :; done\n\
                 exec {PROOFLOAD} serve search-front --listen 127.0.0.1:$1 --set upstream=http://$2\n",
                left = left.display(),
            ),
        );
        let front = format!("sh {} {{front_port}} {{upstream}}", script.display());
        let (mut served, _ready, front) = behind(&front);
        let pid_of_left = std::fs::read_to_string(&left).expect("it was started");
        let there = Path::new("/proc").join(pid_of_left.trim());
        assert!(there.exists());
        // SIGKILL goes to the front alone; other signals go to the service.
        let whom = if signal == Signal::KILL { front } else { pid(&served.child) };
        kill_process(whom, signal).expect("signals");
        assert_eq!(served.child.wait().expect("it ends").code(), Some(code));
        assert!(!there.exists(), "it has outlived the service");
    }
}
