//! The id of a trace: 16 bytes that are not all zero, written as 32 hexadecimal digits.

use std::fmt;
use std::num::NonZeroU128;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The id of a trace, which leads from an operation to the spans that servers recorded of it.
///
/// Source: W3C Trace Context, section 3.2.2.3
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TraceId(pub NonZeroU128);

impl fmt::Display for TraceId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:032x}", self.0)
    }
}

impl Serialize for TraceId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'d> Deserialize<'d> for TraceId {
    fn deserialize<D: Deserializer<'d>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'d, str>::deserialize(deserializer)?;
        let is_hex = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        let well_formed = text.len() == 32 && text.bytes().all(is_hex);
        let number = u128::from_str_radix(&text, 16).ok().filter(|_| well_formed);
        let number = number.and_then(NonZeroU128::new);
        number.map(Self).ok_or_else(|| D::Error::custom(format!("{text:?} is not a trace id")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_32_digits_and_never_all_zero() {
        let id = TraceId(NonZeroU128::new(0x4bf9_2f35_77b3_4da6_a3ce_929d_0e0e_4736).unwrap());
        assert_eq!(id.to_string(), "4bf92f3577b34da6a3ce929d0e0e4736");
        let least = TraceId(NonZeroU128::MIN);
        assert_eq!(least.to_string(), "00000000000000000000000000000001");
        for one in [id, least] {
            let text = serde_json::to_string(&one).unwrap();
            assert_eq!(serde_json::from_str::<TraceId>(&text).unwrap(), one);
        }
        for text in
            ["", "0", "00000000000000000000000000000000", "4BF92F3577B34DA6A3CE929D0E0E4736"]
        {
            assert!(serde_json::from_str::<TraceId>(&format!("\"{text}\"")).is_err(), "{text}");
        }
    }
}
