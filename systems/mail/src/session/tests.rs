use std::net::SocketAddr;

use super::*;
use crate::envelope::Envelope;
use crate::refusal::Refusal;

mod automaton;
mod defects;
mod dialogues;
mod faults;
mod splits;

/// A session with a store that keeps everything, driven by the test.
struct TestSession<'s> {
    session: Session<'s>,
    input: Vec<u8>,
    /// All replies.
    said: String,
    /// All stored messages.
    kept: Vec<(Envelope, Vec<u8>)>,
    draft: Option<(Envelope, Vec<u8>)>,
    /// The store's next refusal of begin, write and end.
    refusals: [Option<Refusal>; 3],
    pauses: Vec<std::time::Duration>,
    is_over: bool,
    /// The most bytes of replies that were pending at once.
    most_waiting: usize,
}

fn peer() -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], 2525))
}

impl<'s> TestSession<'s> {
    fn new(settings: &'s Settings, counts: &'s Counts) -> Self {
        let session = Session::new(settings, counts, Origin { peer: peer(), tls: None });
        Self {
            session,
            input: Vec::new(),
            said: String::new(),
            kept: Vec::new(),
            draft: None,
            refusals: [None, None, None],
            pauses: Vec::new(),
            is_over: false,
            most_waiting: 0,
        }
    }

    /// Feeds bytes as if read at once; returns the replies to them.
    fn feed(&mut self, bytes: &[u8]) -> String {
        let start = self.said.len();
        self.input.extend_from_slice(bytes);
        while !self.is_over && self.turn() {}
        self.said[start..].to_owned()
    }

    /// Feeds lines one at a time, and returns the last reply.
    fn lines(&mut self, lines: &[&str]) -> String {
        let mut said = String::new();
        for line in lines {
            said = self.feed(format!("{line}\r\n").as_bytes());
        }
        said
    }

    /// Checks a dialogue: the input, and how the reply begins.
    fn holds(&mut self, dialogue: &[(&str, &str)]) {
        for (fed, expect) in dialogue {
            let said = self.lines(&[fed]);
            assert!(said.starts_with(expect), "{fed}: expected {expect}, got {said}");
            assert_eq!(said.is_empty(), expect.is_empty(), "{fed}: got {said}");
        }
    }

    /// One step; `false` when the session wants to read.
    fn turn(&mut self) -> bool {
        let input = std::mem::take(&mut self.input);
        let step = self.session.take(&input);
        assert!(step.used <= input.len());
        let action = step.action;
        let is_reading = action == Action::Read;
        match action {
            Action::Read | Action::Flush => {}
            Action::Pause(length) => self.pauses.push(length),
            Action::Begin => self.begin(),
            Action::Content(content) => match self.refusals[1].take() {
                Some(refusal) => {
                    self.draft = None;
                    self.session.failed(refusal);
                }
                None => self.draft.as_mut().unwrap().1.extend_from_slice(content),
            },
            Action::Abandon => assert!(self.draft.take().is_some() || self.is_refused()),
            Action::End => self.end(),
            Action::Upgrade => {
                assert_eq!(step.used, input.len(), "nothing is behind STARTTLS");
                self.session.secured("TLSv1.3");
            }
            Action::HangUp | Action::Close => self.is_over = true,
        }
        self.input = input[step.used..].to_vec();
        let waiting = self.session.replies().bytes().len();
        self.most_waiting = self.most_waiting.max(waiting);
        if action != Action::HangUp {
            self.said.push_str(std::str::from_utf8(self.session.replies().bytes()).unwrap());
        }
        self.session.replies().clear();
        !is_reading
    }

    /// A message without a draft: refused because of its size, before the store began.
    fn is_refused(&self) -> bool {
        self.session.rejection.is_some()
    }

    fn begin(&mut self) {
        let envelope = self.session.envelope();
        let refused = self.refusals[0].take();
        self.draft = refused.is_none().then(|| (envelope, Vec::new()));
        self.session.begun(refused.map_or(Ok(()), Err));
    }

    fn end(&mut self) {
        let draft = self.draft.take().unwrap();
        let refused = self.refusals[2].take();
        if refused.is_none() {
            self.kept.push(draft);
        }
        let name = || self.kept.len().to_string();
        self.session.ended(refused.map_or_else(|| Ok(name()), Err));
    }
}

/// The codes of the replies, without continuation lines.
fn codes(said: &str) -> Vec<u16> {
    let is_last = |line: &&str| line.as_bytes().get(3) == Some(&b' ');
    said.lines().filter(is_last).map(|line| line[..3].parse().unwrap()).collect()
}

/// A session with these settings, after the server's greeting.
fn with<R>(settings: &Settings, check: impl FnOnce(&mut TestSession<'_>, &Counts) -> R) -> R {
    let counts = Counts::default();
    let mut test = TestSession::new(settings, &counts);
    assert!(test.feed(b"").starts_with("220 mail.example ESMTP"));
    check(&mut test, &counts)
}
