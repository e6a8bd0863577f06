//! What may stand in a header field.
//!
//! Source: RFC 9110 sections 5.5 and 5.6.2

/// Whether a byte may stand in the name of a field, or in any token.
pub fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

/// Whether a byte may stand in the value of a field.
pub fn is_text(byte: u8) -> bool {
    byte == b'\t' || (byte >= b' ' && byte != 0x7f)
}
