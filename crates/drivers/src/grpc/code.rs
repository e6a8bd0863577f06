//! The status of a call, by name.
//!
//! Source: the gRPC documents `statuscodes.md` and `PROTOCOL-HTTP2.md`

use std::fmt;

use h2::Reason;
use record::Status;

/// Names in the order of their numbers.
const NAMES: [&str; 17] = [
    "OK",
    "CANCELLED",
    "UNKNOWN",
    "INVALID_ARGUMENT",
    "DEADLINE_EXCEEDED",
    "NOT_FOUND",
    "ALREADY_EXISTS",
    "PERMISSION_DENIED",
    "RESOURCE_EXHAUSTED",
    "FAILED_PRECONDITION",
    "ABORTED",
    "OUT_OF_RANGE",
    "UNIMPLEMENTED",
    "INTERNAL",
    "UNAVAILABLE",
    "DATA_LOSS",
    "UNAUTHENTICATED",
];

/// The number of a status, which may have no name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Code(pub u32);

impl Code {
    /// The call succeeded.
    pub const OK: Self = Self(0);

    /// Every name, for messages.
    pub fn names() -> impl Iterator<Item = &'static str> {
        NAMES.into_iter()
    }

    /// The code of this name.
    pub fn named(name: &str) -> Option<Self> {
        let place = NAMES.iter().position(|known| *known == name)?;
        u32::try_from(place).ok().map(Self)
    }

    /// From the field `grpc-status`: digits alone.
    pub fn parse(field: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(field).ok()?;
        text.bytes().all(|byte| byte.is_ascii_digit()).then_some(())?;
        text.parse().ok().map(Self)
    }

    /// What a reset of the stream stands for.
    pub fn of_reset(reason: Reason) -> Self {
        let name = match reason {
            Reason::REFUSED_STREAM => "UNAVAILABLE",
            Reason::CANCEL => "CANCELLED",
            Reason::ENHANCE_YOUR_CALM => "RESOURCE_EXHAUSTED",
            Reason::INADEQUATE_SECURITY => "PERMISSION_DENIED",
            _ => "INTERNAL",
        };
        Self::named(name).unwrap_or(Self(2))
    }

    /// As it is recorded.
    pub fn status(self) -> Status {
        Status::named(self.to_string().as_bytes())
    }
}

/// The name, or the number where it has none.
impl fmt::Display for Code {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = usize::try_from(self.0).ok().and_then(|place| NAMES.get(place));
        match name {
            Some(name) => formatter.pad(name),
            None => self.0.fmt(formatter),
        }
    }
}

/// The field `grpc-message`: percent-encoded UTF-8. What is not valid stays as it is.
pub fn message(field: &[u8]) -> String {
    let mut bytes = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((first, after)) = rest.split_first() {
        let digits = after.get(..2).filter(|_| *first == b'%');
        let decoded = digits.and_then(|digits| {
            digits.iter().all(u8::is_ascii_hexdigit).then_some(())?;
            u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
        });
        match decoded {
            Some(byte) => {
                bytes.push(byte);
                rest = &after[2..];
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statuses_have_names_and_unknown_ones_are_numbers() {
        for (field, name) in [
            (&b"0"[..], "OK"),
            (b"4", "DEADLINE_EXCEEDED"),
            (b"14", "UNAVAILABLE"),
            (b"16", "UNAUTHENTICATED"),
            (b"17", "17"),
            (b"4294967295", "4294967295"),
        ] {
            let code = Code::parse(field).expect("a number");
            assert_eq!(code.status().to_string(), name);
            assert_eq!(Code::named(name).is_some(), code.0 <= 16);
        }
        for field in [&b""[..], b"-1", b"+1", b" 1", b"x", b"4294967296", b"\xff"] {
            assert_eq!(Code::parse(field), None, "{field:?}");
        }
    }

    #[test]
    fn messages_are_percent_encoded() {
        for (field, text) in [
            (&b"no such cart"[..], "no such cart"),
            (b"100%25 sure: %C3%A4", "100% sure: ä"),
            (b"%", "%"),
            (b"%4", "%4"),
            (b"%zz%+1", "%zz%+1"),
            (b"%ff", "\u{fffd}"),
            (b"", ""),
        ] {
            assert_eq!(message(field), text);
        }
    }

    #[test]
    fn resets_stand_for_statuses() {
        for (reason, name) in [
            (Reason::NO_ERROR, "INTERNAL"),
            (Reason::CANCEL, "CANCELLED"),
            (Reason::REFUSED_STREAM, "UNAVAILABLE"),
            (Reason::ENHANCE_YOUR_CALM, "RESOURCE_EXHAUSTED"),
            (Reason::INADEQUATE_SECURITY, "PERMISSION_DENIED"),
        ] {
            assert_eq!(Code::of_reset(reason).to_string(), name);
        }
    }
}
