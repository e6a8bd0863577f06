//! What it costs a coordinator to read and merge the reports of many agents: `merging AGENTS OPERATIONS SECONDS`.
//!
//! Each agent has 2,000 operations a second, whose times are log-normal around 5 ms, and reports a window a second with
//! the events that come with it. The reports of a second are made first; then the processor time of reading and merging
//! them is taken. Not here: NATS itself, and what is done with merged windows, which does not depend on the agents.

use std::error::Error;
use std::io::Write;

use engine::trial::TrialOutput;
use fleet::merger::OutputMerger;
use fleet::partial::PartialTotals;
use fleet::protocol::{Dispatch, Output, Report};
use plan::randomness::{RandomStream, draw, unit};
use record::event::{Event, EventKind, Phase, Progress};
use record::{Layout, OperationWindow, Window, WindowSpan};
use rustix::time::{ClockId, clock_gettime};
use stats::{COARSE, Histogram};

/// Operations a second of an agent.
const RATE: u64 = 2_000;
const MEDIAN_NS: f64 = 5e6;
/// Of the logarithm of a time.
const DEVIATION: f64 = 0.6;
const SECOND: u64 = 1_000_000_000;

fn main() -> Result<(), Box<dyn Error>> {
    let numbers: Result<Vec<u64>, _> = std::env::args().skip(1).map(|one| one.parse()).collect();
    let [agents, operations, seconds] = numbers?[..] else {
        return Err("usage: merging AGENTS OPERATIONS SECONDS".into());
    };
    let names = (0..operations).map(|number| format!("operation{number}"));
    let layout = Layout {
        operations: names.collect(),
        items: vec![Vec::new(); operations as usize],
        spans: ["connect", "tls", "send", "wait", "receive"].map(str::to_owned).to_vec(),
        journeys: Vec::new(),
    };
    let mut merger = OutputMerger::new(agents as usize, &layout, SECOND, WindowSpan::ResponseTime);
    let mut partial: Vec<PartialTotals> =
        (0..agents).map(|_| PartialTotals::new(&layout)).collect();
    let (mut cpu_ns, mut bytes, mut merged) = (0, 0, 0);
    for second in 0..seconds {
        let reports: Vec<Vec<u8>> =
            (0..agents).flat_map(|agent| reports(agent, second, operations)).collect();
        bytes += reports.iter().map(Vec::len).sum::<usize>() as u64;
        let from = processor_time();
        for payload in reports {
            let Dispatch { share, report, .. } = serde_json::from_slice(&payload)?;
            let share = share as usize - 1;
            let outputs = match report {
                Report::Output(Output::Part(window)) => {
                    partial[share].add(&window);
                    merger.part(share, window)
                }
                Report::Output(Output::Window(window)) => {
                    partial[share].add(&window);
                    merger.receive(share, TrialOutput::Window(window))
                }
                Report::Output(Output::Event(event)) => {
                    merger.receive(share, TrialOutput::Event(event))
                }
                other => return Err(format!("unexpected: {other:?}").into()),
            };
            for output in outputs {
                if let TrialOutput::Window(window) = output {
                    merged += window.counts().planned;
                }
            }
        }
        cpu_ns += processor_time() - from;
    }
    assert_eq!(merged, agents * (RATE / operations) * operations * seconds, "nothing is lost");
    let found = serde_json::json!({
        "agents": agents,
        "operations": operations,
        "seconds": seconds,
        "processor_share": cpu_ns as f64 / (seconds * SECOND) as f64,
        "bytes_per_agent_second": bytes / (agents * seconds),
        "peak_resident_bytes": peak_resident()?,
    });
    writeln!(std::io::stdout(), "{found}")?;
    Ok(())
}

/// The reports of an agent about one second.
fn reports(agent: u64, second: u64, operations: u64) -> Vec<Vec<u8>> {
    let seed = second << 32 | agent;
    let of_operation = |operation| {
        let planned = RATE / operations;
        let times = |stream| {
            let mut times = Histogram::new(COARSE);
            for index in 0..planned {
                times.record(time(seed, stream, operation * RATE + index));
            }
            Some(times)
        };
        OperationWindow {
            planned,
            succeeded: planned,
            response_time: times(RandomStream::Content),
            service_time: times(RandomStream::Row),
            ..OperationWindow::default()
        }
    };
    let window = Window {
        number: second,
        operations: (0..operations).map(of_operation).collect(),
        journeys: Vec::new(),
    };
    let at_ns = ((second + 1) * SECOND).cast_signed();
    let event = |kind| TrialOutput::Event(Event { at_ns, kind });
    let progress = Progress { phase: Some(Phase::Measure), started: RATE, ..Progress::default() };
    let closed = event(EventKind::WindowClosed(window.counts()));
    let all = [closed, TrialOutput::Window(window), event(EventKind::Progress(progress))];
    let share = agent as u32 + 1;
    let dispatch =
        |output| Dispatch { share, attempt: 1, trial: 1, report: Report::Output(output) };
    let payloads = all.into_iter().flat_map(Output::of).map(dispatch);
    payloads.map(|one| serde_json::to_vec(&one).expect("a report is JSON")).collect()
}

/// A log-normal time.
fn time(seed: u64, stream: RandomStream, index: u64) -> u64 {
    let draw = |half: u64| unit(draw(seed, stream, 2 * index + half));
    let normal = (-2.0 * draw(0).ln()).sqrt() * (std::f64::consts::TAU * draw(1)).cos();
    (MEDIAN_NS * (DEVIATION * normal).exp()) as u64
}

/// Nanoseconds that this thread has had a processor.
fn processor_time() -> u64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    (time.tv_sec.cast_unsigned()) * SECOND + time.tv_nsec.cast_unsigned()
}

fn peak_resident() -> Result<u64, Box<dyn Error>> {
    let text = std::fs::read_to_string("/proc/self/status")?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:")).ok_or("no peak")?;
    Ok(1024 * line.trim().trim_end_matches(" kB").parse::<u64>()?)
}
