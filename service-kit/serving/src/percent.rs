//! Percent-encoding of paths and queries, undone.

/// The text that was meant; `None` for a `%` without two hexadecimal digits, and for what is not UTF-8.
///
/// Source: RFC 3986, section 2.1
pub fn decode(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let mut digit = || rest.next().and_then(|digit| char::from(digit).to_digit(16));
        let (high, low) = (digit()?, digit()?);
        bytes.push((16 * high + low) as u8);
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_encoded_comes_back_and_what_is_broken_does_not() {
        assert_eq!(decode("a%2Fb%c3%A4").as_deref(), Some("a/bä"));
        assert_eq!(decode("plain+text").as_deref(), Some("plain+text"));
        for broken in ["%", "%4", "%zz", "%ff"] {
            assert_eq!(decode(broken), None, "{broken}");
        }
    }
}
