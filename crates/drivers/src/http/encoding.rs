//! Texts as they stand in a request: in its target, its form, its JSON, its credentials.

use std::io::Write;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::field::is_text;

/// Appends a request target: what may not stand in one is percent-encoded, and it begins with `/`.
pub fn path(text: &[u8], out: &mut Vec<u8>) {
    if text.first() != Some(&b'/') {
        out.push(b'/');
    }
    for &byte in text {
        // Behind `#` there would be a fragment, which is for the client alone.
        if byte.is_ascii_graphic() && byte != b'#' {
            out.push(byte);
        } else {
            percent(byte, out);
        }
    }
}

/// Appends a part of a query: all but unreserved characters are percent-encoded (RFC 3986 section 2.3).
pub fn percent_encoded(text: &[u8], out: &mut Vec<u8>) {
    for &byte in text {
        match byte {
            b'-' | b'.' | b'_' | b'~' => out.push(byte),
            _ if byte.is_ascii_alphanumeric() => out.push(byte),
            _ => percent(byte, out),
        }
    }
}

/// Appends a name or value of a form (URL standard, section 5.2).
pub fn form_text(text: &[u8], out: &mut Vec<u8>) {
    for &byte in text {
        match byte {
            b' ' => out.push(b'+'),
            b'-' | b'.' | b'_' | b'*' => out.push(byte),
            _ if byte.is_ascii_alphanumeric() => out.push(byte),
            _ => percent(byte, out),
        }
    }
}

/// Appends the value of `authorization` for this token; a control character becomes a blank.
pub fn bearer(token: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(b"Bearer ");
    out.extend(token.iter().map(|&byte| if is_text(byte) { byte } else { b' ' }));
}

/// Appends the value of `authorization` for user and password with a colon between them.
pub fn basic(pair: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(b"Basic ");
    out.extend_from_slice(STANDARD.encode(pair).as_bytes());
}

fn percent(byte: u8, out: &mut Vec<u8>) {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    let (high, low) = (usize::from(byte >> 4), usize::from(byte & 15));
    out.extend_from_slice(&[b'%', DIGITS[high], DIGITS[low]]);
}

/// Appends text as it stands within a JSON string (RFC 8259 section 7).
pub fn json_text(text: &[u8], out: &mut Vec<u8>) {
    for &byte in text {
        match byte {
            b'"' | b'\\' => out.extend_from_slice(&[b'\\', byte]),
            0..=0x1f => write!(out, "\\u{byte:04x}").expect("writing to memory does not fail"),
            _ => out.push(byte),
        }
    }
}
