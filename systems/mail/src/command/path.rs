//! Paths of RFC 5321, 4.1.2, and of RFC 6531: `<mailbox>`, read strictly, kept as written.

use std::net::{Ipv4Addr, Ipv6Addr};

/// Most octets of a local part (4.5.3.1.1).
const LONGEST_LOCAL: usize = 64;
/// Most octets of a domain (4.5.3.1.2).
const LONGEST_DOMAIN: usize = 255;
/// Most octets of a label (RFC 1035, 2.3.4).
const LONGEST_LABEL: usize = 63;
/// Most octets of a path with its brackets (4.5.3.1.3).
const LONGEST_PATH: usize = 256;

/// A path without brackets and route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Path<'a> {
    /// The mailbox; empty for `<>`.
    pub mailbox: &'a str,
    /// Whether it has a domain; `<postmaster>` and `<>` have none.
    pub has_domain: bool,
}

/// Parses the path at the start of the text; `None` if there is none.
///
/// Shape:  `<…>rest` → the path and the rest
pub fn read(text: &str) -> Option<(Path<'_>, &str)> {
    let body = text.strip_prefix('<')?;
    let body = if body.starts_with('@') { after_route(body)? } else { body };
    let local = local_part(body)?;
    let (has_domain, end) = match body.as_bytes().get(local) {
        Some(b'@') => (true, local + 1 + domain_part(&body[local + 1..])?),
        _ => (false, local),
    };
    let rest = body[end..].strip_prefix('>')?;
    let is_sized = local <= LONGEST_LOCAL && text.len() - rest.len() <= LONGEST_PATH;
    let is_whole = if has_domain { local > 0 } else { local == 0 || is_postmaster(&body[..end]) };
    (is_sized && is_whole).then_some((Path { mailbox: &body[..end], has_domain }, rest))
}

/// Whether a word may follow `EHLO`: a domain or an address literal. Underscores are allowed, because some hosts have
/// them in their names, and RFC 5321, 4.1.4 forbids refusing mail because of the client's name.
pub fn is_host(word: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    match word.strip_prefix('[') {
        Some(_) => literal(word) == Some(word.len()),
        None => (1..=LONGEST_DOMAIN).contains(&word.len()) && word.bytes().all(plain),
    }
}

/// Without this exception, mail to the host's own postmaster could not be sent (4.5.1).
fn is_postmaster(mailbox: &str) -> bool {
    mailbox.eq_ignore_ascii_case("postmaster")
}

/// Source routes are accepted and ignored (appendix C).
fn after_route(mut text: &str) -> Option<&str> {
    loop {
        text = text.strip_prefix('@')?;
        text = &text[domain_part(text)?..];
        match text.as_bytes().first()? {
            b':' => return Some(&text[1..]),
            b',' => text = &text[1..],
            _ => return None,
        }
    }
}

/// Length of the local part at the start; 0 if there is none.
fn local_part(text: &str) -> Option<usize> {
    if text.starts_with('"') {
        return quoted(text);
    }
    let is_atext =
        |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-/=?^_`{|}~".contains(&byte);
    let is_part = |byte: u8| is_atext(byte) || byte == b'.' || !byte.is_ascii();
    let end = text.bytes().position(|byte| !is_part(byte)).unwrap_or(text.len());
    let local = &text[..end];
    let is_dotted = local.starts_with('.') || local.ends_with('.') || local.contains("..");
    (!is_dotted).then_some(end)
}

fn quoted(text: &str) -> Option<usize> {
    let mut bytes = text.bytes().enumerate().skip(1);
    while let Some((at, byte)) = bytes.next() {
        match byte {
            b'"' => return Some(at + 1),
            b'\\' => drop(bytes.next().filter(|(_, next)| matches!(next, b' '..=b'~'))?),
            b' '..=b'~' | 0x80.. => {}
            _ => return None,
        }
    }
    None
}

/// Length of the domain or literal at the start.
fn domain_part(text: &str) -> Option<usize> {
    if text.starts_with('[') {
        return literal(text);
    }
    let is_part =
        |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.') || !byte.is_ascii();
    let end = text.bytes().position(|byte| !is_part(byte)).unwrap_or(text.len());
    let is_label = |label: &str| {
        (1..=LONGEST_LABEL).contains(&label.len())
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    (end <= LONGEST_DOMAIN && text[..end].split('.').all(is_label)).then_some(end)
}

fn literal(text: &str) -> Option<usize> {
    let end = text.find(']')?;
    let inner = &text[1..end];
    let is_address = match inner.get(..5) {
        Some(tag) if tag.eq_ignore_ascii_case("IPv6:") => inner[5..].parse::<Ipv6Addr>().is_ok(),
        _ => inner.parse::<Ipv4Addr>().is_ok(),
    };
    is_address.then_some(end + 1)
}
