//! The forms in which a secret may appear: unchanged, escaped, encoded, or in part.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE};

/// Shorter pieces of an encoded secret may occur by chance.
const SHORTEST_ENCODED: usize = 6;
/// Shorter lines of a multi-line secret may occur by chance.
const SHORTEST_LINE: usize = 16;

/// All forms of this secret.
pub(super) fn of(value: &str) -> Vec<String> {
    let mut forms = vec![value.to_owned(), value.escape_debug().to_string()];
    let quoted = serde_json::Value::from(value).to_string();
    forms.push(quoted[1..quoted.len() - 1].to_owned());
    forms.push(percent_encoded(value));
    forms.push(value.as_bytes().escape_ascii().to_string());
    if value.contains('\n') {
        let lines = value.lines().map(str::trim).filter(|line| line.len() >= SHORTEST_LINE);
        forms.extend(lines.map(str::to_owned));
    }
    for offset in 0..3 {
        forms.extend(encoded(value, offset));
    }
    forms
}

/// Its base64 forms within a longer encoded text: `offset` bytes modulo three come before it, such as a user's name
/// before a password.
fn encoded(value: &str, offset: usize) -> Vec<String> {
    let bytes = [&[0; 3][..offset], value.as_bytes()].concat();
    // Skips letters that also encode the bytes before or after it.
    let (from, whole) = ((offset * 8).div_ceil(6), bytes.len() * 8 / 6);
    let mut forms = Vec::new();
    for engine in [STANDARD, URL_SAFE] {
        let text = engine.encode(&bytes);
        forms.extend([text[from..].to_owned(), text[from..whole.max(from)].to_owned()]);
    }
    forms.retain(|form| form.trim_end_matches('=').len() >= SHORTEST_ENCODED);
    forms
}

/// Its form within a URL.
fn percent_encoded(value: &str) -> String {
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-._~".contains(byte);
    let write = |byte: &u8| match plain(byte) {
        true => char::from(*byte).to_string(),
        false => format!("%{byte:02X}"),
    };
    value.as_bytes().iter().map(write).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether the text contains some form of this secret.
    fn shows(text: &str, secret: &str) -> bool {
        of(secret).iter().any(|form| text.contains(form.as_str()))
    }

    #[test]
    fn a_secret_is_found_in_what_was_encoded_together_with_something() {
        let secret = "pa55-w0rd?>";
        for before in ["", "a", "ab", "abc", "\0user\0", "user:"] {
            for after in ["", ".", "..", "...", "\nmore"] {
                let text = format!("{before}{secret}{after}");
                for encoded in [STANDARD.encode(&text), URL_SAFE.encode(&text)] {
                    assert!(shows(&format!("535 {encoded} no"), secret), "{text:?}: {encoded}");
                }
            }
        }
        assert!(!shows(&STANDARD.encode("another password"), secret));
    }

    #[test]
    fn a_secret_is_found_with_escapes_and_line_by_line() {
        assert!(shows("/?q=a%2Bb%20c", "a+b c"));
        assert!(shows("{\"token\":\"a\\\"b\"}", "a\"b"));
        let key = "-----BEGIN KEY-----\nMIGHAgEAMBMGByqGSM49\n-----END KEY-----\n";
        assert!(shows("bad line MIGHAgEAMBMGByqGSM49 of the key", key));
    }
}
