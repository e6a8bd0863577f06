//! Whole trials in virtual time: connections each and kept, time-outs of every kind, the mix of sessions.

use plan::document::Table;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use drivers::AnyDriver;
use engine::StopSignal;
use engine::clock::Virtual;
use engine::transport::MemoryNetwork;
use engine::transport::memory::Accept;
use engine::trial::{Setup, Start, TrialOutput, run_virtual};
use plan::load::{Load, Model, Reuse, SteadyState, Stop, WarmUp};
use plan::operation::Operation;
use plan::plan::{Arm, TrialPlan};
use plan::plan_share::PlanShare;
use plan::target::Target;
use record::event::EventKind;
use record::{FailureKind, OperationTotals, TrialFacts};

use crate::smtp::stand::{
    HearContent, PLAIN, Step, Wait, accepted, hear, planned, play, say, welcome,
};

const MS: u64 = 1_000_000;

/// A closed loop of one connection, so many messages long, in which replies may take 100 ms.
struct TestTrial {
    operations: Vec<Operation>,
    messages: u64,
    reuse: Reuse,
}

impl TestTrial {
    fn new(text: &str, messages: u64, reuse: Reuse) -> Self {
        Self { operations: vec![planned(text)], messages, reuse }
    }

    fn arm(&self) -> Arm {
        Arm {
            name: "all".to_owned(),
            factors: BTreeMap::new(),
            values: BTreeMap::new(),
            targets: vec![Target { url: "smtp://target".to_owned(), ..Target::default() }],
            load: Load {
                model: Model::Closed,
                stop: Stop::Operations { count: self.messages },
                warm_up: WarmUp::Fixed { length: Duration::ZERO },
                timeout: Duration::from_millis(100),
                connections: 1,
                streams: 1,
                reuse: self.reuse,
                steady_state: SteadyState::Reported,
                workers: Some(1),
                busy_poll: false,
            },
            operations: self.operations.clone(),
            services: Vec::new(),
            system: None,
            observers: Vec::new(),
            faults: Vec::new(),
            journeys: Vec::new(),
            setup: None,
            teardown: None,
        }
    }

    /// The trial against a server that plays this script on every connection, and the details that were said.
    fn run(&self, script: Option<Vec<Step>>) -> (TrialFacts, Vec<String>) {
        let (clock, network) = (Virtual::new(), MemoryNetwork::new());
        let pacing = clock.clone();
        match script {
            None => network.listen("target", || Accept::Ignore),
            Some(script) => network.serve("target", move |stream| {
                let heard = Rc::new(RefCell::new((Vec::new(), usize::MAX)));
                play(stream, pacing.clone(), script.clone(), heard)
            }),
        }
        let arm = self.arm();
        let names = arm.operations.iter().map(|one| (one.protocol.as_str(), &one.table));
        let setup = Setup {
            driver: Arc::new(AnyDriver::of(names).expect("protocols of the list")),
            arm: &arm,
            trial: &TrialPlan { index: 1, block: 1, order: 1, arm: 0, seed: 1, duet: false },
            wall_clock: "2026-01-01T00:00:00Z".to_owned(),
            calendar: String::new,
            trace_share: None,
            keep_samples: None,
            real_time: true,
            share: PlanShare::WHOLE,
            start: Start::Ready,
            stop: StopSignal::new(),
            end: engine::EndSignal::new(),
        };
        let mut details = Vec::new();
        let mut on = |output| {
            if let TrialOutput::Event(event) = output
                && let EventKind::FailureSeen { detail, .. } = event.kind
            {
                details.push(detail);
            }
        };
        let trial = run_virtual(&setup, &clock, network, 1, &mut on).expect("it runs");
        (trial, details)
    }
}

fn span(totals: &OperationTotals, name: &str) -> (u64, u128) {
    let names = ["connect", "tls"].iter().chain(drivers::span_names("smtp", &Table::default()));
    let place = names.clone().position(|known| *known == name).expect("a span of the driver");
    (totals.spans[place].count(), totals.spans[place].sum())
}

/// Each step of the dialogue with its own length, so that no span can stand for another.
fn paced() -> Vec<Step> {
    let mut steps = vec![Wait(MS), say("220 mail.example")];
    steps.extend([hear("EHLO client.example"), Wait(2 * MS), say("250 mail.example")]);
    for (place, step) in accepted().into_iter().enumerate() {
        if matches!(step, Step::Say(_)) {
            steps.push(Wait((place as u64 + 3) * MS));
        }
        steps.push(step);
    }
    steps
}

#[test]
fn a_connection_for_each_message_has_all_phases_in_its_response_time() {
    let mut script = paced();
    script.extend([hear("QUIT"), Wait(20 * MS), say("221 bye")]);
    let (trial, details) = TestTrial::new(PLAIN, 7, Reuse::NewPerOperation).run(Some(script));
    let total = trial.totals.total();
    assert_eq!((total.succeeded, details), (7, Vec::new()));
    let lengths = [
        ("greeting", 1),
        ("ehlo", 2),
        ("mail", 4),
        ("rcpt", 6),
        ("data", 8),
        ("accepted", 10),
        ("quit", 20),
    ];
    for (name, length) in lengths {
        assert_eq!(span(&total, name), (7, u128::from(7 * length * MS)), "{name}");
    }
    assert_eq!(span(&total, "reset").0, 0);
    let whole: u64 = lengths.iter().map(|(_, length)| length * MS).sum();
    assert_eq!(total.response_time.sum(), u128::from(7 * whole));
    assert_eq!(
        total.service_time.sum(),
        u128::from(7 * (whole - 3 * MS)),
        "without what is connecting"
    );
    assert_eq!(total.statuses, BTreeMap::from([(250.into(), 7)]));
    assert_eq!((trial.pool.connections_opened, trial.pool.connections_lost), (7, 0));
}

#[test]
fn a_kept_connection_is_greeted_once() {
    let mut script = paced();
    for _ in 0..4 {
        script.extend([hear("RSET"), Wait(30 * MS), say("250 ok")]);
        script.extend(accepted());
    }
    let (trial, details) = TestTrial::new(PLAIN, 5, Reuse::KeepAlive).run(Some(script));
    let total = trial.totals.total();
    assert_eq!((total.succeeded, details), (5, Vec::new()));
    assert_eq!((span(&total, "greeting").0, span(&total, "reset")), (1, (4, u128::from(120 * MS))));
    assert_eq!(span(&total, "quit").0, 0);
    assert_eq!(trial.pool.connections_opened, 1);
}

#[test]
fn connecting_greeting_and_replies_time_out_as_three_kinds() {
    let never = Wait(500 * MS);
    for (script, kind, length) in [
        (None, FailureKind::ConnectTimeout, 100),
        (Some(vec![never.clone()]), FailureKind::GreetingTimeout, 100),
        (
            Some(vec![say("220 a"), hear("EHLO client.example"), never.clone()]),
            FailureKind::Timeout,
            100,
        ),
        (Some([welcome(&[]), vec![never.clone()]].concat()), FailureKind::Timeout, 100),
        (
            Some(
                [welcome(&[]), accepted()[..6].to_vec(), vec![HearContent, never.clone()]].concat(),
            ),
            FailureKind::Timeout,
            100,
        ),
        // Each reply in time, and all of them together too late: the time-out is that of the operation.
        (Some([welcome(&[]), slow()].concat()), FailureKind::Timeout, 100),
    ] {
        let (trial, _) = TestTrial::new(PLAIN, 1, Reuse::KeepAlive).run(script);
        let total = trial.totals.total();
        assert_eq!(
            (total.failed, total.failures_of(kind)),
            (1, 1),
            "{kind:?}: {:?}",
            total.failures
        );
        assert_eq!(total.time_ns(), u128::from(length * MS), "{kind:?}");
    }
}

/// Replies after 40 ms each.
fn slow() -> Vec<Step> {
    let steps = accepted().into_iter();
    steps
        .flat_map(|step| match step {
            Step::Say(_) => vec![Wait(40 * MS), step],
            _ => vec![step],
        })
        .collect()
}

#[test]
fn a_farewell_without_answer_is_waited_for_and_undoes_nothing() {
    let end = vec![hear("QUIT"), Wait(500 * MS)];
    let script = [vec![Wait(MS)], welcome(&[]), accepted(), end].concat();
    let (trial, details) = TestTrial::new(PLAIN, 2, Reuse::NewPerOperation).run(Some(script));
    let total = trial.totals.total();
    assert_eq!((total.succeeded, details), (2, Vec::new()));
    assert_eq!(total.service_time.sum(), u128::from(2 * 100 * MS), "as long as was waited");
    assert_eq!((span(&total, "accepted"), span(&total, "quit")), ((2, 0), (0, 0)));
}

#[test]
fn what_failed_is_said_with_the_words_of_the_server() {
    let script =
        [welcome(&[]), vec![hear("MAIL FROM:<load@client.example>"), say("452 4.3.1 disk full")]];
    let (trial, details) = TestTrial::new(PLAIN, 1, Reuse::KeepAlive).run(Some(script.concat()));
    assert_eq!(trial.totals.total().statuses, BTreeMap::from([(452.into(), 1)]));
    assert_eq!(details, ["MAIL: 452 4.3.1 disk full"]);
}

#[test]
fn operations_that_open_their_sessions_in_another_way_do_not_share_connections() {
    let one = "smtp = { to = \"a@b.example\", helo = \"one.example\" }";
    let mut test_trial = TestTrial::new(one, 40, Reuse::KeepAlive);
    let other = planned("smtp = { to = \"a@b.example\", helo = \"two.example\" }");
    test_trial.operations.push(Operation { name: "other".to_owned(), ..other });
    let heard = Rc::new(RefCell::new(Vec::new()));
    let (clock, network) = (Virtual::new(), MemoryNetwork::new());
    let said = Rc::clone(&heard);
    network.serve("target", move |stream| answer(stream, Rc::clone(&said)));
    let arm = test_trial.arm();
    let setup = Setup {
        driver: Arc::new(
            AnyDriver::of([("smtp", &Table::default())]).expect("a protocol of the list"),
        ),
        arm: &arm,
        trial: &TrialPlan { index: 1, block: 1, order: 1, arm: 0, seed: 1, duet: false },
        wall_clock: String::new(),
        calendar: String::new,
        trace_share: None,
        keep_samples: None,
        real_time: true,
        share: PlanShare::WHOLE,
        start: Start::Ready,
        stop: StopSignal::new(),
        end: engine::EndSignal::new(),
    };
    let trial = run_virtual(&setup, &clock, network, 1, &mut |_| {}).expect("it runs");
    assert_eq!(trial.totals.total().succeeded, 40);
    let heard = heard.borrow();
    for (helo, message) in heard.iter() {
        let name = helo.trim_end().strip_prefix("EHLO ").expect("a name");
        assert!(message.contains(&format!("@{name}>")), "{name}: {message}");
    }
    let opened = trial.pool.connections_opened;
    assert_eq!(opened, 2, "one for each kind of session");
    assert_eq!(trial.pool.connections_lost, 0, "they were closed as planned");
}

type Pairs = Rc<RefCell<Vec<(String, String)>>>;

/// A server without a script: says yes to everything and remembers each message with the name of its client.
async fn answer(stream: tokio::io::DuplexStream, said: Pairs) {
    use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
    let mut stream = BufReader::new(stream);
    let (mut helo, mut message, mut in_data) = (String::new(), String::new(), false);
    let mut reply = "220 mail.example\r\n";
    loop {
        if stream.write_all(reply.as_bytes()).await.is_err() {
            return;
        }
        let mut line = String::new();
        if stream.read_line(&mut line).await.unwrap_or(0) == 0 {
            return;
        }
        reply = match line.get(..4) {
            _ if in_data && line == ".\r\n" => {
                in_data = false;
                said.borrow_mut().push((helo.clone(), std::mem::take(&mut message)));
                "250 kept\r\n"
            }
            _ if in_data => {
                message.push_str(&line);
                ""
            }
            Some("DATA") => {
                in_data = true;
                "354 go on\r\n"
            }
            Some("EHLO") => {
                helo = line;
                "250 mail.example\r\n"
            }
            _ => "250 ok\r\n",
        };
    }
}
