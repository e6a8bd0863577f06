//! Variables between double braces, as files of many tools have them.

/// Variables in the values of variables are replaced so deep.
const DEEPEST: usize = 8;
/// Texts that would become longer stay as they are.
const LONGEST: usize = 1 << 16;

/// A part of a text.
pub(crate) enum Piece<'t> {
    /// What it says.
    Literal(&'t str),
    /// What stands between braces.
    Variable(&'t str),
}

/// The parts of a text.
pub(crate) fn pieces(text: &str) -> Vec<Piece<'_>> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("{{") {
        let Some((name, after)) = after.split_once("}}") else { break };
        if !before.is_empty() {
            found.push(Piece::Literal(before));
        }
        found.push(Piece::Variable(name));
        rest = after;
    }
    if !rest.is_empty() {
        found.push(Piece::Literal(rest));
    }
    found
}

/// The text with every variable replaced that has a value; the others stay.
pub(crate) fn replaced(text: &str, mut value: impl FnMut(&str) -> Option<String>) -> String {
    let mut out = String::new();
    for piece in pieces(text) {
        match piece {
            Piece::Literal(literal) => out.push_str(literal),
            Piece::Variable(name) => match value(name.trim()) {
                Some(value) => out.push_str(&value),
                None => out.push_str(&format!("{{{{{name}}}}}")),
            },
        }
    }
    out
}

/// The same, also in the values.
pub(crate) fn expanded(text: &str, value: impl Fn(&str) -> Option<String>) -> String {
    let mut text = text.to_owned();
    for _ in 0..DEEPEST {
        let mut room = LONGEST.saturating_sub(text.len());
        let mut is_changed = false;
        let next = replaced(&text, |name| {
            let value = value(name).filter(|value| value.len() <= room)?;
            room -= value.len();
            is_changed = true;
            Some(value)
        });
        if !is_changed {
            break;
        }
        text = next;
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_replaced_in_each_other_and_within_bounds() {
        let value = |name: &str| match name {
            "a" => Some("<{{b}}>".to_owned()),
            "b" => Some("x".to_owned()),
            "loop" => Some("{{loop}}{{loop}}".to_owned()),
            "long" => Some("y".repeat(LONGEST)),
            _ => None,
        };
        assert_eq!(expanded("{{ a }}{{c }}{{ }}{{", value), "<x>{{c }}{{ }}{{");
        assert_eq!(expanded("z{{long}}", value), "z{{long}}");
        assert!(expanded("{{loop}}", value).len() <= LONGEST);
    }
}
