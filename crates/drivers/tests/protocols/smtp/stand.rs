//! A server that plays from a script, in virtual time, and a client that talks to it.

use std::cell::RefCell;
use std::rc::Rc;

use drivers::smtp::conversation::Conversation;
use drivers::smtp::driver::Smtp;
use drivers::smtp::operation::Operation;
use drivers::smtp::span::NAMES;
use engine::clock::{Clock, Virtual};
use engine::driver::{Call, CompileContext, DialogueEntry, Driver, Exchange};
use engine::transport::{Address, Endpoint, Stream};
use record::{FailureKind, Outcome};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};

/// One step of a server.
#[derive(Debug, Clone)]
pub enum Step {
    /// Writes this.
    Say(String),
    /// Writes this one byte at a time.
    Spell(String),
    /// Reads a line, which must be this.
    Hear(String),
    /// Reads to the end of data.
    HearContent,
    /// Reads so many bytes.
    HearBytes(usize),
    /// Lets so many nanoseconds go by.
    Wait(u64),
    /// Goes away when nothing more comes.
    Linger,
}

pub use Step::{HearBytes, HearContent, Linger, Spell, Wait};

pub fn say(text: &str) -> Step {
    Step::Say(format!("{text}\r\n"))
}

pub fn hear(text: &str) -> Step {
    Step::Hear(format!("{text}\r\n"))
}

/// A greeting, `EHLO`, and these offers.
pub fn welcome(offers: &[&str]) -> Vec<Step> {
    let mut lines = vec!["250-mail.example".to_owned()];
    lines.extend(offers.iter().map(|offer| format!("250-{offer}")));
    let last = lines.pop().expect("a line").replacen('-', " ", 1);
    lines.push(last);
    vec![say("220 mail.example ESMTP"), hear("EHLO client.example"), say(&lines.join("\r\n"))]
}

/// One accepted message to one recipient.
pub fn accepted() -> Vec<Step> {
    vec![
        hear("MAIL FROM:<load@client.example>"),
        say("250 ok"),
        hear("RCPT TO:<a@b.example>"),
        say("250 ok"),
        hear("DATA"),
        say("354 go on"),
        HearContent,
        say("250 2.0.0 kept as 1"),
    ]
}

/// The smallest operation.
pub const PLAIN: &str = "smtp = { to = \"a@b.example\" }";

/// An operation as planned, from the text of its table in an experiment file.
pub fn planned(text: &str) -> plan::operation::Operation {
    crate::planned::planned("smtp", text)
}

/// A compiled operation.
pub fn operation(text: &str) -> Operation {
    let planned = planned(text);
    let wall_clock = "2026-11-21T12:00:00Z";
    let compile = CompileContext { operation: &planned, targets: &[], wall_clock };
    Smtp.compile(compile).expect("the operation of the test compiles")
}

pub fn endpoint() -> Endpoint {
    let address = Address::Memory("target".into());
    Endpoint { authority: "mail.example".into(), address, tls: None, upgrade: None, is_web: false }
}

pub fn call(sequence: u64) -> Call {
    Call { index: sequence, sequence, trial: 1, seed: 7, now: 99, ..Call::default() }
}

/// What was seen of a talk.
pub struct Talk {
    /// Of connecting, if that failed.
    pub refused: Option<(FailureKind, String)>,
    /// Of each message.
    pub outcomes: Vec<Outcome>,
    /// As the last message left it.
    pub exchange: Exchange<Virtual>,
    /// Service time of the last message.
    pub service_ns: u64,
    /// Every content, as it came.
    pub contents: Vec<Vec<u8>>,
    /// What the server did not get to do.
    pub left: usize,
}

impl Talk {
    /// The stamped spans of the last message, `connect` and `tls` left out.
    pub fn spans(&self) -> Vec<(&'static str, u64)> {
        let stamped = |(place, name): (usize, &&'static str)| {
            let first = Exchange::<Virtual>::FIRST_SPAN;
            self.exchange.spans.get(first + place).map(|length| (*name, length))
        };
        NAMES.iter().enumerate().filter_map(stamped).collect()
    }

    pub fn only_outcome(&self) -> Outcome {
        assert_eq!((self.outcomes.len(), &self.refused), (1, &None));
        self.outcomes[0]
    }

    #[track_caller]
    pub fn failed(&self, kind: FailureKind, detail: &str) {
        assert_eq!(self.only_outcome(), Outcome::Failed(kind), "{:?}", self.exchange.detail);
        assert_eq!(self.exchange.detail.as_deref(), Some(detail));
    }

    #[track_caller]
    pub fn failed_to_connect(&self, kind: FailureKind, detail: &str) {
        assert_eq!(self.refused, Some((kind, detail.to_owned())));
        assert_eq!(self.outcomes, []);
    }

    /// What we said, as it may be shown.
    pub fn ours(&self) -> String {
        let turns = self.exchange.dialogue.iter().flatten();
        let ours = turns.filter(|turn| turn.is_ours);
        ours.map(|DialogueEntry { text, .. }| String::from_utf8_lossy(text)).collect()
    }
}

/// Sends so many messages over one connection to a server with this script; the last one is planned to be the last.
pub fn talk(text: &str, messages: u64, script: &[Vec<Step>]) -> Talk {
    talk_through(64 * 1024, text, messages, script)
}

/// The same over a pipe that holds so many bytes.
pub fn talk_through(pipe: usize, text: &str, messages: u64, script: &[Vec<Step>]) -> Talk {
    let operation = operation(text);
    let clock = Virtual::new();
    let (ours, theirs) = tokio::io::duplex(pipe);
    let heard = Rc::new(RefCell::new((Vec::new(), script.concat().len())));
    let server = play(theirs, clock.clone(), script.concat(), Rc::clone(&heard));
    let mut exchange = Exchange::new(clock.clone());
    let runtime = clock.runtime().expect("a runtime");
    let (refused, outcomes, finished_at, exchange) = runtime.block_on(async move {
        let server = tokio::task::spawn_local(server);
        exchange.clear(operation.items.len());
        exchange.dialogue = Some(Vec::new());
        let stream = Stream::Memory(ours);
        let connected = Smtp.connect(&operation, &endpoint(), stream, &mut exchange).await;
        let mut outcomes = Vec::new();
        let refused = match connected {
            Ok(mut connected) => {
                let mut stream = Smtp.open_stream(&mut connected.connection).expect("the one");
                for sequence in 0..messages {
                    let is_last = sequence + 1 == messages;
                    let met = (&operation, sequence, is_last);
                    outcomes.push(message(met, &mut stream, &mut exchange).await);
                }
                None
            }
            Err(refused) => Some(refused),
        };
        let finished_at = if exchange.read_at > 0 { exchange.read_at } else { exchange.now() };
        server.await.expect("the server keeps to its script");
        (refused, outcomes, finished_at, exchange)
    });
    let (contents, left) = heard.take();
    let service_ns = finished_at - exchange.started_at;
    Talk { refused, outcomes, exchange, service_ns, contents, left }
}

async fn message(
    (operation, sequence, is_last): (&Operation, u64, bool),
    stream: &mut Conversation,
    exchange: &mut Exchange<Virtual>,
) -> Outcome {
    if sequence > 0 {
        exchange.clear(operation.items.len());
    }
    Smtp.encode(operation, stream, &call(sequence));
    exchange.started_at = exchange.now();
    exchange.is_last = is_last;
    Smtp.perform(operation, stream, exchange).await
}

type Heard = Rc<RefCell<(Vec<Vec<u8>>, usize)>>;

/// Plays a server; what is left of the script when the client goes away is told.
pub async fn play(mut stream: DuplexStream, clock: Virtual, script: Vec<Step>, heard: Heard) {
    for step in script {
        match step {
            Step::Say(text) => {
                if stream.write_all(text.as_bytes()).await.is_err() {
                    return;
                }
            }
            Spell(text) => {
                for byte in text.into_bytes() {
                    let _ = stream.write_all(&[byte]).await;
                    for _ in 0..3 {
                        tokio::task::yield_now().await;
                    }
                }
            }
            Step::Hear(line) => {
                let Some(said) = until(&mut stream, b"\r\n").await else { return };
                assert_eq!(String::from_utf8_lossy(&said), line);
            }
            HearContent => {
                let Some(content) = until(&mut stream, b"\r\n.\r\n").await else { return };
                heard.borrow_mut().0.push(content);
            }
            HearBytes(length) => {
                let mut content = vec![0; length];
                if stream.read_exact(&mut content).await.is_err() {
                    return;
                }
                heard.borrow_mut().0.push(content);
            }
            Wait(length) => clock.sleep_until(clock.now() + length).await,
            Linger => {
                let mut rest = Vec::new();
                let _ = stream.read_to_end(&mut rest).await;
                assert_eq!(String::from_utf8_lossy(&rest), "", "nothing more is said");
            }
        }
        heard.borrow_mut().1 -= 1;
    }
}

async fn until(stream: &mut DuplexStream, end: &[u8]) -> Option<Vec<u8>> {
    let mut said = Vec::new();
    while !said.ends_with(end) {
        said.push(stream.read_u8().await.ok()?);
    }
    Some(said)
}

/// A message as it was meant: dots taken away, the end of data too.
pub fn unstuffed(content: &[u8]) -> Vec<u8> {
    let content = content.strip_suffix(b".\r\n").expect("the end of data");
    let lines = content.split_inclusive(|byte| *byte == b'\n');
    lines.flat_map(|line| line.strip_prefix(b".").unwrap_or(line)).copied().collect()
}
