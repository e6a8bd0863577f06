//! How many casts a second go from one process to a monitor in another, and what became of each.
//!
//! `cargo run --release -p edge --example casts -- [--seconds 5] [--bytes 100] [--threads 1] [--rate CASTS] [--waiting]`.
//! Without a rate each thread casts as fast as it can; `--waiting` waits for room in place of dropping. The two processes
//! say their ids first, for whoever gives them processors of their own. Figures of one machine and one moment.

#![expect(clippy::unwrap_used, reason = "a failed measurement is a panic")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use edge::cast::account::Why;
use edge::cast::{Address, Caster, Settings};
use serde_json::Value;
use serving::options::Options;
use tokio::task::JoinSet;

/// Casts between two looks at the clock.
const TURN: u64 = 64;

/// What is measured.
#[derive(Debug, Clone, Copy)]
struct Case {
    seconds: u64,
    bytes: usize,
    threads: u64,
    /// Casts a second of all threads together.
    rate: Option<f64>,
    is_waiting: bool,
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if words.first().is_some_and(|word| word == "monitor") {
        return monitor(&words[1..]);
    }
    let number = |name: &str| {
        let at = words.iter().position(|word| word == name)?;
        words.get(at + 1)?.parse::<f64>().ok()
    };
    let case = Case {
        seconds: number("--seconds").unwrap_or(5.0) as u64,
        bytes: number("--bytes").unwrap_or(100.0) as usize,
        threads: number("--threads").unwrap_or(1.0) as u64,
        rate: number("--rate"),
        is_waiting: words.iter().any(|word| word == "--waiting"),
    };
    // A thread more than those that cast carries what they cast.
    let threads = case.threads as usize + 1;
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    let runtime = runtime.worker_threads(threads).enable_all().build().unwrap();
    runtime.block_on(measure(case));
}

/// The other process: a monitor with these settings, as `key=value`.
fn monitor(sets: &[String]) {
    let options = Options::parse(None, sets).unwrap();
    edge::monitor::SYSTEM.serve(&options, |ready| say(&ready.line())).unwrap();
}

fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{line}").unwrap();
    out.flush().unwrap();
}

async fn measure(case: Case) {
    let (mut child, ready) = other_process();
    let listening = |name: &str| ready["listening"][name].as_str().unwrap().to_owned();
    say(&format!("caster {}, monitor {}", std::process::id(), child.id()));
    let peers = vec![Address::read(&listening("casts")).unwrap()];
    let caster = Arc::new(Caster::new(&Settings { peers, ..Settings::default() }));
    caster.connected().await;
    let begun = Instant::now();
    let mut threads = JoinSet::new();
    for _ in 0..case.threads {
        threads.spawn(cast(Arc::clone(&caster), case));
    }
    while threads.join_next().await.is_some() {}
    let lasted = begun.elapsed().as_secs_f64();
    caster.settled().await;
    let settled = begun.elapsed().as_secs_f64();
    let account = caster.accounts().remove(0);
    let observed = get(&listening("http"), "/observed");
    let received = observed["received"].as_u64().unwrap();
    let all = account.account.cast;
    say(&format!("cast      {all:>12}  {:>12.0}/s over {lasted:.2} s", all as f64 / lasted));
    say(&format!(
        "received  {received:>12}  {:>12.0}/s over {settled:.2} s",
        received as f64 / settled
    ));
    say(&format!("dropped   {:>12}", account.account.all_dropped()));
    for why in Why::ALL {
        say(&format!("  {:<12}{:>8}", why.name(), account.account.dropped_for(why)));
    }
    let adds_up = received + account.account.all_dropped() == all;
    say(&format!("cast = received + dropped: {adds_up}"));
    child.kill().unwrap();
    child.wait().unwrap();
}

/// Casts for as long as is asked, in turns between which others of the runtime have theirs.
async fn cast(caster: Arc<Caster>, case: Case) {
    let payload = vec![b'x'; case.bytes];
    let (begun, lasts) = (Instant::now(), Duration::from_secs(case.seconds));
    let mut done = 0_u64;
    while begun.elapsed() < lasts {
        // What carries may be next on this very thread.
        tokio::task::yield_now().await;
        let share = case.rate.map(|rate| rate / case.threads as f64);
        if share.is_some_and(|share| done as f64 >= share * begun.elapsed().as_secs_f64()) {
            continue;
        }
        for _ in 0..TURN {
            if case.is_waiting {
                caster.cast_waiting(&payload).await;
            } else {
                caster.cast(&payload);
            }
        }
        done += TURN;
    }
}

fn other_process() -> (Child, Value) {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .arg("monitor")
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let ready = serde_json::from_str(&line).unwrap();
    (child, ready)
}

fn get(address: &str, path: &str) -> Value {
    let mut stream = TcpStream::connect(address).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nhost: t\r\nconnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (_, body) = answer.split_once("\r\n\r\n").unwrap();
    serde_json::from_str(body).unwrap()
}
