//! Authentication: `AUTH PLAIN` and `AUTH LOGIN` (RFC 4954, 4616).

use std::collections::BTreeMap;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// Most octets of a line in the exchange (RFC 4954, 4).
pub const LONGEST_LINE: usize = 12_288;
/// Most octets of a name and of a password (RFC 4616, 2).
const LONGEST_WORD: usize = 255;

/// The state of an exchange.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AuthExchange {
    /// Waits for authorization identity, name and password, separated by NUL.
    Plain,
    /// Waits for the name.
    Name,
    /// Waits for the password of this name.
    Password(String),
}

/// The next step after a response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AuthStep {
    /// Sends this challenge in base64; the next line is the response.
    Ask(AuthExchange, &'static str),
    /// Authenticated, with this name.
    Proved(String),
    /// Wrong name or password.
    Wrong,
    /// Invalid base64, or not the expected form.
    Malformed,
}

impl AuthExchange {
    /// Handles a response in base64.
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
    // An unknown name takes as long as a known one, so timing reveals nothing.
    let expect = known.map_or("", String::as_str);
    let is_same = same(password.as_bytes(), expect.as_bytes());
    if is_same && known.is_some() { AuthStep::Proved(name.to_owned()) } else { AuthStep::Wrong }
}

/// Compares in time that depends only on the length of the given word.
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
