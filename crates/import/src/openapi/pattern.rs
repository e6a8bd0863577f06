//! A text for a simple regular expression: characters, classes and counts in a row.

/// The most repetitions that are made.
const MOST: usize = 4_096;

/// A text that matches, of so many characters if the expression allows; none if the expression is not a simple one.
pub(super) fn text(pattern: &str, least: usize) -> Option<String> {
    let inner = pattern.strip_prefix('^').unwrap_or(pattern);
    let inner = inner.strip_suffix('$').unwrap_or(inner);
    let mut rest: &[char] = &inner.chars().collect::<Vec<_>>();
    let mut parts: Vec<(char, usize, usize)> = Vec::new();
    while let Some((&first, after)) = rest.split_first() {
        let (letter, after) = match first {
            '\\' => escape(after)?,
            '[' => class(after)?,
            '.' => ('a', after),
            '(' | ')' | '|' | '^' | '$' | '*' | '+' | '?' | '{' | '}' => return None,
            other => (other, after),
        };
        let (low, high, after) = count(after)?;
        parts.push((letter, low, high));
        rest = after;
    }
    let mut missing = least.saturating_sub(parts.iter().map(|(_, low, _)| low).sum());
    let mut out = String::new();
    for (letter, low, high) in parts {
        let more = missing.min(high.saturating_sub(low));
        missing -= more;
        if out.len() + low + more > MOST {
            return None;
        }
        out.extend(std::iter::repeat_n(letter, low + more));
    }
    (!out.is_empty() && missing == 0).then_some(out)
}

/// A character that an escape stands for.
fn escape(rest: &[char]) -> Option<(char, &[char])> {
    let (&first, after) = rest.split_first()?;
    match first {
        'd' => Some(('1', after)),
        'w' => Some(('a', after)),
        's' => Some((' ', after)),
        other if other.is_ascii_alphanumeric() => None,
        other => Some((other, after)),
    }
}

/// A character of a class whose `[` has been read.
fn class(rest: &[char]) -> Option<(char, &[char])> {
    let end = rest.iter().skip(1).position(|letter| *letter == ']')? + 1;
    let (letters, after) = (&rest[..end], &rest[end + 1..]);
    match letters.first()? {
        '^' | '[' => None,
        '\\' => escape(&letters[1..]).map(|(letter, _)| (letter, after)),
        first => Some((*first, after)),
    }
}

/// How often the character before comes, at least and at most.
fn count(rest: &[char]) -> Option<(usize, usize, &[char])> {
    Some(match rest.first() {
        Some('*') => (0, MOST, &rest[1..]),
        Some('+') => (1, MOST, &rest[1..]),
        Some('?') => (0, 1, &rest[1..]),
        Some('{') => {
            let end = rest.iter().position(|letter| *letter == '}')?;
            let text: String = rest[1..end].iter().collect();
            let (low, high) = match text.split_once(',') {
                None => (text.parse().ok()?, text.parse().ok()?),
                Some((low, "")) => (low.parse().ok()?, MOST),
                Some((low, high)) => (low.parse().ok()?, high.parse().ok()?),
            };
            if low > MOST {
                return None;
            }
            (low, high, &rest[end + 1..])
        }
        _ => (1, 1, rest),
    })
}

#[cfg(test)]
mod tests {
    use super::text;

    #[test]
    fn simple_patterns_have_a_text() {
        for (pattern, least, expected) in [
            ("^[A-Z]{3}-\\d{2}$", 0, Some("AAA-11")),
            ("^\\w+$", 4, Some("aaaa")),
            ("ab?c*", 0, Some("a")),
            ("[\\d]{2,4}", 3, Some("111")),
            ("(a|b)", 0, None),
            ("[^a]", 0, None),
            ("a{999999999999}", 0, None),
            ("[", 0, None),
            ("\\", 0, None),
            ("{", 0, None),
        ] {
            assert_eq!(text(pattern, least).as_deref(), expected, "{pattern}");
        }
    }
}
