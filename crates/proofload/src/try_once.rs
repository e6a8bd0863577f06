//! Sends each operation of an arm once and shows requests and answers, for `check --try`.

use std::fmt::Write;
use std::rc::Rc;

use drivers::AnyDriver;
use drivers::probe::{CheckedExpectation, NO_ANSWER, Probe, within};
use engine::StopSignal;
use engine::clock::{Clock, Real};
use engine::connect::Route;
use engine::driver::{Call, CompileContext, DialogueEntry, Driver, Exchange};
use engine::process::{ProcessError, Processes};
use engine::transport::{Endpoint, Kernel};
use plan::journey::{Action, Memory, Repeat, Step};
use plan::mix::{Assignment, Mix};
use plan::plan::{Arm, TrialPlan};
use plan::secret::is_authorising;
use record::{FailureKind, Outcome};
use tokio::runtime::{Builder, LocalOptions};

use crate::Exit;
use crate::execution::{driver, now_text};
use crate::problem::Problem;
use crate::systems::launcher;

/// Bytes of a body that are shown.
const BODY_SHOWN: usize = 4096;
/// Most draws from the mix until each operation came up.
const DRAWS: usize = 1_000_000;

/// The result.
#[derive(Debug)]
pub struct TryReport {
    /// The text for people.
    pub text: String,
    /// Whether every operation succeeded.
    pub all_succeeded: bool,
}

/// Starts the processes that the arm needs, performs each operation once, and stops them.
///
/// Errors: a process could not be started, or an address cannot be used
pub fn try_arm(arm: &Arm, trial: &TrialPlan, stop: &StopSignal) -> Result<TryReport, Problem> {
    let driver = driver(arm)?;
    let processes = launcher(std::slice::from_ref(arm))?
        .start(arm, &|| stop.requests() > 0)
        .map_err(|error| {
            if matches!(error, ProcessError::Interrupted { .. }) {
                return stopped();
            }
            let problem = Problem::environment(error.to_string()).during("starting the system");
            match error.hint() {
                Some(hint) => problem.hint(hint),
                None => problem,
            }
        })?;
    let runtime = Builder::new_current_thread().enable_io().build_local(LocalOptions::default());
    let runtime = runtime.map_err(|error| Problem::environment(error.to_string()))?;
    let tried = runtime.block_on(try_all(&driver, arm, trial, &processes, stop));
    processes.stop();
    tried
}

async fn try_all(
    driver: &AnyDriver,
    arm: &Arm,
    trial: &TrialPlan,
    processes: &Processes,
    stop: &StopSignal,
) -> Result<TryReport, Problem> {
    let unusable = |error: &dyn std::fmt::Display| Problem::environment(error.to_string());
    let targets = arm.targets.iter().map(|target| processes.addresses().fill_target(target));
    let targets = targets.collect::<Result<Vec<_>, _>>().map_err(|error| unusable(&error))?;
    let endpoints = targets.iter().map(Endpoint::resolve).collect::<Result<Vec<_>, _>>();
    let endpoints = endpoints.map_err(|error| unusable(&error))?;
    let clock = Real::start().map_err(|error| unusable(&error))?;
    let mut tried = TryReport { text: String::new(), all_succeeded: true };
    for Try { call, each } in tries(arm, trial, clock.now()) {
        call.memory.iter().for_each(|memory| memory.set_each(each));
        let operation = &arm.operations[call.operation];
        let target = operation.target.index(call.row);
        let wall_clock = now_text();
        let compile = CompileContext { operation, targets: &targets, wall_clock: &wall_clock };
        let compiled = driver.compile(compile);
        let compiled = compiled.map_err(|_| Problem::usage("an operation cannot be compiled"))?;
        let mut exchange = Exchange::new(clock.clone());
        exchange.dialogue = Some(Vec::new());
        let (operation, endpoints) = (&compiled, endpoints.as_slice());
        let route = Route { driver, operation, endpoints, target, network: &Kernel };
        let at = &endpoints[route.first(&call).unwrap_or(target)];
        let name = &arm.operations[call.operation].name;
        let _ = writeln!(tried.text, "operation {name} at {at}\n");
        let timeout = u64::try_from(arm.load.timeout.as_nanos()).unwrap_or(u64::MAX / 2);
        exchange.gives_up_at = Some(clock.now() + timeout);
        let attempt = attempt(route, &call, &mut exchange);
        let attempt = tokio::select! {
            done = attempt => done,
            () = stop.requested(1) => return Err(stopped()),
        };
        let dialogue = exchange.dialogue.unwrap_or_default();
        for DialogueEntry { is_ours, text } in &dialogue {
            quote_lines(&mut tried.text, if *is_ours { '>' } else { '<' }, text, false);
        }
        tried.text.push_str(if dialogue.is_empty() { "" } else { "\n" });
        match attempt {
            Ok(probe) => {
                tried.all_succeeded &= probe.outcome == Outcome::Succeeded;
                show(&probe, &mut tried.text);
            }
            Err((kind, detail)) => {
                tried.all_succeeded = false;
                let _ = writeln!(tried.text, "  failed: {} ({detail})\n", kind.name());
            }
        }
    }
    Ok(tried)
}

fn stopped() -> Problem {
    Problem { exit: Exit::Undecided, ..Problem::environment("stopped before everything was tried") }
}

/// An operation to be tried.
struct Try {
    call: Call,
    /// What `{{each}}` stands for: the first value of a list.
    each: Option<(usize, usize)>,
}

/// The first call of each operation that begins on its own, then each journey's steps in order, as planned; each step
/// once.
fn tries(arm: &Arm, trial: &TrialPlan, now: u64) -> Vec<Try> {
    let mut first: Vec<Option<Assignment>> = vec![None; arm.names().len()];
    for assignment in
        Mix::new(&arm.operations, &arm.journeys, trial.seed).of_load(&arm.load).take(DRAWS)
    {
        first[assignment.operation].get_or_insert(assignment);
        if first.iter().all(Option::is_some) {
            break;
        }
    }
    let call = |assignment: Assignment, operation: usize, memory: Option<&Rc<Memory>>| Call {
        index: assignment.index,
        operation,
        sequence: assignment.sequence,
        row: assignment.row,
        trial: trial.index,
        seed: trial.seed,
        now,
        trace: None,
        memory: memory.map(Rc::clone),
    };
    let mut tries: Vec<Try> = Vec::new();
    let beginning = Assignment { index: 0, operation: 0, sequence: 0, row: 0 };
    for preparation in arm.setup.iter() {
        let memory = Rc::default();
        let calls = preparation.steps.iter().map(|&step| call(beginning, step, Some(&memory)));
        tries.extend(calls.map(|call| Try { call, each: None }));
    }
    let operations = arm.operations.len();
    for assignment in first.into_iter().flatten() {
        let Some(journey) = assignment.operation.checked_sub(operations) else {
            tries.push(Try { call: call(assignment, assignment.operation, None), each: None });
            continue;
        };
        let memory = Rc::default();
        for step in &arm.journeys[journey].steps {
            let first = match (&arm.journeys[journey].sessions, step) {
                (Some(sessions), Step::Do(Action { repeat: Repeat::Session, .. })) => {
                    sessions.place(assignment.row, 0)
                }
                _ => assignment.row,
            };
            let each = match step {
                Step::Do(Action { repeat: Repeat::Each { capture, .. }, .. }) => {
                    Some((*capture, 0))
                }
                _ => None,
            };
            let calls = step.operations().iter();
            let assignment = Assignment { row: first, ..assignment };
            let calls = calls.map(|&operation| call(assignment, operation, Some(&memory)));
            tries.extend(calls.map(|call| Try { call, each }));
        }
    }
    tries
}

type Attempt = Result<Probe, (FailureKind, String)>;

async fn attempt(
    route: Route<'_, Kernel, AnyDriver>,
    call: &Call,
    exchange: &mut Exchange<Real>,
) -> Attempt {
    let Route { driver, operation, .. } = route;
    let mut opened =
        connected(exchange, async |exchange| route.begin(call, exchange).await).await?;
    driver.encode(operation, &mut opened.stream, call);
    loop {
        let probe = driver.probe(operation, &mut opened.stream, exchange).await;
        let next = connected(exchange, async |exchange| route.go_on(exchange).await).await?;
        let Some((next, state)) = next else { return Ok(probe) };
        opened = next;
        driver.resume(operation, &mut opened.stream, call, state);
    }
}

/// Connects within the time-out.
async fn connected<T>(
    exchange: &mut Exchange<Real>,
    connecting: impl AsyncFnOnce(&mut Exchange<Real>) -> Result<T, (FailureKind, String)>,
) -> Result<T, (FailureKind, String)> {
    let connected = within(exchange, connecting).await;
    connected.unwrap_or_else(|kind| Err((kind, NO_ANSWER.to_owned())))
}

fn show(probe: &Probe, text: &mut String) {
    quote(text, '>', &without_authorisation(&probe.request), false);
    quote(text, '<', &probe.head, false);
    quote(text, '<', &probe.body, probe.is_truncated);
    for CheckedExpectation { text: expected, holds, seen } in &probe.checks {
        let word = if *holds { "holds" } else { "DOES NOT HOLD" };
        let _ = writeln!(text, "  {word}: {expected} (seen: {seen})");
    }
    let _ = match (&probe.outcome, &probe.detail) {
        (Outcome::Succeeded, _) => writeln!(text, "  succeeded\n"),
        (Outcome::Failed(kind), Some(detail)) => {
            writeln!(text, "  failed: {} ({detail})\n", kind.name())
        }
        (Outcome::Failed(kind), None) => writeln!(text, "  failed: {}\n", kind.name()),
        (Outcome::Abandoned, _) => writeln!(text, "  abandoned\n"),
    };
}

/// The request without the values of header fields that carry credentials.
fn without_authorisation(request: &[u8]) -> Vec<u8> {
    let mut shown = Vec::with_capacity(request.len());
    let mut in_head = true;
    for line in request.split_inclusive(|byte| *byte == b'\n') {
        in_head &= !line.trim_ascii().is_empty();
        let name = line.split(|byte| *byte == b':').next().filter(|_| in_head);
        match name.and_then(|name| std::str::from_utf8(name).ok()) {
            Some(name) if is_authorising(name) => {
                shown.extend_from_slice(name.as_bytes());
                shown.extend_from_slice(": …\r\n".as_bytes());
            }
            _ => shown.extend_from_slice(line),
        }
    }
    shown
}

/// Quotes bytes as lines after a mark. Bytes that are not UTF-8 become replacement characters; control characters are
/// escaped.
fn quote_lines(text: &mut String, mark: char, bytes: &[u8], is_truncated: bool) {
    let shown = &bytes[..bytes.len().min(BODY_SHOWN)];
    for line in String::from_utf8_lossy(shown).lines() {
        let _ = write!(text, "  {mark} ");
        for letter in line.chars() {
            let _ = match letter {
                '"' | '\'' | '\\' => write!(text, "{letter}"),
                _ => write!(text, "{}", letter.escape_debug()),
            };
        }
        text.push('\n');
    }
    if shown.len() < bytes.len() || is_truncated {
        // Directly after the text, not only on the next line: redaction recognises a truncated secret by what follows
        // it.
        text.insert(text.trim_end().len(), '…');
        let _ = writeln!(text, "  {mark} … {} bytes in all", bytes.len());
    }
}

/// The same, followed by an empty line.
fn quote(text: &mut String, mark: char, bytes: &[u8], is_truncated: bool) {
    quote_lines(text, mark, bytes, is_truncated);
    if !bytes.is_empty() {
        text.push('\n');
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn what_is_sent_stands_as_it_is_and_steers_no_terminal() {
        let mut text = String::new();
        super::quote(&mut text, '>', b"{\"say\":\"it's \\n\"}\r\n\x1b[2J", false);
        assert_eq!(text, "  > {\"say\":\"it's \\n\"}\n  > \\u{1b}[2J\n\n");
    }
}
