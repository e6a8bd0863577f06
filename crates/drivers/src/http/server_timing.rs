//! `Server-Timing`: what a server says of where its time went.
//!
//! `name;dur=12.3;desc="…"`, several in a field, several fields in a head. Milliseconds on the wire, nanoseconds here.
//!
//! Source: W3C Server Timing, section 4; RFC 9110 section 5.6

use super::field::is_token;

/// The name of the field, in lower case.
pub const NAME: &[u8] = b"server-timing";
/// Beyond this a time is none: thirty years.
const LONGEST_NS: f64 = 1e18;

/// What one element of the field comes to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum TimingMetric<'a> {
    /// A metric, with its time in nanoseconds if it has one.
    Named(&'a [u8], Option<u64>),
    /// Something else.
    Malformed,
}

/// Shows every element of the field, in every line of this name of a head that was understood.
///
/// Cost:   O(n) time, no allocation
pub fn in_head<'a>(head: &'a [u8], mut visit: impl FnMut(TimingMetric<'a>)) {
    for line in head.split(|&byte| byte == b'\n') {
        // The length of the name rules out nearly every line before any comparison.
        if line.get(NAME.len()) == Some(&b':') && line[..NAME.len()].eq_ignore_ascii_case(NAME) {
            in_value(&line[NAME.len() + 1..], &mut visit);
        }
    }
}

/// The same for the value of one field.
pub fn in_value<'a>(value: &'a [u8], mut visit: impl FnMut(TimingMetric<'a>)) {
    let mut rest = Rest(value);
    loop {
        // A list may hold empty elements (RFC 9110 section 5.6.1.2).
        while rest.skip_blank() == Some(b',') {
            rest.next();
        }
        if rest.0.is_empty() {
            return;
        }
        match rest.metric() {
            Some((name, time)) => visit(TimingMetric::Named(name, time)),
            None => {
                visit(TimingMetric::Malformed);
                rest.skip_element();
            }
        }
    }
}

/// What is not yet read of a value.
struct Rest<'a>(&'a [u8]);

impl<'a> Rest<'a> {
    /// A whole element, up to the comma after it; `None` where it breaks a rule.
    fn metric(&mut self) -> Option<(&'a [u8], Option<u64>)> {
        let name = self.token();
        if name.is_empty() {
            return None;
        }
        let mut time = None;
        loop {
            match self.skip_blank() {
                None | Some(b',') => return Some((name, time)),
                Some(b';') => self.next(),
                Some(_) => return None,
            }
            self.skip_blank();
            let parameter = self.token();
            let value = self.value()?;
            if parameter.eq_ignore_ascii_case(b"dur") && time.is_none() {
                time = Some(nanoseconds(value?)?);
            }
        }
    }

    /// What stands after the name of a parameter: nothing, or `=` and a token or a quoted text, which is taken as it
    /// stands between its quotes.
    fn value(&mut self) -> Option<Option<&'a [u8]>> {
        if self.skip_blank() != Some(b'=') {
            return Some(None);
        }
        self.next();
        if self.skip_blank() == Some(b'"') {
            return self.quoted().map(Some);
        }
        let token = self.token();
        (!token.is_empty()).then_some(Some(token))
    }

    fn quoted(&mut self) -> Option<&'a [u8]> {
        self.next();
        let mut length = 0;
        loop {
            match self.0.get(length)? {
                b'"' => break,
                b'\\' => length += 2,
                _ => length += 1,
            }
        }
        let (text, rest) = self.0.split_at(length);
        self.0 = &rest[1..];
        Some(text)
    }

    fn token(&mut self) -> &'a [u8] {
        let length = self.0.iter().take_while(|&&byte| is_token(byte)).count();
        let (token, rest) = self.0.split_at(length);
        self.0 = rest;
        token
    }

    /// Goes on behind blanks.
    ///
    /// Shape:  → the byte that stands there
    fn skip_blank(&mut self) -> Option<u8> {
        self.0 = self.0.trim_ascii_start();
        self.0.first().copied()
    }

    fn next(&mut self) {
        self.0 = self.0.get(1..).unwrap_or_default();
    }

    /// Goes on at the next comma that is not quoted.
    fn skip_element(&mut self) {
        while let Some(&byte) = self.0.first().filter(|&&byte| byte != b',') {
            // A quote that is never closed quotes nothing.
            if byte != b'"' || self.quoted().is_none() {
                self.next();
            }
        }
    }
}

/// Milliseconds as written, in nanoseconds.
fn nanoseconds(text: &[u8]) -> Option<u64> {
    let is_number = |byte: &u8| byte.is_ascii_digit() || b".eE+-".contains(byte);
    let begins = text.first().is_some_and(|byte| byte.is_ascii_digit() || *byte == b'.');
    if !begins || !text.iter().all(is_number) {
        return None;
    }
    let milliseconds: f64 = std::str::from_utf8(text).ok()?.parse().ok()?;
    let nanoseconds = (milliseconds * 1e6).round();
    (nanoseconds <= LONGEST_NS).then_some(nanoseconds as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Elements as `name`, `name=nanoseconds`, or `!` where malformed.
    fn read(value: &[u8]) -> String {
        let mut seen = Vec::new();
        in_value(value, |metric| {
            seen.push(match metric {
                TimingMetric::Named(name, Some(time)) => format!("{}={time}", name.escape_ascii()),
                TimingMetric::Named(name, None) => name.escape_ascii().to_string(),
                TimingMetric::Malformed => "!".to_owned(),
            });
        });
        seen.join(" ")
    }

    #[test]
    fn values_come_to_known_metrics() {
        let vectors: &[(&[u8], &str)] = &[
            (b"", ""),
            (b"miss", "miss"),
            (b"miss, db;dur=53, app;dur=47.2", "miss db=53000000 app=47200000"),
            (b"customView, dc;desc=\"atl\"", "customView dc"),
            (b"cache;desc=\"Cache Read\";dur=23.2", "cache=23200000"),
            (b"cache;dur=23.2;desc=\"a, b;dur=7\\\"\", x;dur=1", "cache=23200000 x=1000000"),
            (b" a ; dur = 0.012 ,\tb;DUR=.5", "a=12000 b=500000"),
            (b"a;dur=\"1.5\"", "a=1500000"),
            (b"a;dur=1e-3, b;dur=0", "a=1000 b=0"),
            (b"a;dur=1;dur=2", "a=1000000"),
            (b"a;flag;dur=1;, ,b", "a=1000000 b"),
            (b"a;dur=1, a;dur=2", "a=1000000 a=2000000"),
            (b"A;dur=0.0000004", "A=0"),
        ];
        for (value, known) in vectors {
            assert_eq!(read(value), *known, "{}", value.escape_ascii());
        }
    }

    #[test]
    fn what_breaks_a_rule_is_left_out_and_nothing_else_is() {
        let vectors: &[(&[u8], &str)] = &[
            (b"a;dur=, b;dur=1", "! b=1000000"),
            (b"a;dur, b", "! b"),
            (b"a;dur=-1, b", "! b"),
            (b"a;dur=1.2.3, b", "! b"),
            (b"a;dur=nan, b;dur=inf, c;dur=1e300, d", "! ! ! d"),
            (b"a b;dur=1, c;dur=2", "! c=2000000"),
            (b"=1, b", "! b"),
            (b"\"x, y\";dur=1, b", "! b"),
            (b"a;desc=\"open, b;dur=1", "! b=1000000"),
            (b"a;desc=\"x\\", "!"),
            (b"\xff\x00, b", "! b"),
            (b"a;dur=1 2, b", "! b"),
        ];
        for (value, known) in vectors {
            assert_eq!(read(value), *known, "{}", value.escape_ascii());
        }
    }

    #[test]
    fn every_cut_and_every_byte_ends() {
        let whole = b"a;dur=1.5;desc=\"x\\\", y\" , b;dur=2,,c;d=\"";
        for end in 0..whole.len() {
            read(&whole[..end]);
            for byte in 0..=u8::MAX {
                let mut changed = whole.to_vec();
                changed[end] = byte;
                read(&changed);
            }
        }
    }

    #[test]
    fn lines_of_the_name_are_found_wherever_they_stand() {
        let head = b"HTTP/1.1 200 OK\r\nServer-Timing: a;dur=1\r\nx-server-timing: b\r\n\
                     server-timing-x: c\r\nSERVER-TIMING:d;dur=2\r\nserver: server-timing: e\r\n\r\n";
        let mut seen = Vec::new();
        in_head(head, |metric| seen.push(metric));
        assert_eq!(
            seen,
            [
                TimingMetric::Named(b"a", Some(1_000_000)),
                TimingMetric::Named(b"d", Some(2_000_000))
            ]
        );
    }
}
