//! Messages between receivers and registries over NATS, in addition to deliveries.
//!
//! A receiver announces itself once a second ([`Presence`] on [`SUBJECT`]). If it sends that as a request, it gets an
//! answer ([`PresenceReply`]) once the announcement takes effect.

use std::fmt::Write;

use hyper::body::Bytes;
use serde::{Deserialize, Serialize};

use crate::object;
use crate::subscription::Pattern;

/// The subject of presence messages. With a namespace appended, it is for that namespace alone, so that server
/// permissions can keep other clients from using it.
pub const SUBJECT: &str = "registry.presence";
/// The stream of at-least-once deliveries.
pub const STREAM: &str = "REGISTRY";
/// Prefix of the subjects in [`STREAM`].
pub const STORED: &str = "registry.durable";
/// Prefix of the subjects of acknowledgements; the coordinator's name and the namespace follow.
pub const ACKS: &str = "registry.acks";

/// Bytes of a receiver's name.
const LONGEST_NAME: usize = 64;
/// Bytes of a namespace or a subject.
const LONGEST: usize = 128;
/// Most bytes of a presence message: thousands of them may wait.
const LONGEST_PRESENCE: usize = 4 << 10;

/// Announces that a receiver is present, or leaves.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Presence {
    /// The receiver's name: letters, digits, `-` and `_`.
    pub receiver: String,
    /// The namespace of its identities.
    pub namespace: String,
    /// The identities that it serves.
    pub pattern: String,
    /// Its subject for deliveries.
    pub subject: String,
    /// It leaves: it counts as absent at once, and deliveries are stored for it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub gone: bool,
    /// It leaves for good: its stored deliveries are dropped.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub forget: bool,
}

/// A coordinator's answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PresenceReply {
    /// Whether the announcement took effect: the next multicast through this coordinator reaches the receiver.
    pub ok: bool,
    /// The coordinator that answers.
    pub coordinator: String,
    /// Whether at-least-once deliveries are stored for it.
    pub durable: bool,
    /// What is wrong with the message, if anything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

impl Presence {
    /// Parses and checks a presence message; returns it with its pattern.
    ///
    /// Errors: a sentence that says what is wrong
    pub fn read(bytes: &[u8]) -> Result<(Self, Pattern), String> {
        if bytes.len() > LONGEST_PRESENCE {
            return Err(format!("a presence must have at most {LONGEST_PRESENCE} bytes"));
        }
        let presence: Self = object::read(bytes).map_err(|error| error.to_string())?;
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        let name = &presence.receiver;
        if name.is_empty() || name.len() > LONGEST_NAME || !name.chars().all(plain) {
            return Err(format!("receiver must have 1 to {LONGEST_NAME} letters, digits, - and _"));
        }
        if presence.namespace.is_empty() || presence.namespace.len() > LONGEST {
            return Err(format!("namespace must have 1 to {LONGEST} bytes"));
        }
        check_subject(&presence.subject)?;
        let pattern = presence.pattern.parse().map_err(|error| format!("pattern: {error}"))?;
        Ok((presence, pattern))
    }

    /// Parses a presence message and checks it against its subject: a subject with a namespace is for that namespace
    /// alone, and its receivers must listen below `registry.` and that namespace.
    ///
    /// Errors: as [`Presence::read`]
    pub fn read_from_subject(subject: &str, bytes: &[u8]) -> Result<(Self, Pattern), String> {
        let (presence, pattern) = Self::read(bytes)?;
        let of = subject.strip_prefix(SUBJECT).and_then(|rest| rest.strip_prefix('.'));
        let Some(namespace) = of else { return Ok((presence, pattern)) };
        if token(&presence.namespace) != namespace {
            return Err(format!("namespace must be {namespace} on {subject}"));
        }
        let below = format!("registry.{namespace}.");
        if !presence.subject.starts_with(&below) {
            return Err(format!("subject must begin with {below} on {subject}"));
        }
        Ok((presence, pattern))
    }

    /// Its encoded form.
    pub fn write(&self) -> Bytes {
        serde_json::to_vec(self).expect("strings and flags always serialize").into()
    }

    /// Its subject in the stream.
    pub fn stored(&self) -> String {
        format!("{STORED}.{}.{}", token(&self.namespace), self.receiver)
    }

    /// The name of its consumer.
    pub fn consumer(&self) -> String {
        format!("{}=={}", token(&self.namespace), self.receiver)
    }
}

#[cfg(test)]
impl Presence {
    /// A receiver of the namespace `n`, for tests.
    pub(super) fn sample(receiver: &str, pattern: &str) -> Self {
        Self {
            receiver: receiver.into(),
            namespace: "n".into(),
            pattern: pattern.into(),
            subject: format!("to.{receiver}"),
            gone: false,
            forget: false,
        }
    }
}

/// Checks a receiver's subject: without wildcards, and not reserved for the registry or the server.
fn check_subject(subject: &str) -> Result<(), String> {
    let literal = |token: &str| {
        let bad = |c: char| c.is_whitespace() || c.is_control() || c == '*' || c == '>';
        !token.is_empty() && !token.chars().any(bad)
    };
    if subject.len() > LONGEST || !subject.split('.').all(literal) {
        return Err(format!("subject must be a literal subject of at most {LONGEST} bytes"));
    }
    let within = |prefix: &str| {
        subject.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    if subject.starts_with('$') || [SUBJECT, STORED, ACKS].into_iter().any(within) {
        return Err("subject must not be one of the registry's or the server's own".to_owned());
    }
    Ok(())
}

/// A namespace as one token of a subject: each byte that is not a letter, a digit, `-` or `_`
/// becomes `=` and two hexadecimal digits.
pub fn token(text: &str) -> String {
    let mut token = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_' {
            token.push(char::from(byte));
        } else {
            // Writing to a string cannot fail.
            let _ = write!(token, "={byte:02X}");
        }
    }
    token
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_presence_is_what_the_documentation_shows() {
        let text = br#"{"receiver":"r-1","namespace":"load.test","pattern":"user-*","subject":"registry.loadtest.r-1"}"#;
        let (presence, pattern) = Presence::read(text).unwrap();
        assert_eq!(pattern, Pattern::Prefix("user-".into()));
        assert!(!presence.gone && !presence.forget);
        assert_eq!(presence.stored(), "registry.durable.load=2Etest.r-1");
        assert_eq!(presence.consumer(), "load=2Etest==r-1");
        let plain = Presence { namespace: "n".into(), ..presence };
        let expected = r#"{"receiver":"r-1","namespace":"n","pattern":"user-*","subject":"registry.loadtest.r-1"}"#;
        assert_eq!(plain.write(), expected);
    }

    #[test]
    fn what_would_do_harm_is_refused() {
        let good = Presence::sample("r", "*");
        let read = |presence: Presence| Presence::read(&presence.write()).map(|_| ());
        assert_eq!(read(good.clone()), Ok(()));
        for bad in ["", "a b", "a.b", "a*", &"r".repeat(65)] {
            assert!(read(Presence { receiver: bad.into(), ..good.clone() }).is_err(), "{bad}");
        }
        for bad in [
            "",
            "a b",
            ">",
            "a.*",
            "a..b",
            ".a",
            "$SYS.x",
            "registry.presence",
            "registry.durable.n.r",
            "registry.acks.c",
            "a\r\nPUB x",
        ] {
            assert!(read(Presence { subject: bad.into(), ..good.clone() }).is_err(), "{bad}");
        }
        for good_subject in ["registry.n.r", "registry.durables", "_INBOX.x"] {
            assert_eq!(read(Presence { subject: good_subject.into(), ..good.clone() }), Ok(()));
        }
        for bad in ["", "a*b", "a b"] {
            assert!(read(Presence { pattern: bad.into(), ..good.clone() }).is_err(), "{bad}");
        }
        let good_one = good.clone();
        assert!(read(Presence { namespace: String::new(), ..good }).is_err());
        let in_order = br#"["r","n","*","to.r",false,false]"#;
        for bad in [&b""[..], b"null", b"{}", b"[1]", b"\xff", in_order] {
            assert!(Presence::read(bad).is_err());
        }
        let padded = |length: usize| {
            let mut bytes = good_one.write().to_vec();
            bytes.resize(length, b' ');
            Presence::read(&bytes).is_ok()
        };
        assert!(padded(LONGEST_PRESENCE) && !padded(LONGEST_PRESENCE + 1));
    }

    #[test]
    fn a_subject_with_a_namespace_is_for_that_one() {
        let check = |subject: &str, namespace: &str, listens: &str| {
            let plain = Presence::sample("r", "*");
            let presence =
                Presence { namespace: namespace.into(), subject: listens.into(), ..plain };
            Presence::read_from_subject(subject, &presence.write()).is_ok()
        };
        assert!(check("registry.presence", "fleet", "anywhere"));
        assert!(check("registry.presence.fleet", "fleet", "registry.fleet.r"));
        assert!(check("registry.presence.a=2Eb", "a.b", "registry.a=2Eb.r"));
        assert!(!check("registry.presence.fleet", "other", "registry.fleet.r"));
        assert!(!check("registry.presence.fleet", "fleet", "registry.other.r"));
        assert!(!check("registry.presence.fleet", "fleet", "registry.fleets.r"));
    }

    #[test]
    fn different_namespaces_have_different_tokens() {
        assert_eq!(token("load-test_1"), "load-test_1");
        assert_eq!(token("a=2E"), "a=3D2E");
        assert_eq!(token("ä"), "=C3=A4");
    }
}
