//! The headers of a message: a line with the version, which may hold a status, and fields.

use super::frame::digits;

/// What headers begin with.
pub const VERSION: &[u8] = b"NATS/1.0";

/// Whether these bytes begin and end as headers must.
pub fn is_whole(headers: &[u8]) -> bool {
    headers.starts_with(VERSION) && headers.ends_with(b"\r\n\r\n")
}

/// The status and the text after it, if the first line has one.
pub fn status(headers: &[u8]) -> Option<(u16, &[u8])> {
    let line = lines(headers).next()?.strip_prefix(VERSION)?.trim_ascii();
    let (code, text) = line.split_at(line.len().min(3));
    let code = u16::try_from(digits(code)?).ok()?;
    Some((code, text.trim_ascii()))
}

/// The first value of this field.
pub fn field<'a>(headers: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    lines(headers).skip(1).find_map(|line| {
        let at = memchr::memchr(b':', line)?;
        line[..at].eq_ignore_ascii_case(name).then(|| line[at + 1..].trim_ascii())
    })
}

fn lines(headers: &[u8]) -> impl Iterator<Item = &[u8]> {
    headers.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii_end)
}
