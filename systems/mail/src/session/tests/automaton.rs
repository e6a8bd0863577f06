//! The session accepts exactly what a simple model of the RFCs accepts.

use super::*;
use proptest::prelude::*;

/// The RFCs' rules on the order of commands, and nothing else.
#[derive(Debug, Clone, Copy, Default)]
struct Naive {
    is_greeted: bool,
    is_extended: bool,
    has_sender: bool,
    recipients: u32,
    is_chunked: bool,
    is_covered: bool,
    is_known: bool,
}

/// What is required before a client may send mail.
#[derive(Debug, Clone, Copy)]
struct Rules {
    tls: Policy,
    auth: Policy,
    auth_in_clear: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verb {
    Helo,
    Ehlo,
    Mail,
    MailWithSize,
    Rcpt,
    Data,
    Chunk,
    LastChunk,
    StartTls,
    Auth,
    Rset,
    Noop,
    Help,
    Vrfy,
    /// A line that is not a command.
    Nonsense(&'static str),
}

const NONSENSE: [&str; 12] = [
    "DATA now",
    "MAIL FROM:a@b",
    "MAIL FROM: <a@b>",
    "RCPT TO:<>",
    "EHLO",
    "HELO a b",
    "BDATA 1",
    " NOOP",
    "AUTH",
    "STARTTLS x",
    "MAIL FROM:<a@b> X=1",
    "RSET\tx",
];

impl Verb {
    fn line(self) -> &'static str {
        match self {
            Self::Helo => "HELO c",
            Self::Ehlo => "EHLO c",
            Self::Mail => "MAIL FROM:<a@b>",
            Self::MailWithSize => "MAIL FROM:<a@b> SIZE=3 BODY=8BITMIME",
            Self::Rcpt => "RCPT TO:<c@d>",
            Self::Data => "DATA",
            Self::Chunk => "BDAT 3",
            Self::LastChunk => "BDAT 3 LAST",
            Self::StartTls => "STARTTLS",
            Self::Auth => "AUTH PLAIN AHRpbQBzZWNyZXQ=",
            Self::Rset => "RSET",
            Self::Noop => "NOOP",
            Self::Help => "HELP",
            Self::Vrfy => "VRFY tim",
            Self::Nonsense(line) => line,
        }
    }
}

impl Naive {
    fn allows(&self, verb: Verb, rules: Rules) -> bool {
        let is_free = matches!(verb, Verb::Ehlo | Verb::Noop | Verb::StartTls);
        if rules.tls == Policy::Required && !self.is_covered && !is_free {
            return false;
        }
        let may_send = rules.auth != Policy::Required || self.is_known;
        let has_envelope = self.has_sender && self.recipients > 0;
        match verb {
            Verb::Helo | Verb::Ehlo | Verb::Rset | Verb::Noop | Verb::Help => true,
            Verb::Mail => self.is_greeted && !self.has_sender && may_send,
            Verb::MailWithSize => self.is_extended && !self.has_sender && may_send,
            Verb::Rcpt => self.has_sender && !self.is_chunked,
            Verb::Data => has_envelope && !self.is_chunked,
            Verb::Chunk | Verb::LastChunk => self.is_extended && has_envelope,
            Verb::StartTls => rules.tls != Policy::None && self.is_extended && !self.is_covered,
            Verb::Auth => {
                let is_safe = self.is_covered || rules.auth_in_clear;
                let is_offered = rules.auth != Policy::None && is_safe;
                is_offered && self.is_extended && !self.is_known && !self.has_sender
            }
            Verb::Vrfy | Verb::Nonsense(_) => false,
        }
    }

    fn reset(&mut self) {
        (self.has_sender, self.recipients, self.is_chunked) = (false, 0, false);
    }

    fn accept(&mut self, verb: Verb) {
        match verb {
            Verb::Helo | Verb::Ehlo => {
                self.reset();
                (self.is_greeted, self.is_extended) = (true, verb == Verb::Ehlo);
            }
            Verb::Mail | Verb::MailWithSize => self.has_sender = true,
            Verb::Rcpt => self.recipients += 1,
            Verb::Chunk => self.is_chunked = true,
            Verb::Data | Verb::LastChunk | Verb::Rset => self.reset(),
            Verb::StartTls => *self = Self { is_covered: true, ..Self::default() },
            Verb::Auth => self.is_known = true,
            Verb::Noop | Verb::Help | Verb::Vrfy | Verb::Nonsense(_) => {}
        }
    }
}

fn verb() -> impl Strategy<Value = Verb> {
    let verbs = [
        Verb::Helo,
        Verb::Ehlo,
        Verb::Ehlo,
        Verb::Mail,
        Verb::Mail,
        Verb::MailWithSize,
        Verb::Rcpt,
        Verb::Rcpt,
        Verb::Data,
        Verb::Chunk,
        Verb::LastChunk,
        Verb::StartTls,
        Verb::Auth,
        Verb::Rset,
        Verb::Noop,
        Verb::Help,
        Verb::Vrfy,
    ];
    prop_oneof![
        8 => proptest::sample::select(verbs.to_vec()),
        1 => proptest::sample::select(NONSENSE.to_vec()).prop_map(Verb::Nonsense),
    ]
}

fn rules() -> impl Strategy<Value = Rules> {
    let policy =
        || proptest::sample::select(vec![Policy::None, Policy::Optional, Policy::Required]);
    (policy(), policy(), any::<bool>()).prop_map(|(tls, auth, auth_in_clear)| Rules {
        tls,
        auth,
        auth_in_clear,
    })
}

/// Sends one command, with content if needed; returns whether all of it was accepted.
fn is_accepted(test: &mut TestSession<'_>, verb: Verb) -> bool {
    let mut said = codes(&test.lines(&[verb.line()]));
    match verb {
        Verb::Data if said == [354] => said = codes(&test.lines(&["text\r\n."])),
        Verb::Chunk | Verb::LastChunk => {
            assert_eq!(said, [0; 0], "a chunk is answered when it is there");
            said = codes(&test.feed(b"abc"));
        }
        _ => {}
    }
    assert_eq!(said.len(), 1, "one reply to {verb:?}");
    said[0] < 400
}

proptest! {
    #[test]
    fn what_is_accepted_is_what_the_rfcs_allow(
        rules in rules(), verbs in proptest::collection::vec(verb(), 0..60),
    ) {
        let settings = Settings {
            tls: rules.tls,
            auth: rules.auth,
            auth_in_clear: rules.auth_in_clear,
            users: [("tim".to_owned(), "secret".to_owned())].into(),
            max_errors: 1_000,
            ..Settings::default()
        };
        let counts = Counts::default();
        let mut test = TestSession::new(&settings, &counts);
        test.feed(b"");
        let (mut naive, mut messages) = (Naive::default(), 0);
        for verb in verbs {
            let is_allowed = naive.allows(verb, rules);
            prop_assert_eq!(is_accepted(&mut test, verb), is_allowed, "{:?} in {:?}", verb, naive);
            if is_allowed {
                naive.accept(verb);
                messages += usize::from(matches!(verb, Verb::Data | Verb::LastChunk));
            }
            prop_assert_eq!(test.kept.len(), messages);
            prop_assert_eq!(test.draft.is_some(), naive.is_chunked);
        }
    }
}
