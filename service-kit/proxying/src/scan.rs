//! Requests that say in two ways where they end, found before hyper sees them.
//!
//! hyper takes the first of two equal lengths and prefers chunks to a length, as it may (RFC 9112 6.3), and does
//! not report it. In a chain of servers, one may read differently what another tolerates: such a request is
//! refused. The scan follows requests and their bodies through the bytes as they come, and spoils the colon of a field
//! that says it a second time, so that hyper, which waits for the whole head, answers 400 and closes. What begins as
//! HTTP/2 is left alone: its frames say once how long they are.

/// The longest beginning of a line that is looked at.
const LOOK: usize = 128;
/// The fields that say where a message ends.
const LENGTH: &[u8] = b"content-length";
const CODING: &[u8] = b"transfer-encoding";
/// What HTTP/2 begins with (RFC 9113 3.4).
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// How far the bytes of one connection were followed.
#[derive(Debug, Default)]
pub(crate) struct Scan {
    at: At,
    /// The line so far, cut at [`LOOK`].
    line: Vec<u8>,
    /// The fields of the head that give its body's length.
    fields: LengthFields,
    /// Bytes of [`PREFACE`] so far.
    greeted: usize,
    /// Whether the stream began with anything else.
    is_plain: bool,
    /// Whether a head has ended.
    has_head: bool,
}

#[derive(Debug, Default, Clone, Copy)]
struct LengthFields {
    has_request_line: bool,
    lengths: u32,
    codings: u32,
    length: u64,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum At {
    #[default]
    Head,
    /// In a body, or in a chunk with its line end, with so many bytes to come, and where after that.
    Bytes(u64, After),
    /// In the line before a chunk.
    ChunkSize,
    /// After the last chunk.
    Trailers,
    /// After a head that was spoilt: the rest is not read.
    Spoilt,
    /// After the preface of HTTP/2.
    Frames,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum After {
    Head,
    ChunkSize,
}

impl Scan {
    /// Follows what came next; what must not be read as a request is spoilt.
    pub fn follow(&mut self, bytes: &mut [u8]) {
        self.greet(bytes);
        let mut next = 0;
        while next < bytes.len() {
            match self.at {
                At::Spoilt | At::Frames => return,
                At::Bytes(left, after) => {
                    let here = left.min((bytes.len() - next) as u64);
                    // At most as long as the slice.
                    next += here as usize;
                    self.at = match (left - here, after) {
                        (0, After::Head) => At::Head,
                        (0, After::ChunkSize) => At::ChunkSize,
                        (left, after) => At::Bytes(left, after),
                    };
                }
                At::Head | At::ChunkSize | At::Trailers => {
                    let byte = bytes[next];
                    if byte == b':' && self.is_said_again() {
                        bytes[next] = 0;
                        self.at = At::Spoilt;
                        return;
                    }
                    if byte != b'\n' {
                        if self.line.len() < LOOK {
                            self.line.push(byte);
                        }
                    } else {
                        self.end_line();
                        if self.at == At::Spoilt {
                            bytes[next] = 0;
                        }
                    }
                    next += 1;
                }
            }
        }
    }

    /// Whether the last byte was the end of a whole request.
    pub fn is_after_request(&self) -> bool {
        self.has_head
            && self.at == At::Head
            && self.line.is_empty()
            && !self.fields.has_request_line
    }

    /// Looks whether the stream begins with the preface; the lines of which it consists are harmless.
    fn greet(&mut self, bytes: &[u8]) {
        if self.is_plain || self.at == At::Frames {
            return;
        }
        let expected = &PREFACE[self.greeted..];
        let here = expected.len().min(bytes.len());
        self.is_plain = bytes[..here] != expected[..here];
        self.greeted += here;
        if !self.is_plain && self.greeted == PREFACE.len() {
            self.at = At::Frames;
        }
    }

    /// Whether the line so far is the name of a field that says where the message ends, and not the first such field.
    fn is_said_again(&self) -> bool {
        self.at == At::Head
            && self.fields.lengths + self.fields.codings > 0
            && (self.line.eq_ignore_ascii_case(LENGTH) || self.line.eq_ignore_ascii_case(CODING))
    }

    fn end_line(&mut self) {
        let mut line = std::mem::take(&mut self.line);
        let text = line.strip_suffix(b"\r").unwrap_or(&line);
        match self.at {
            At::Head if text.is_empty() => self.end_head(),
            At::Head if self.fields.has_request_line => self.fields.field(text),
            At::Head => self.fields.has_request_line = true,
            At::ChunkSize => self.at = chunk(text),
            At::Trailers if text.is_empty() => self.at = At::Head,
            At::Trailers | At::Bytes(..) | At::Spoilt | At::Frames => {}
        }
        // Its room is used for the next one.
        line.clear();
        self.line = line;
    }

    fn end_head(&mut self) {
        let fields = std::mem::take(&mut self.fields);
        self.has_head |= fields.has_request_line;
        self.at = match (fields.lengths, fields.codings) {
            // Empty lines before a request are passed over.
            (0, 0) => At::Head,
            (1, 0) if fields.length == 0 => At::Head,
            (1, 0) => At::Bytes(fields.length, After::Head),
            (0, 1) => At::ChunkSize,
            _ => At::Spoilt,
        };
    }
}

impl LengthFields {
    fn field(&mut self, line: &[u8]) {
        let Some(colon) = line.iter().position(|byte| *byte == b':') else { return };
        let (name, value) = (&line[..colon], line[colon + 1..].trim_ascii());
        if name.eq_ignore_ascii_case(LENGTH) {
            self.lengths += 1;
            // What is no number hyper refuses.
            self.length =
                std::str::from_utf8(value).ok().and_then(|text| text.parse().ok()).unwrap_or(0);
        } else if name.eq_ignore_ascii_case(CODING) {
            self.codings += 1;
        }
    }
}

/// Where a chunk leads whose line this is; what is no number hyper refuses.
fn chunk(line: &[u8]) -> At {
    let digits = line.iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
    let size = std::str::from_utf8(&line[..digits]).ok();
    match size.and_then(|text| u64::from_str_radix(text, 16).ok()) {
        Some(0) => At::Trailers,
        // With the end of its line.
        Some(size) => At::Bytes(size.saturating_add(2), After::ChunkSize),
        None => At::Spoilt,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is left of it, whole and cut in two at every place.
    fn followed(stream: &str) -> String {
        let run = |cut: usize| {
            let mut bytes = stream.as_bytes().to_vec();
            let mut scan = Scan::default();
            let (one, two) = bytes.split_at_mut(cut);
            scan.follow(one);
            scan.follow(two);
            String::from_utf8(bytes).unwrap()
        };
        let whole = run(0);
        for cut in 0..=stream.len() {
            assert_eq!(run(cut), whole, "cut at {cut}");
        }
        whole
    }

    /// Each says it the second time in its last field.
    const GUILTY: [&str; 4] = [
        "POST / HTTP/1.1\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n",
        "POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\nX: y\r\ncontent-length: 4\r\n\r\n",
        "POST / HTTP/1.1\nContent-Length: 4\nContent-Length: 4\n\n",
        "POST / HTTP/1.1\r\nTransfer-Encoding: identity\r\nTransfer-Encoding: chunked\r\n\r\n",
    ];

    const INNOCENT: [&str; 6] = [
        "GET /content-length:1?transfer-encoding:2 HTTP/1.1\r\nHost: h\r\n\r\n",
        "\r\n\r\nGET / HTTP/1.1\r\nX-Content-Length: 1\r\nContent-Length: 0\r\n\r\n",
        "POST / HTTP/1.1\r\nContent-Length:  15 \r\n\r\nContent-Length:",
        "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "POST / HTTP/1.1\nTransfer-Encoding: chunked\n\n1A;x=\"y\"\r\nContent-Length: 5\r\n\r\nhello\r\n0\r\nX-T: 1\r\n\r\n",
        "PUT / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n\r\n\r\n2\r\nok\r\n00\r\n\r\n",
    ];

    fn spoilt(guilty: &str) -> String {
        let (before, after) = guilty.rsplit_once(':').unwrap();
        format!("{before}\0{after}")
    }

    #[test]
    fn the_guilty_are_spoilt_wherever_they_stand() {
        for guilty in GUILTY {
            let spoilt = spoilt(guilty);
            assert_eq!(followed(guilty), spoilt);
            for innocent in INNOCENT {
                let stream = format!("{innocent}{guilty}rest");
                assert_eq!(followed(&stream), format!("{innocent}{spoilt}rest"));
            }
        }
    }

    #[test]
    fn the_innocent_go_through_one_after_the_other() {
        let all = INNOCENT.concat();
        assert_eq!(followed(&all), all);
    }

    #[test]
    fn what_begins_as_http_2_is_left_alone() {
        let preface = std::str::from_utf8(PREFACE).unwrap();
        for guilty in GUILTY {
            let frames = format!("{preface}{guilty}");
            assert_eq!(followed(&frames), frames);
            // Nearly, or not from the beginning, is not so.
            for near in [preface.replace("2.0", "2.1"), format!("\r\n{preface}")] {
                let expected = format!("{near}{}", spoilt(guilty));
                assert_eq!(followed(&format!("{near}{guilty}")), expected);
            }
        }
    }

    #[test]
    fn the_end_of_a_request_is_known() {
        for innocent in &INNOCENT[3..] {
            let mut scan = Scan::default();
            let mut stream = innocent.as_bytes().to_vec();
            for byte in &mut stream {
                assert!(!scan.is_after_request(), "{innocent:?}");
                scan.follow(std::slice::from_mut(byte));
            }
            assert!(scan.is_after_request(), "{innocent:?}");
        }
        let mut scan = Scan::default();
        scan.follow(&mut PREFACE.to_vec());
        assert!(!scan.is_after_request(), "frames are not followed");
    }

    #[test]
    fn lines_without_end_take_no_room() {
        let mut scan = Scan::default();
        scan.follow(&mut [b'x'; 10_000]);
        assert_eq!(scan.line.len(), LOOK);
    }
}
