//! Bundled systems and processes that a run starts: started, ended, reaped, and clear errors if they fail.

use std::io::{Read, Write};
use std::net::TcpStream;

use record::summary::Judgement;
use rustix::process::{Signal, kill_process};

use crate::lab::process::pid;
use crate::lab::server::Truth;
use crate::lab::{Lab, PROOFLOAD, finding, only_trial};

#[test]
fn a_stopped_system_finishes_what_is_in_flight_and_exits_0() {
    for signal in [Signal::TERM, Signal::INT, Signal::HUP] {
        let _lab = Lab::new();
        let mut truth = Truth::start(&["mode=slow_body", "over=500ms", "body=1000B"]);
        let mut stream = TcpStream::connect(&truth.http).expect("connects");
        stream.write_all(b"GET / HTTP/1.1\r\nhost: test\r\n\r\n").expect("asks");
        // The head has arrived, so the body is being sent.
        let mut begun = [0_u8; 1];
        stream.read_exact(&mut begun).expect("an answer begins");
        kill_process(pid(&truth.served.child), signal).expect("signals");
        let mut rest = String::new();
        stream.read_to_string(&mut rest).expect("the answer is finished");
        let (head, body) = rest.split_once("\r\n\r\n").expect("a head");
        assert!(head.contains("200"), "{head}");
        assert_eq!(body.len(), 1_000, "the whole body");
        let status = truth.served.child.wait().expect("it ends");
        assert_eq!(status.code(), Some(0), "{status}");
    }
}

const SYSTEM: &str = "title = \"a system\"\n[load]\nconnections = 2\noperations = 5000\nwarm_up = \"0s\"\n\
                      [[operation]]\nhttp = { path = \"/\" }\n";

#[test]
fn a_system_of_the_experiment_is_started_and_ended_with_the_trial() {
    let lab = Lab::new();
    lab.write(
        "own.toml",
        &format!("{SYSTEM}[system]\nserve = \"truth\"\nset = {{ mode = \"none\" }}\n"),
    );
    let (ran, summary) = lab.run(&["own.toml"]);
    crate::lab::assert_measured(&ran, &summary);
    let trial = only_trial(&summary);
    assert_eq!(trial.accounting.succeeded, 5_000);
    let process = &trial.systems[0].processes[0];
    assert!(process.rss_peak_bytes > 0 && process.cpu_ns > 0, "{process:?}");
    let left = std::path::Path::new("/proc").join(process.pid.to_string()).join("cmdline");
    let left = std::fs::read_to_string(left).unwrap_or_default();
    assert!(!left.contains("truth"), "still there: {left}");
}

/// Processes are frozen, killed and started again at their planned instants: operations fail only until the process is
/// back, the accounting is complete, and the trial counts as whole.
#[test]
fn what_the_plan_does_to_a_system_is_done_and_told() {
    let lab = Lab::new();
    lab.write(
        "blows.toml",
        "title = \"blows\"\n[system]\nserve = \"truth\"\nset = { mode = \"none\" }\n\
         [load]\nrate = \"200/s\"\narrivals = \"constant\"\nduration = \"6s\"\nwarm_up = \"0s\"\n\
         timeout = \"5s\"\nsteady_state = \"reported\"\n\
         [[fault]]\nprocess = \"system\"\nat = \"1s\"\naction = \"freeze\"\nfor = \"500ms\"\n\
         [[fault]]\nprocess = \"system\"\nat = \"3s\"\naction = \"kill\"\nfor = \"1s\"\n\
         [[operation]]\nhttp = { path = \"/\" }\n",
    );
    let (ran, summary) = lab.run(&["blows.toml"]);
    crate::lab::assert_measured(&ran, &summary);
    let trial = only_trial(&summary);
    crate::lab::assert_accounting(trial);
    // A second of 200/s fails, and the requests that arrive while the new process starts.
    let failed = trial.accounting.failed;
    assert!((190..400).contains(&failed), "{failed} of {:?}", trial.accounting);
    let frozen = trial.total.response_time.max_ns;
    assert!((450_000_000..4_000_000_000).contains(&frozen), "frozen for {frozen} ns");
    let told = summary.findings.iter().find(|one| one.code == "planned-faults");
    let told = told.expect("it is told");
    for action in ["freeze system", "continue system", "kill system", "start system"] {
        assert!(told.claim.contains(action), "{}", told.claim);
    }
    assert_eq!(told.evidence["not_done"], 0);
    assert_eq!(finding(&summary, "process-died"), None, "what is meant to end is none that died");
    let pids: std::collections::BTreeSet<u32> =
        trial.systems[0].processes.iter().map(|process| process.pid).collect();
    assert_eq!(pids.len(), 2, "the killed one and the new one: {:?}", trial.systems);
}

#[test]
fn a_system_that_cannot_be_started_is_a_clear_error() {
    let lab = Lab::new();
    let cases = [
        ("command = \"/nonexistent/program {port}\"\nready = \"tcp\"", "/nonexistent/program"),
        ("command = \"sh -c 'echo no licence >&2; exit 7' {port}\"\nready = \"tcp\"", "no licence"),
        ("serve = \"search\"\nset = { path = \"/proc/nowhere\" }", "make the folder of `path`"),
    ];
    for (number, (system, named)) in cases.into_iter().enumerate() {
        lab.write("own.toml", &format!("{SYSTEM}[system]\n{system}\n"));
        let out = format!("run-{number}");
        let ran = lab.proofload(&["run", "own.toml", "--out", &out]);
        assert_eq!(ran.code, 4, "{system}: {}", ran.stderr);
        assert!(ran.stderr.contains("error: ") && ran.stderr.contains(named), "{}", ran.stderr);
        assert!(ran.stderr.contains("starting trial 1"), "{}", ran.stderr);
        assert!(lab.summary(&out).is_none(), "nothing was measured");
    }
}

#[test]
fn a_slow_launch_does_not_move_the_calendar() {
    let lab = Lab::new();
    // The launch has a known length, and no event has a time within it.
    let system = format!(
        "command = \"sh -c 'sleep 2; exec {PROOFLOAD} serve truth --listen 127.0.0.1:{{port}}'\"\n\
         ready = \"tcp\"",
    );
    lab.write("slow.toml", &format!("{SYSTEM}[system]\n{system}\n"));
    let (ran, summary) = lab.run(&["slow.toml", "--samples", "--set", "load.operations=20"]);
    crate::lab::assert_measured(&ran, &summary);
    let begun = only_trial(&summary).started_at.parse::<jiff::Timestamp>();
    let begun = begun.expect("an instant").as_millisecond() as f64 / 1e3;
    let log = lab.read("run/trials/001/windows.hlog");
    let (_, start) = log.split_once("#[StartTime: ").expect("a header");
    let start: f64 = start.split(' ').next().expect("a number").parse().expect("seconds");
    assert!(start >= begun + 2.0, "launched at {begun}, dated {start}");
    let jtl = lab.proofload(&["report", "run", "--format", "jtl"]).stdout;
    let first = jtl.lines().nth(1).and_then(|line| line.split(',').next()).expect("a sample");
    let first = first.parse::<f64>().expect("milliseconds") / 1e3;
    assert!(first >= start - 0.001 && first < start + 30.0, "dated {start}, sent at {first}");
}

#[test]
fn a_lone_trial_whose_system_dies_is_invalid_and_not_repeated() {
    let lab = Lab::new();
    let system = format!(
        "[system]\ncommand = \"sh -c 'timeout 1 {PROOFLOAD} serve truth --listen 127.0.0.1:{{port}}; \
         echo the shop is closed >&2; exit 7'\"\nready = \"tcp\"\n"
    );
    let load = SYSTEM.replace("operations = 5000", "duration = \"20s\"");
    lab.write("own.toml", &format!("criteria = [\"failed == 0\"]\n{load}{system}"));
    let (ran, summary) = lab.run(&["own.toml"]);
    assert_eq!(ran.code, 3, "{ran:?}");
    let died = finding(&summary, "process-died").expect("why it ended");
    assert!(died.contains("system ended: exit status 7, as was seen "), "{died}");
    assert!(
        died.ends_with(" into the measure phase; the last that it wrote: the shop is closed"),
        "{died}"
    );
    assert!(ran.stdout.contains("the shop is closed"), "{}", ran.stdout);
    assert!(
        summary.criteria.iter().all(|one| one.result != Judgement::Fail),
        "{:?}",
        summary.criteria
    );
    only_trial(&summary);
    assert!(!lab.path("run/trials/002").exists());
}
