//! What a client sends.

use serde::Serialize;

/// Asks the server for a `PONG`.
pub const PING: &[u8] = b"PING\r\n";
/// Answers the server's `PING`.
pub const PONG: &[u8] = b"PONG\r\n";

/// `CONNECT`: who the client is and what it knows.
#[derive(Debug, Serialize)]
pub struct Connect<'a> {
    /// Whether every command is answered.
    pub verbose: bool,
    /// Whether subjects are checked strictly.
    pub pedantic: bool,
    /// Whether the client insists on TLS.
    pub tls_required: bool,
    /// The user.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<&'a str>,
    /// The password.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pass: Option<&'a str>,
    /// The token.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub auth_token: Option<&'a str>,
    /// Who connects, for the server's lists.
    pub name: &'a str,
    /// The language of the client.
    pub lang: &'a str,
    /// Its version.
    pub version: &'a str,
    /// 1 for a client that takes `INFO` at any time.
    pub protocol: u8,
    /// Whether it knows headers.
    pub headers: bool,
    /// Whether it is told when nobody answers a request.
    pub no_responders: bool,
}

impl Connect<'_> {
    /// The line without its end.
    pub fn line(&self) -> String {
        // Texts and truth values become JSON in every case.
        let json = serde_json::to_string(self).unwrap_or_default();
        format!("CONNECT {json}")
    }
}

/// A message to publish, rendered.
#[derive(Debug, Clone, Copy)]
pub struct Publication<'a> {
    /// The subject.
    pub subject: &'a [u8],
    /// Where answers go; empty without.
    pub reply_to: &'a [u8],
    /// Headers with their first and last line; empty without.
    pub headers: &'a [u8],
    /// The rest.
    pub payload: &'a [u8],
}

impl Publication<'_> {
    /// Appends `PUB` or `HPUB`.
    pub fn write(&self, out: &mut Vec<u8>) {
        let has_headers = !self.headers.is_empty();
        out.extend_from_slice(if has_headers { b"HPUB " } else { b"PUB " });
        out.extend_from_slice(self.subject);
        out.push(b' ');
        if !self.reply_to.is_empty() {
            out.extend_from_slice(self.reply_to);
            out.push(b' ');
        }
        if has_headers {
            number(self.headers.len() as u64, out);
            out.push(b' ');
        }
        number((self.headers.len() + self.payload.len()) as u64, out);
        out.extend_from_slice(b"\r\n");
        out.extend_from_slice(self.headers);
        out.extend_from_slice(self.payload);
        out.extend_from_slice(b"\r\n");
    }
}

/// Whether a message can be published to this subject: words between dots, without wildcards.
pub fn is_subject(subject: &[u8]) -> bool {
    let is_word = |word: &[u8]| {
        let is_wildcard = matches!(word, b"*" | b">");
        let is_clean = |byte: &u8| *byte > b' ' && *byte != 0x7f;
        !word.is_empty() && !is_wildcard && word.iter().all(is_clean)
    };
    subject.split(|byte| *byte == b'.').all(is_word)
}

/// Appends a number without formatting, because it is part of every message.
pub fn number(number: u64, out: &mut Vec<u8>) {
    const DIGITS: usize = 20;
    let mut digits = [0; DIGITS];
    let mut first = DIGITS;
    let mut left = number;
    loop {
        first -= 1;
        digits[first] = b'0' + (left % 10) as u8;
        left /= 10;
        if left == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[first..]);
}
