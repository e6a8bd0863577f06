//! What is written as an answer: every behaviour as bytes rendered before the first request.

use crate::configuration::{Behaviour, Configuration, Lie};

/// Bytes that bodies are streamed from; also how much of a body goes out with its head.
pub const FILLER_BYTES: usize = 64 << 10;
/// By how much a lying length is off.
const LIE_BYTES: u64 = 64;
/// No status line, no line structure, not even text.
const GARBAGE: &[u8] = b"\x16\x03\xffgarbage\x00\x01\x02 not HTTP at all \xfe\xfd\x7f\r\r\n\n\0";

/// An answer rendered in advance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PreparedAnswer {
    /// The head, with as much of the body as goes out in one write.
    pub first: Vec<u8>,
    /// How many bytes of `first` are head, which is all that a HEAD request gets.
    pub head_bytes: usize,
    /// What follows.
    pub rest: Rest,
    /// What becomes of the connection.
    pub end: Disposition,
}

/// What follows the first write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rest {
    /// So many bytes of filler, maybe none.
    Filler(u64),
    /// Filler in pieces, the last one this long after the head.
    Paced {
        /// Bytes in all.
        bytes: u64,
        /// Number of pieces.
        pieces: u64,
        /// From the head to the last piece.
        over_ns: u64,
    },
    /// Chunks of filler and the last chunk.
    Chunked {
        /// Bytes in all, without framing.
        bytes: u64,
        /// Number of chunks.
        pieces: u64,
    },
    /// Header lines for ever.
    HeaderLines,
    /// Silence for ever.
    Nothing,
}

/// What becomes of a connection after an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Disposition {
    /// It serves on.
    Keep,
    /// It is closed.
    Close,
    /// It is reset.
    Reset,
}

/// Whether an answer announces that it is the last one on its connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Last {
    /// More may follow.
    No,
    /// The connection ends after it: the client asked for it, or the server stops.
    Yes,
}

/// The answer of the configured behaviour.
pub fn configured(configuration: &Configuration, last: Last) -> PreparedAnswer {
    let body = configuration.body_bytes;
    match configuration.behaviour {
        // Mode `tokens` renders an answer for each request, see `completion`.
        Behaviour::Plain
        | Behaviour::HugeBody
        | Behaviour::Refuse { .. }
        | Behaviour::Tokens(_) => sized(200, body, body, last),
        Behaviour::Close => sized(200, body, body, Last::Yes),
        Behaviour::Status { code } => sized(code, body, body, last),
        Behaviour::Half => closed(sized(200, body, body / 2, last)),
        Behaviour::LyingLength { lie: Lie::Less } => sized(200, body, body + LIE_BYTES, last),
        Behaviour::LyingLength { lie: Lie::More } => sized(200, body + LIE_BYTES, body, last),
        Behaviour::SlowBody { over_ns, pieces } => PreparedAnswer {
            rest: Rest::Paced { bytes: body, pieces, over_ns },
            ..sized(200, body, 0, last)
        },
        Behaviour::Chunked { pieces } => {
            let head = render_head(200, "transfer-encoding: chunked\r\n", last);
            PreparedAnswer {
                rest: Rest::Chunked { bytes: body, pieces },
                ..bare(head, disposition(last))
            }
        }
        Behaviour::Reset => bare(Vec::new(), Disposition::Reset),
        Behaviour::Garbage => bare(GARBAGE.to_vec(), Disposition::Close),
        Behaviour::Hang => {
            PreparedAnswer { rest: Rest::Nothing, ..bare(Vec::new(), Disposition::Close) }
        }
        Behaviour::EndlessHeader => PreparedAnswer {
            rest: Rest::HeaderLines,
            ..bare(b"HTTP/1.1 200 OK\r\n".into(), Disposition::Close)
        },
    }
}

/// An ordinary 200 with the configured body, for requests that the behaviour does not affect.
pub fn ordinary(configuration: &Configuration, last: Last) -> PreparedAnswer {
    let body = configuration.body_bytes;
    sized(200, body, body, last)
}

/// `index`-th of `pieces` near-equal parts of `bytes`; they sum to `bytes`.
pub fn piece(bytes: u64, pieces: u64, index: u64) -> u64 {
    bytes / pieces + u64::from(index < bytes % pieces)
}

/// A head that announces `announced` bytes, and a body of `body` bytes.
fn sized(code: u16, announced: u64, body: u64, last: Last) -> PreparedAnswer {
    // 204 and 304 have no body and must not announce one.
    let bodiless = matches!(code, 204 | 304);
    let length = format!("content-length: {announced}\r\n");
    let head = render_head(code, if bodiless { "" } else { &length }, last);
    let mut answer = bare(head, disposition(last));
    if !bodiless {
        let with_head = body.min(FILLER_BYTES as u64);
        answer.first.resize(answer.head_bytes + with_head as usize, b'x');
        answer.rest = Rest::Filler(body - with_head);
    }
    answer
}

fn bare(head: Vec<u8>, end: Disposition) -> PreparedAnswer {
    PreparedAnswer { head_bytes: head.len(), first: head, rest: Rest::Filler(0), end }
}

fn closed(answer: PreparedAnswer) -> PreparedAnswer {
    PreparedAnswer { end: Disposition::Close, ..answer }
}

fn disposition(last: Last) -> Disposition {
    match last {
        Last::No => Disposition::Keep,
        Last::Yes => Disposition::Close,
    }
}

/// A status line, these header lines and the empty line.
pub(crate) fn render_head(code: u16, lines: &str, last: Last) -> Vec<u8> {
    let close = if last == Last::Yes { "connection: close\r\n" } else { "" };
    let reason = match code {
        200 => "OK",
        400 => "Bad Request",
        405 => "Method Not Allowed",
        429 => "Too Many Requests",
        500 => "Internal Server Error",
        503 => "Service Unavailable",
        _ => "As Told",
    };
    format!("HTTP/1.1 {code} {reason}\r\n{lines}{close}\r\n").into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::configuration::read;
    use serving::options::Options;

    fn answer(mode: &str, body: &str, last: Last) -> PreparedAnswer {
        let options = Options::default().with("mode", mode).with("body", body);
        configured(&read(&options).unwrap(), last)
    }

    fn head(answer: &PreparedAnswer) -> &str {
        std::str::from_utf8(&answer.first[..answer.head_bytes]).unwrap()
    }

    #[test]
    fn a_plain_answer_is_one_write() {
        let plain = answer("none", "3B", Last::No);
        assert_eq!(plain.first, b"HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\nxxx");
        assert_eq!((plain.rest, plain.end), (Rest::Filler(0), Disposition::Keep));
        let last = answer("none", "3B", Last::Yes);
        assert!(head(&last).contains("connection: close\r\n"));
        assert_eq!(last.end, Disposition::Close);
    }

    #[test]
    fn a_huge_body_keeps_little_in_memory() {
        let huge = answer("huge_body", "2GiB", Last::No);
        assert!(head(&huge).contains("content-length: 2147483648\r\n"));
        assert_eq!(huge.first.len(), huge.head_bytes + FILLER_BYTES);
        assert_eq!(huge.rest, Rest::Filler((2 << 30) - FILLER_BYTES as u64));
    }

    #[test]
    fn lengths_lie_and_halves_are_halves() {
        let half = answer("half", "100B", Last::No);
        assert!(head(&half).contains("content-length: 100\r\n"));
        assert_eq!((half.first.len() - half.head_bytes, half.end), (50, Disposition::Close));
        let less = answer("lying_length", "100B", Last::No);
        assert!(head(&less).contains("content-length: 100\r\n"));
        assert_eq!(less.first.len() - less.head_bytes, 164);
    }

    #[test]
    fn a_status_without_body_announces_none() {
        let options = Options::default().with("mode", "status").with("code", 204);
        let answer = configured(&read(&options).unwrap(), Last::No);
        assert_eq!(answer.first, b"HTTP/1.1 204 As Told\r\n\r\n");
        assert_eq!(answer.rest, Rest::Filler(0));
    }

    #[test]
    fn pieces_sum_to_the_whole() {
        for (bytes, pieces) in [(10, 3), (0, 2), (2, 5), (1000, 10)] {
            let sum: u64 = (0..pieces).map(|index| piece(bytes, pieces, index)).sum();
            assert_eq!(sum, bytes);
        }
    }
}
