//! Streams of tokens whose times have closed forms: one prefill at a time, then exponential gaps, any number of answers
//! at a time. Time to the first token is that of an M/M/1 queue, a gap is exponential.

use std::cell::RefCell;
use std::rc::Rc;

use engine::clock::{Clock, Virtual};
use engine::transport::MemoryNetwork;
use engine::trial::layout;
use judge::summarize::{Summariser, TrialInput};
use record::summary::{Distribution, Grade, Judgement, Summary};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};
use tokio::sync::Mutex;

use crate::{Executed, Service, driver, exponential, is_proof, load, provenance, run};

const RATE: f64 = 10.0;
/// Prefills a second.
const PREFILLS: f64 = 20.0;
/// Seconds.
const GAP: f64 = 0.02;
const TOKENS: u64 = 20;
const SECOND: f64 = 1e9;

const FILE: &str = r#"
title = "Tokens"
criteria = ["chat gap p95 < 200ms", "chat first_event p99 < 2s"]
[target]
url = "http://model"
[load]
rate = "10/s"
duration = "5m"
warm_up = "10s"
[[operation]]
name = "chat"
http = { path = "/", stream = { format = "sse", event = "$.token" } }
expect = { last = "[DONE]", events = 20, within = { first_event = "100ms" } }
items = { tokens = { events = "$.token" } }
"#;

/// What the server did: times to first tokens, and gaps, in nanoseconds.
#[derive(Default)]
struct Log {
    first: Vec<u64>,
    gaps: Vec<u64>,
}

/// A model's server.
fn serve(network: &MemoryNetwork, clock: &Virtual, seed: u64) -> Rc<RefCell<Log>> {
    let log = Rc::new(RefCell::new(Log::default()));
    let prefill = Rc::new(Mutex::new(exponential(seed, SECOND / PREFILLS)));
    let gap = Rc::new(RefCell::new(exponential(seed + 1_000_000, GAP * SECOND)));
    let (clock, kept) = (clock.clone(), Rc::clone(&log));
    network.serve("model", move |mut stream: DuplexStream| {
        let (clock, log) = (clock.clone(), Rc::clone(&kept));
        let (prefill, gap) = (Rc::clone(&prefill), Rc::clone(&gap));
        async move {
            let mut buffer = [0; 4096];
            while let Ok(1..) = stream.read(&mut buffer).await {
                let arrived = clock.now();
                let mut service = prefill.lock().await;
                clock.sleep_until(clock.now() + service()).await;
                drop(service);
                log.borrow_mut().first.push(clock.now() - arrived);
                const HEAD: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
                let _ = stream.write_all(&[HEAD, &token()].concat()).await;
                for _ in 1..TOKENS {
                    let length = next(&gap);
                    clock.sleep_until(clock.now() + length).await;
                    log.borrow_mut().gaps.push(length);
                    let _ = stream.write_all(&token()).await;
                }
                let _ = stream.write_all(&[chunk("data: [DONE]\n\n"), b"0\r\n\r\n".to_vec()].concat()).await;
            }
        }
    });
    log
}

fn next(service: &RefCell<Service>) -> u64 {
    (service.borrow_mut())()
}

fn token() -> Vec<u8> {
    chunk("data: {\"token\":\"x\"}\n\n")
}

fn chunk(data: &str) -> Vec<u8> {
    format!("{:x}\r\n{data}\r\n", data.len()).into_bytes()
}

fn summary(seed: u64) -> (Summary, Log) {
    let experiment = load(FILE, seed);
    let clock = Virtual::new();
    let network = MemoryNetwork::new();
    let log = serve(&network, &clock, seed);
    let planned = &experiment.plan.trials[..1];
    let executed = run(&experiment, planned, &clock, network);
    let spans = {
        let arm = &experiment.plan.arms[0];
        layout(arm, &driver(arm)).spans
    };
    let mut summariser = Summariser::new(&experiment.plan);
    for Executed { facts, windows } in &executed {
        let show = |show: &mut dyn FnMut(&record::Window)| {
            windows.iter().for_each(show);
            Ok(())
        };
        let input = TrialInput { trial: facts, spans: &spans, windows: &show };
        summariser.add(input).expect("in memory");
    }
    (summariser.finish(provenance(&experiment)), log.take())
}

/// Whether the interval of this quantile holds a value; `None` where none is claimed.
fn covers(times: &Distribution, q: f64, truth: f64) -> Option<bool> {
    let entry = times.quantiles.iter().find(|entry| entry.q == q)?;
    let (low, high) = (entry.low_ns? as f64, entry.high_ns? as f64);
    (entry.grade != Grade::Refused).then_some((low..=high).contains(&truth))
}

#[test]
fn times_of_events_are_the_servers_and_their_intervals_hold_the_closed_forms() {
    let runs = if is_proof() { 200 } else { 20 };
    let mut held = [[0_u32; 2]; 5];
    for seed in 1..=runs {
        let (summary, mut log) = summary(seed);
        let trial = &summary.arms[0].trials[0];
        let chat = &trial.operations[0];
        let [first, gap] = ["first_event", "gap"].map(|name| &chat.spans[name]);
        let ended = chat.succeeded + chat.failed;
        assert_eq!((first.count, gap.count), (ended, ended * (TOKENS - 1)));
        // Those of the warm-up came first, and an exponential time does not remember them.
        let measured = log.first.split_off(log.first.len() - ended as usize);
        let slow = measured.iter().filter(|&&time| time > 100_000_000).count() as u64;
        assert_eq!(chat.failures.get("too_slow").copied().unwrap_or(0), slow);
        assert_eq!(first.max_ns, measured.iter().copied().max().unwrap_or(0));
        let mean = measured.iter().sum::<u64>() / ended;
        assert!(first.mean_ns.abs_diff(mean) <= 1, "{} and {mean}", first.mean_ns);
        assert_eq!(chat.items["tokens"].sum, (chat.succeeded * TOKENS) as f64);
        let exponential = |q: f64, rate: f64| -(1.0 - q).ln() / rate * SECOND;
        let claims = [
            covers(first, 0.5, exponential(0.5, PREFILLS - RATE)),
            covers(first, 0.95, exponential(0.95, PREFILLS - RATE)),
            covers(gap, 0.5, exponential(0.5, 1.0 / GAP)),
            covers(gap, 0.95, exponential(0.95, 1.0 / GAP)),
            covers(gap, 0.99, exponential(0.99, 1.0 / GAP)),
        ];
        for (held, claim) in held.iter_mut().zip(claims) {
            held[0] += u32::from(claim.is_some());
            held[1] += u32::from(claim == Some(true));
        }
        // A trial now and then seems not to be steady.
        let judged = summary.criteria.iter().map(|one| one.result);
        assert!(judged.into_iter().all(|result| result != Judgement::Fail));
    }
    println!("claimed and held: {held:?}");
    for [claimed, held] in held {
        // 95 % are promised; fewer than 85 % of 20 would be chance once in 400 times.
        assert!(
            claimed >= runs as u32 / 2 && f64::from(held) >= 0.85 * f64::from(claimed),
            "{held} of {claimed}"
        );
    }
}
