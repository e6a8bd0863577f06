//! Texts and keys as they stand in a TOML file.

use serde_json::Value as Json;

/// A text in quotes: as it is where it holds quotes or backslashes, such as a pattern or JSON; otherwise a basic string.
pub fn text(value: &str) -> String {
    let needs_escapes = value.chars().any(|letter| letter == '\'' || letter.is_control());
    if value.contains(['"', '\\']) && !needs_escapes {
        return format!("'{value}'");
    }
    // TOML has all escapes of JSON; only the delete character needs an extra one.
    Json::from(value).to_string().replace('\u{7f}', "\\u007f")
}

/// A key, without quotes if TOML allows that.
pub fn key(name: &str) -> String {
    let is_bare = |letter: u8| letter.is_ascii_alphanumeric() || matches!(letter, b'-' | b'_');
    match !name.is_empty() && name.bytes().all(is_bare) {
        true => name.to_owned(),
        false => text(name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_means_itself() {
        let letters = (0..0x180).filter_map(char::from_u32).map(String::from);
        let samples = ["", "a b", "say \"x\"", "\\d+", "it's \"x\"", "a\nb\u{1}", "'", "\"\"\""];
        for plain in samples.into_iter().map(str::to_owned).chain(letters) {
            let table: toml::Table =
                format!("{} = {}", key(&plain), text(&plain)).parse().expect("it is TOML");
            assert_eq!(table.get(&plain).and_then(toml::Value::as_str), Some(plain.as_str()));
        }
        assert_eq!((text("say \"x\""), text("\\d+")), ("'say \"x\"'".into(), "'\\d+'".into()));
        assert_eq!((key("a-b_1"), key("a b")), ("a-b_1".into(), "\"a b\"".into()));
    }
}
