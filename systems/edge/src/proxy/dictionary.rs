//! Dictionaries of structured fields (RFC 8941 section 3.2), read strictly: one mistake, and there is no dictionary.
//!
//! Not here: parameters, which are read and dropped, and what is in byte sequences and lists.

/// The value of a member, as far as anybody here asks for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Value {
    Boolean(bool),
    Integer(i64),
    String(String),
    /// A decimal, a token, a byte sequence or a list.
    Other,
}

/// Members in the order in which their keys came first; of a key that comes again the last value counts.
///
/// Errors: `None` where the text is no dictionary
pub(super) fn parse(text: &str) -> Option<Vec<(String, Value)>> {
    let mut rest = Rest(text.trim_matches(' '));
    let mut members: Vec<(String, Value)> = Vec::new();
    while !rest.0.is_empty() {
        let key = rest.key()?;
        let value = match rest.eat('=') {
            true if rest.0.starts_with('(') => rest.list()?,
            true => rest.item()?,
            false => Value::Boolean(true),
        };
        rest.parameters()?;
        match members.iter_mut().find(|(known, _)| *known == key) {
            Some((_, old)) => *old = value,
            None => members.push((key, value)),
        }
        rest.blanks(&[' ', '\t']);
        if rest.0.is_empty() {
            break;
        }
        if !rest.eat(',') {
            return None;
        }
        rest.blanks(&[' ', '\t']);
        if rest.0.is_empty() {
            return None;
        }
    }
    Some(members)
}

/// What is not read yet.
struct Rest<'a>(&'a str);

impl<'a> Rest<'a> {
    fn eat(&mut self, wanted: char) -> bool {
        let rest = self.0.strip_prefix(wanted);
        self.0 = rest.unwrap_or(self.0);
        rest.is_some()
    }

    fn blanks(&mut self, blanks: &[char]) {
        self.0 = self.0.trim_start_matches(blanks);
    }

    /// What comes as long as it is of these characters.
    fn take(&mut self, is_wanted: impl Fn(char) -> bool) -> &'a str {
        let end = self.0.find(|one| !is_wanted(one)).unwrap_or(self.0.len());
        let (taken, rest) = self.0.split_at(end);
        self.0 = rest;
        taken
    }

    fn key(&mut self) -> Option<String> {
        let is_first = |one: char| one.is_ascii_lowercase() || one == '*';
        self.0.starts_with(is_first).then_some(())?;
        let is_of_key = |one: char| is_first(one) || one.is_ascii_digit() || "_-.".contains(one);
        Some(self.take(is_of_key).to_owned())
    }

    fn parameters(&mut self) -> Option<()> {
        while self.eat(';') {
            self.blanks(&[' ']);
            self.key()?;
            if self.eat('=') {
                self.item()?;
            }
        }
        Some(())
    }

    fn list(&mut self) -> Option<Value> {
        self.eat('(').then_some(())?;
        loop {
            self.blanks(&[' ']);
            if self.eat(')') {
                return Some(Value::Other);
            }
            self.item()?;
            self.parameters()?;
            self.0.starts_with([' ', ')']).then_some(())?;
        }
    }

    fn item(&mut self) -> Option<Value> {
        match self.0.chars().next()? {
            '-' | '0'..='9' => self.number(),
            '"' => self.string().map(Value::String),
            '?' => self.boolean(),
            ':' => self.bytes(),
            first if first.is_ascii_alphabetic() || first == '*' => {
                self.take(|one| one.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~:/".contains(one));
                Some(Value::Other)
            }
            _ => None,
        }
    }

    fn number(&mut self) -> Option<Value> {
        let sign = if self.eat('-') { -1 } else { 1 };
        let digits = self.take(|one| one.is_ascii_digit());
        if !self.eat('.') {
            let number = digits.parse::<i64>().ok().filter(|_| digits.len() <= 15)?;
            return Some(Value::Integer(sign * number));
        }
        let fraction = self.take(|one| one.is_ascii_digit());
        let is_decimal = (1..=12).contains(&digits.len()) && (1..=3).contains(&fraction.len());
        is_decimal.then_some(Value::Other)
    }

    fn string(&mut self) -> Option<String> {
        let mut text = String::new();
        let mut characters = self.0.char_indices().skip(1);
        while let Some((place, one)) = characters.next() {
            match one {
                '"' => {
                    self.0 = &self.0[place + 1..];
                    return Some(text);
                }
                '\\' => {
                    let escaped = characters.next().map(|(_, one)| one);
                    text.push(escaped.filter(|one| "\"\\".contains(*one))?);
                }
                ' '..='~' => text.push(one),
                _ => return None,
            }
        }
        None
    }

    fn boolean(&mut self) -> Option<Value> {
        let (text, value) = if self.0.starts_with("?1") { ("?1", true) } else { ("?0", false) };
        self.0 = self.0.strip_prefix(text)?;
        Some(Value::Boolean(value))
    }

    fn bytes(&mut self) -> Option<Value> {
        self.eat(':').then_some(())?;
        self.take(|one| one.is_ascii_alphanumeric() || "+/=".contains(one));
        self.eat(':').then_some(Value::Other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dictionaries_are_read() {
        let (yes, other) = (|| Value::Boolean(true), || Value::Other);
        let text = |text: &str| Value::String(text.to_owned());
        for (source, expected) in [
            ("", vec![]),
            ("  ", vec![]),
            ("max-age=60", vec![("max-age", Value::Integer(60))]),
            (" a ,\tb=-7 ,c ", vec![("a", yes()), ("b", Value::Integer(-7)), ("c", yes())]),
            ("a=?0, b=?1;x;y=1.5", vec![("a", Value::Boolean(false)), ("b", yes())]),
            (r#"a="b, \"c\" \\";d"#, vec![("a", text(r#"b, "c" \"#))]),
            ("a=1.125, b=tok/en:*, c=:aGk=:, *d=*", {
                vec![("a", other()), ("b", other()), ("c", other()), ("*d", other())]
            }),
            ("a=(1 \"x\";y=2  tok), b=()", vec![("a", other()), ("b", other())]),
            ("a=1, b, a=\"2\"", vec![("a", text("2")), ("b", yes())]),
            ("a=999999999999999", vec![("a", Value::Integer(999_999_999_999_999))]),
        ] {
            let members = parse(source).unwrap_or_else(|| panic!("{source}"));
            let members: Vec<_> =
                members.iter().map(|(key, value)| (key.as_str(), value.clone())).collect();
            assert_eq!(members, expected, "{source}");
        }
    }

    #[test]
    fn one_mistake_is_enough() {
        for source in [
            "a,",
            "a,,b",
            ",a",
            "a b",
            "A",
            "Max-Age=1",
            "1a",
            "a =1",
            "a= 1",
            "a=",
            "a=-",
            "a=1.",
            "a=.5",
            "a=1.2345",
            "a=1234567890123.1",
            "a=1000000000000000",
            "a=\"b",
            "a=\"\\c\"",
            "a=\"ü\"",
            "a=?2",
            "a=?",
            "a=:x",
            "a=:!:",
            "a=(1",
            "a=(1,2)",
            "a=(1\"x\")",
            "a;",
            "a;B",
            "a;b=",
            "max-age=10000, &&&&&",
            "a=1\u{7f}",
        ] {
            assert_eq!(parse(source), None, "{source}");
        }
    }
}
