//! The status of an answer: a code, or a short name where the protocol has names.

use std::fmt;

use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Bytes of the longest name.
const NAME_LIMIT: usize = 23;
/// What stands for a byte that is not shown.
const REPLACEMENT: u8 = b'?';

/// The status of an answer, as the protocol reports it.
///
/// Shape:  stored as a number where it is a code, 0 where there is none, and as text where it is a name
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Status {
    /// There was none.
    #[default]
    None,
    /// A number, never 0.
    Code(u16),
    /// A name.
    Name(StatusName),
}

/// The name of a status: 1 to 23 bytes of printable ASCII without blanks, commas and quotes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StatusName {
    /// Zeros follow the name.
    bytes: [u8; NAME_LIMIT],
}

impl Status {
    /// A status with this name, which the target sent. A longer one is cut, bytes that are not allowed are replaced. A
    /// number is a code, because it is stored as one.
    pub fn named(name: &[u8]) -> Self {
        let mut bytes = [0; NAME_LIMIT];
        for (to, from) in bytes.iter_mut().zip(name) {
            // Tables of samples hold names without quotes.
            let is_fine = from.is_ascii_graphic() && !matches!(from, b',' | b'"');
            *to = if is_fine { *from } else { REPLACEMENT };
        }
        let name = StatusName { bytes };
        match name.as_str() {
            "" => Self::None,
            text => text.parse::<u16>().map_or(Self::Name(name), Self::from),
        }
    }

    /// Its number; 0 where there is none or it is a name.
    pub fn code(self) -> u16 {
        match self {
            Self::Code(code) => code,
            Self::None | Self::Name(_) => 0,
        }
    }

    /// Whether there is one.
    pub fn is_some(self) -> bool {
        self != Self::None
    }

    /// From text as [`fmt::Display`] writes it.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        match Self::named(text.as_bytes()) {
            Self::None => (text == "0").then_some(Self::None),
            status => (status.to_string() == text).then_some(status),
        }
    }
}

impl From<u16> for Status {
    fn from(code: u16) -> Self {
        if code == 0 { Self::None } else { Self::Code(code) }
    }
}

impl PartialEq<u16> for Status {
    fn eq(&self, code: &u16) -> bool {
        *self == Self::from(*code)
    }
}

impl StatusName {
    /// The name.
    pub fn as_str(&self) -> &str {
        let length = self.bytes.iter().position(|byte| *byte == 0).unwrap_or(NAME_LIMIT);
        // It is ASCII.
        std::str::from_utf8(&self.bytes[..length]).unwrap_or_default()
    }
}

impl fmt::Debug for StatusName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:?}", self.as_str())
    }
}

/// The code or name; 0 where there is none.
impl fmt::Display for Status {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => formatter.pad(name.as_str()),
            _ => self.code().fmt(formatter),
        }
    }
}

impl Serialize for Status {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Name(name) => serializer.serialize_str(name.as_str()),
            _ => serializer.serialize_u16(self.code()),
        }
    }
}

impl<'d> Deserialize<'d> for Status {
    fn deserialize<D: Deserializer<'d>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(StatusVisitor)
    }
}

/// Reads numbers and texts; a number that is the key of a map is a text.
struct StatusVisitor;

impl Visitor<'_> for StatusVisitor {
    type Value = Status;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a status code or the name of a status")
    }

    fn visit_u64<E: Error>(self, code: u64) -> Result<Status, E> {
        let code = u16::try_from(code).map_err(|_| E::custom(format!("{code} is no status")))?;
        Ok(code.into())
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Status, E> {
        Status::parse(text).ok_or_else(|| E::custom(format!("{text:?} is no status")))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn a_name_is_short_and_printable() {
        for (sent, name) in [
            (&b"WRONGTYPE"[..], "WRONGTYPE"),
            (b"a b,c\"d\xff\x1b\0e", "a?b?c?d???e"),
            (b"0123456789abcdefghijklmn", "0123456789abcdefghijklm"),
        ] {
            let status = Status::named(sent);
            assert!(matches!(status, Status::Name(_)) && status.code() == 0, "{status:?}");
            assert_eq!(status.to_string(), name);
        }
    }

    #[test]
    fn a_number_is_a_code_and_nothing_is_none() {
        let found = [&b"503"[..], b"0503", b"0", b"", b"70000"].map(Status::named);
        let long = found[4];
        assert_eq!(found[..4], [503.into(), 503.into(), Status::None, Status::None]);
        assert_eq!((long.code(), long.to_string().as_str()), (0, "70000"));
        assert_eq!((Status::Code(503), Status::None).0, 503);
        assert_eq!(Status::None.to_string(), "0");
    }

    #[test]
    fn codes_are_stored_as_numbers_and_names_as_text() {
        let some = [Status::None, 503.into(), Status::named(b"ERR"), Status::named(b"+5")];
        let text = serde_json::to_string(&some).unwrap();
        assert_eq!(text, "[0,503,\"ERR\",5]");
        assert_eq!(serde_json::from_str::<[Status; 4]>(&text).unwrap(), some);
        let counts = BTreeMap::from([(Status::from(503), 1), (Status::named(b"ERR"), 2)]);
        let text = serde_json::to_string(&counts).unwrap();
        assert_eq!(text, "{\"503\":1,\"ERR\":2}");
        assert_eq!(serde_json::from_str::<BTreeMap<Status, i32>>(&text).unwrap(), counts);
        for text in ["70000", "-1", "\"\"", "\"a b\"", "\"0503\"", "true"] {
            assert!(serde_json::from_str::<Status>(text).is_err(), "{text}");
        }
    }

    #[test]
    fn names_are_ordered_after_codes() {
        let mut some = [Status::named(b"ERROR"), Status::named(b"ERR"), 503.into(), Status::None];
        some.sort_unstable();
        let texts = some.map(|status| status.to_string());
        assert_eq!(texts, ["0", "503", "ERR", "ERROR"]);
    }
}
