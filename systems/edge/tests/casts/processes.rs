//! A monitor in a process of its own, killed or stopped where it is.
//!
//! The other process is this test's binary again, told by the environment that it is the monitor.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::process::{Pid, Signal, kill_process};

use super::*;

const CASTS: &str = "EDGE_MONITOR_CASTS";

/// The part of the other process; without one, what every test here relies on.
#[test]
fn the_other_process() {
    let Ok(casts) = std::env::var(CASTS) else {
        assert!((monitor::SYSTEM.check)(&Options::default().with("casts", "127.0.0.1:0")).is_ok());
        return;
    };
    let announce = |ready: &serving::ready::Ready| {
        let mut out = std::io::stdout().lock();
        writeln!(out, "\n{}", ready.line()).and_then(|()| out.flush()).unwrap();
    };
    monitor::SYSTEM.serve(&Options::default().with("casts", casts), announce).unwrap();
}

/// The monitor's process, killed at the end.
struct Process {
    child: Child,
    ready: Value,
}

impl Process {
    fn start(casts: &str) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["processes::the_other_process", "--exact", "--nocapture"])
            .env(CASTS, casts)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let line =
            lines.find_map(|line| line.unwrap().strip_prefix("{\"ready\"").map(str::to_owned));
        let ready = format!("{{\"ready\"{}", line.expect("it says that it is ready"));
        Self { child, ready: serde_json::from_str(&ready).unwrap() }
    }

    fn address(&self, name: &str) -> String {
        self.ready["listening"][name].as_str().unwrap().to_owned()
    }

    fn seen(&self) -> Observation {
        Observation(get(&self.address("http"), "/observed"))
    }

    fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    fn signal(&self, signal: Signal) {
        let pid = Pid::from_raw(self.child.id() as i32).unwrap();
        kill_process(pid, signal).unwrap();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_monitor_that_is_killed_leaves_nothing_uncounted() {
    let mut process = Process::start("127.7.0.3:0");
    let casts = process.address("casts");
    let settings = Settings { room_bytes: 100_000, window_bytes: 100_000, ..towards(&[&casts]) };
    let caster = Arc::new(Caster::new(&settings));
    let is_over = Arc::new(AtomicBool::new(false));
    let casting = {
        let (caster, is_over) = (Arc::clone(&caster), Arc::clone(&is_over));
        thread::spawn(move || {
            while !is_over.load(Ordering::Relaxed) {
                caster.cast(&[7; 70]);
                thread::yield_now();
            }
        })
    };
    for round in 0..3 {
        let before = caster.accounts()[0].taken;
        // It is under way, in the midst of which it is killed.
        until(|| caster.accounts()[0].taken >= before + 1_000).await;
        process.kill();
        process = Process::start(&casts);
        until(|| caster.accounts()[0].connections >= round + 2).await;
    }
    is_over.store(true, Ordering::Relaxed);
    casting.join().unwrap();
    within(caster.settled()).await;
    let account = rested(&caster);
    assert!(account.taken >= 3_000, "{account:?}");
    // The last monitor knows of what none before it has acknowledged; for that, both sides agree.
    let seen = process.seen();
    let counts = ["received", "dropped", "cast", "duplicates", "unbalanced"];
    let [received, dropped, cast, duplicates, unbalanced] = seen.counts(counts);
    assert_eq!((received + dropped, duplicates, unbalanced), (cast, 0, 0));
    assert!(received < account.taken, "the others had some: {}", seen.0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_monitor_that_is_stopped_where_it_is_costs_messages_until_it_goes_on() {
    let process = Process::start("127.0.0.1:0");
    let casts = process.address("casts");
    let settings = Settings { room_bytes: 10_000, window_bytes: 10_000, ..towards(&[&casts]) };
    let caster = Caster::new(&settings);
    within(caster.connected()).await;
    caster.cast(b"before");
    within(caster.settled()).await;
    process.signal(Signal::STOP);
    let is_full = || {
        caster.cast(&[0; 70]);
        dropped(&caster.accounts()[0], Why::Full) >= 1_000
    };
    until(is_full).await;
    assert!(caster.accounts()[0].pending > 0);
    process.signal(Signal::CONT);
    within(caster.settled()).await;
    let account = rested(&caster);
    assert_eq!(account.connections, 1);
    process.seen().adds_up(&account.account);
}
