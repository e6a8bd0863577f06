//! The lines that a final delivery puts before a message (RFC 5321, 4.4): sender, recipients, and how it was received.
//!
//! `Return-Path`, a `Delivered-To` for each recipient, and one `Received` with the name of the file. The last one
//! identifies these lines when the folder is read again.

use std::fmt::Write;
use std::io::{BufRead, Read};

use crate::envelope::Envelope;
use crate::store::retained::MessageSummary;

/// Longer than any of these lines.
const LONGEST: u64 = 8 << 10;

/// The lines for a message with this name.
pub(super) fn lines(envelope: &Envelope, host: &str, name: &str) -> String {
    let mut lines = format!("Return-Path: <{}>\r\n", plain(&envelope.from));
    for recipient in &envelope.recipients {
        let _ = write!(lines, "Delivered-To: {}\r\n", plain(recipient));
    }
    let _ = write!(
        lines,
        "Received: from {} ([{}]) by {}{} id {name}; {}\r\n",
        plain(&envelope.client),
        envelope.peer.ip(),
        plain(host),
        protocol(envelope),
        jiff::Timestamp::now().strftime("%a, %d %b %Y %H:%M:%S +0000"),
    );
    lines
}

/// The protocol name from RFC 3848 or RFC 6531; empty if the envelope does not determine it.
fn protocol(envelope: &Envelope) -> String {
    let tls = if envelope.tls.is_some() { "S" } else { "" };
    let authenticated = if envelope.user.is_some() { "A" } else { "" };
    match (envelope.is_utf8, format!("{tls}{authenticated}")) {
        (true, suffix) => format!(" with UTF8SMTP{suffix}"),
        (false, suffix) if suffix.is_empty() => String::new(),
        (false, suffix) => format!(" with ESMTP{suffix}"),
    }
}

/// Sender, recipients, and the length of these lines; `None` if they do not belong to a message with this name.
pub(super) fn read(mut file: impl BufRead, name: &str) -> Option<(MessageSummary, usize)> {
    let (mut summary, mut at, mut bytes) = (MessageSummary::default(), 0, Vec::new());
    loop {
        bytes.clear();
        at += file.by_ref().take(LONGEST).read_until(b'\n', &mut bytes).ok()?;
        let line = std::str::from_utf8(&bytes).ok()?.strip_suffix("\r\n")?;
        if let Some(path) = line.strip_prefix("Return-Path: <") {
            summary.from = path.strip_suffix('>')?.to_owned();
        } else if let Some(recipient) = line.strip_prefix("Delivered-To: ") {
            summary.recipients.push(recipient.to_owned());
        } else {
            let is_ours = line.starts_with("Received: ") && line.contains(&format!(" id {name}; "));
            return is_ours.then_some((summary, at));
        }
    }
}

/// Replaces characters that could end a line.
fn plain(text: &str) -> String {
    text.replace(|symbol: char| symbol.is_control(), "?")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn envelope() -> Envelope {
        Envelope {
            peer: "192.0.2.1:25".parse().unwrap(),
            client: "client.example".to_owned(),
            user: Some("ada".to_owned()),
            tls: Some("TLSv1.3"),
            from: "a@x".to_owned(),
            recipients: vec!["b@y".to_owned(), "c@z".to_owned()],
            content: crate::envelope::Content::EightBit,
            is_utf8: false,
            announced: None,
        }
    }

    #[test]
    fn what_is_written_is_read_again() {
        let lines = lines(&envelope(), "mail.example", "1.M2P3Q4.h");
        assert!(lines.starts_with(
            "Return-Path: <a@x>\r\nDelivered-To: b@y\r\nDelivered-To: c@z\r\nReceived: from \
             client.example ([192.0.2.1]) by mail.example with ESMTPSA id 1.M2P3Q4.h; "
        ));
        let file = format!("{lines}Return-Path: <no>\r\nDelivered-To: no\r\n\r\nhello");
        let (summary, length) = read(file.as_bytes(), "1.M2P3Q4.h").unwrap();
        assert_eq!(
            (summary.from.as_str(), summary.recipients.join(" ").as_str()),
            ("a@x", "b@y c@z")
        );
        assert_eq!(length, lines.len());
        assert_eq!(read(file.as_bytes(), "1.M2P3Q5.h"), None);
        assert_eq!(read(&b"From: a\r\n\r\n"[..], "1.M2P3Q4.h"), None);
        assert_eq!(read(&b""[..], "1.M2P3Q4.h"), None);
        let endless = std::io::BufReader::new(std::io::repeat(b'x'));
        assert_eq!(read(endless, "1.M2P3Q4.h"), None);
    }

    #[test]
    fn an_envelope_cannot_add_lines() {
        let mut odd = envelope();
        odd.from = "a\r\nX-Evil: yes".to_owned();
        odd.client = "c\nX-Evil: yes\u{85}".to_owned();
        let lines = lines(&odd, "mail.example", "n");
        assert_eq!(lines.matches('\n').count(), 4);
        assert_eq!(read(lines.as_bytes(), "n").unwrap().0.from, "a??X-Evil: yes");
    }
}
