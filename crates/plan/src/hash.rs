//! SHA-256 of everything that decides a result.

use std::fmt::Write;

use serde_json::Value as Json;
use sha2::{Digest, Sha256};

/// SHA-256 of the concatenated parts, each preceded by its length; 64 hex digits.
pub fn hex(parts: &[&[u8]]) -> String {
    let mut state = Sha256::new();
    for part in parts {
        state.update((part.len() as u64).to_le_bytes());
        state.update(part);
    }
    text(state)
}

fn text(state: Sha256) -> String {
    let mut text = String::with_capacity(64);
    for byte in state.finalize() {
        write!(text, "{byte:02x}").expect("text can always grow");
    }
    text
}

/// The same for one part of so many numbers, which need not be in memory.
pub fn hex_of<const N: usize>(count: u64, numbers: impl Iterator<Item = [u8; N]>) -> String {
    let mut state = Sha256::new();
    state.update((count * N as u64).to_le_bytes());
    numbers.for_each(|number| state.update(number));
    text(state)
}

/// JSON with keys in byte order and without spaces: the same text for the same value.
pub fn canonical(value: &Json) -> String {
    let mut out = String::new();
    write_canonical(value, &mut out);
    out
}

fn write_canonical(value: &Json, out: &mut String) {
    match value {
        Json::Object(map) => {
            let mut keys: Vec<&String> = map.keys().collect();
            keys.sort();
            out.push('{');
            for (place, key) in keys.into_iter().enumerate() {
                if place > 0 {
                    out.push(',');
                }
                out.push_str(&Json::from(key.as_str()).to_string());
                out.push(':');
                write_canonical(&map[key], out);
            }
            out.push('}');
        }
        Json::Array(items) => {
            out.push('[');
            for (place, item) in items.iter().enumerate() {
                if place > 0 {
                    out.push(',');
                }
                write_canonical(item, out);
            }
            out.push(']');
        }
        scalar => out.push_str(&scalar.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn canonical_json_sorts_keys_at_every_depth() {
        let value: Json = serde_json::from_str(r#"{"b":[{"z":1,"a":"x"}],"a":null}"#).unwrap();
        assert_eq!(canonical(&value), r#"{"a":null,"b":[{"a":"x","z":1}]}"#);
    }

    #[test]
    fn parts_are_not_merely_joined() {
        assert_ne!(hex(&[b"ab", b"c"]), hex(&[b"a", b"bc"]));
        assert_eq!(hex(&[]), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    }
}
