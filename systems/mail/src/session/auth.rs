//! Who the client says that it is, and the proof: `AUTH PLAIN` and `AUTH LOGIN` (RFC 4954, 4616).

use std::collections::BTreeMap;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// Octets of a line of the exchange (RFC 4954, 4).
pub const LONGEST_LINE: usize = 12_288;
/// Octets of a name and of a password (RFC 4616, 2).
const LONGEST_WORD: usize = 255;

/// How far an exchange has come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AuthExchange {
    /// The answer is authorization identity, name and password, each ended by a NUL but the last.
    Plain,
    /// The answer is the name.
    Name,
    /// The answer is the password of this name.
    Password(String),
}

/// What comes after an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AuthStep {
    /// This is asked, in base64, and answered on the next line.
    Ask(AuthExchange, &'static str),
    /// Proved: the name.
    Proved(String),
    /// Not proved.
    Wrong,
    /// No base64, or not the form that was asked for.
    Malformed,
}

impl AuthExchange {
    /// Takes an answer in base64.
    pub fn answer(self, text: &str, users: &BTreeMap<String, String>) -> AuthStep {
        let Some(answer) = STANDARD.decode(text).ok() else {
            return AuthStep::Malformed;
        };
        let Ok(answer) = String::from_utf8(answer) else {
            return AuthStep::Malformed;
        };
        match self {
            Self::Plain => plain(&answer, users),
            Self::Name if answer.len() > LONGEST_WORD => AuthStep::Malformed,
            Self::Name => AuthStep::Ask(Self::Password(answer), "UGFzc3dvcmQ6"),
            Self::Password(name) => prove(&name, &answer, users),
        }
    }
}

fn plain(answer: &str, users: &BTreeMap<String, String>) -> AuthStep {
    let mut words = answer.split('\0');
    let (Some(identity), Some(name), Some(password), None) =
        (words.next(), words.next(), words.next(), words.next())
    else {
        return AuthStep::Malformed;
    };
    let is_formed = !name.is_empty() && !password.is_empty();
    let is_bounded = [identity, name, password].iter().all(|word| word.len() <= LONGEST_WORD);
    if !is_formed || !is_bounded {
        return AuthStep::Malformed;
    }
    // Acting for another user is not supported.
    if !identity.is_empty() && identity != name {
        return AuthStep::Wrong;
    }
    prove(name, password, users)
}

fn prove(name: &str, password: &str, users: &BTreeMap<String, String>) -> AuthStep {
    let known = users.get(name);
    // An unknown name takes as long as a known one.
    let expect = known.map_or("", String::as_str);
    let is_same = same(password.as_bytes(), expect.as_bytes());
    if is_same && known.is_some() { AuthStep::Proved(name.to_owned()) } else { AuthStep::Wrong }
}

/// Compares in a time that depends on the given word's length alone.
fn same(given: &[u8], expect: &[u8]) -> bool {
    let byte = |at: usize| expect.get(at).copied().unwrap_or(0);
    let differences = given.iter().enumerate().fold(0, |sum, (at, given)| sum | (given ^ byte(at)));
    differences == 0 && given.len() == expect.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(exchange: AuthExchange, answer: &str) -> AuthStep {
        let users = BTreeMap::from([("tim".to_owned(), "tanstaaftanstaaf".to_owned())]);
        exchange.answer(&STANDARD.encode(answer), &users)
    }

    #[test]
    fn plain_is_three_words() {
        for (text, expect) in [
            // The example of RFC 4616, 4.
            ("\0tim\0tanstaaftanstaaf", AuthStep::Proved("tim".to_owned())),
            ("tim\0tim\0tanstaaftanstaaf", AuthStep::Proved("tim".to_owned())),
            ("kurt\0tim\0tanstaaftanstaaf", AuthStep::Wrong),
            ("\0tim\0tanstaaf", AuthStep::Wrong),
            ("\0tim\0tanstaaftanstaaf\0", AuthStep::Malformed),
            ("\0tim\0", AuthStep::Malformed),
            ("\0\0x", AuthStep::Malformed),
            ("\0nobody\0x", AuthStep::Wrong),
            ("tim", AuthStep::Malformed),
            ("", AuthStep::Malformed),
        ] {
            assert_eq!(answer(AuthExchange::Plain, text), expect, "{text:?}");
        }
        let long = format!("\0tim\0{}", "x".repeat(256));
        assert_eq!(answer(AuthExchange::Plain, &long), AuthStep::Malformed);
        for text in ["?", "dGlt=", "dGl", "dGlt\n"] {
            assert_eq!(AuthExchange::Plain.answer(text, &BTreeMap::new()), AuthStep::Malformed);
        }
    }

    #[test]
    fn login_asks_twice() {
        let asked = answer(AuthExchange::Name, "tim");
        assert_eq!(asked, AuthStep::Ask(AuthExchange::Password("tim".to_owned()), "UGFzc3dvcmQ6"));
        assert_eq!(STANDARD.decode("UGFzc3dvcmQ6").unwrap(), b"Password:");
        let password = |word| answer(AuthExchange::Password("tim".to_owned()), word);
        assert_eq!(password("tanstaaftanstaaf"), AuthStep::Proved("tim".to_owned()));
        assert_eq!(password("tanstaaftanstaa"), AuthStep::Wrong);
        assert_eq!(password("tanstaaftanstaaf\0"), AuthStep::Wrong);
        assert_eq!(answer(AuthExchange::Password("nobody".to_owned()), ""), AuthStep::Wrong);
    }
}
