use super::*;
use proptest::prelude::*;

/// The result of a message: its content, what ended it, and the number of bytes used.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Read {
    content: Vec<u8>,
    found: Found,
    used: usize,
    is_line_too_long: bool,
    has_nul: bool,
}

fn read<'a>(chunks: impl IntoIterator<Item = &'a [u8]>, limit: usize) -> Read {
    let mut framing = Framing::new(limit);
    let (mut content, mut used, mut found) = (Vec::new(), 0, Found::More);
    for chunk in chunks {
        let mut rest = chunk;
        while !rest.is_empty() && found == Found::More {
            let piece = framing.next(rest);
            content.extend_from_slice(piece.run);
            found = piece.found;
            used += piece.used;
            rest = &rest[piece.used..];
        }
    }
    if found == Found::Bare {
        // How much of an ambiguous message is seen depends on the chunks, but is never used.
        (content, used) = (Vec::new(), 0);
    }
    let (is_line_too_long, has_nul) = (framing.is_line_too_long(), framing.has_nul());
    Read { content, found, used, is_line_too_long, has_nul }
}

/// The same byte by byte, straight from RFC 5321, 4.5.2.
fn naive(input: &[u8], limit: usize) -> Read {
    let none = || Vec::new();
    let mut read = Read {
        content: none(),
        found: Found::More,
        used: 0,
        is_line_too_long: false,
        has_nul: false,
    };
    let mut rest = input;
    loop {
        let end = rest.windows(2).position(|pair| pair == b"\r\n");
        let line = &rest[..end.unwrap_or(rest.len())];
        // A carriage return at the end of the input may still be followed by a line feed.
        let whole = if end.is_none() { line.strip_suffix(b"\r").unwrap_or(line) } else { line };
        if whole.iter().any(|byte| matches!(byte, b'\r' | b'\n')) {
            return Read { found: Found::Bare, content: none(), used: 0, ..read };
        }
        if end.is_some() && line == b"." {
            return Read { found: Found::End, used: read.used + 3, ..read };
        }
        let is_dot_return = end.is_none() && line == b".\r";
        let meant = line.strip_prefix(b".").unwrap_or(line);
        let octets = whole.strip_prefix(b".").unwrap_or(whole).len() + 2;
        read.is_line_too_long |= octets > limit && (end.is_some() || octets > 2);
        read.has_nul |= meant.contains(&0);
        if !is_dot_return {
            read.content.extend_from_slice(meant);
        }
        let Some(end) = end else {
            return Read { used: input.len(), ..read };
        };
        read.content.extend_from_slice(b"\r\n");
        read.used += end + 2;
        rest = &rest[end + 2..];
    }
}

fn every_split(input: &[u8], limit: usize, expect: &Read) {
    for split in 0..=input.len() {
        let halves = [&input[..split], &input[split..]];
        let mut read = read(halves, limit);
        if read.found == Found::Bare {
            read.has_nul = expect.has_nul;
            read.is_line_too_long = expect.is_line_too_long;
        }
        assert_eq!(&read, expect, "split at {split} of {:?}", String::from_utf8_lossy(input));
    }
    assert_eq!(read(input.chunks(1), limit).content, expect.content);
}

#[test]
fn messages_end_where_they_end_at_every_split() {
    for (input, content, used) in [
        (&b".\r\n"[..], &b""[..], 3),
        (b"a\r\n.\r\n", b"a\r\n", 6),
        (b"a\r\n.\r\nQUIT\r\n", b"a\r\n", 6),
        (b"..\r\n.\r\n", b".\r\n", 7),
        (b".a\r\n..b\r\n.\r\n", b"a\r\n.b\r\n", 12),
        (b"\r\n\r\n.\r\n", b"\r\n\r\n", 7),
        (b"a.\r\n.\r\n", b"a.\r\n", 7),
        (b"a\r\n...\r\n.\r\n", b"a\r\n..\r\n", 11),
        (b"\xff\xfe\r\n.\r\n", b"\xff\xfe\r\n", 7),
    ] {
        let expect = Read {
            content: content.to_vec(),
            found: Found::End,
            used,
            is_line_too_long: false,
            has_nul: false,
        };
        every_split(input, 1_000, &expect);
        assert_eq!(naive(input, 1_000), expect);
    }
}

/// Sequences that other servers have accepted as the end of a message.
#[test]
fn smuggled_ends_are_no_ends() {
    for trick in [
        &b"\n.\n"[..],
        b"\n.\r\n",
        b"\r.\r",
        b"\r.\r\n",
        b"\r\n.\r",
        b"\r\n.\n",
        b"\r.\n",
        b"\n.\r",
        b"\n\n.\r\n",
        b"\r\r\n.\r\n",
        b"\r\n\r.\r\n",
        b"\r\n.\r\r\n",
    ] {
        let input = [b"a", trick, b"MAIL FROM:<x@y>\r\n"].concat();
        let expect = Read {
            content: Vec::new(),
            found: Found::Bare,
            used: 0,
            is_line_too_long: false,
            has_nul: false,
        };
        every_split(&input, 1_000, &expect);
    }
    for trick in
        [&b"\r\n\0.\r\n"[..], b"\r\n.\0\r\n", b"\0\r\n.\0\r\n", b"\r\n\x0b.\r\n", b"\r\n. \r\n"]
    {
        let input = [b"a", trick, b"b\r\n.\r\n"].concat();
        let read = read([&input[..]], 1_000);
        assert_eq!((read.found, read.used), (Found::End, input.len()), "{trick:?}");
        assert_eq!(read.has_nul, trick.contains(&0));
    }
}

#[test]
fn a_line_of_the_most_octets_passes_and_one_more_does_not() {
    let line = |octets: usize| [&vec![b'x'; octets][..], b"\r\n.\r\n"].concat();
    for (octets, is_too_long) in [(998, false), (999, true), (1_000_000, true)] {
        let input = line(octets);
        let read = read([&input[..]], 1_000);
        assert_eq!((read.found, read.is_line_too_long), (Found::End, is_too_long), "{octets}");
    }
    // The stuffed dot does not count.
    let stuffed = [b".", &line(998)[..]].concat();
    assert!(!read([&stuffed[..]], 1_000).is_line_too_long);
}

fn bytes() -> impl Strategy<Value = Vec<u8>> {
    let byte = prop_oneof![
        4 => Just(b"\r\n".to_vec()),
        2 => Just(b"\r\n.".to_vec()),
        2 => Just(b".".to_vec()),
        1 => Just(b"\r\n.\r\n".to_vec()),
        1 => Just(b"\r".to_vec()),
        1 => Just(b"\n".to_vec()),
        1 => Just(b"\0".to_vec()),
        6 => proptest::collection::vec(b'a'..=b'z', 1..4),
    ];
    proptest::collection::vec(byte, 0..24).prop_map(|parts| parts.concat())
}

proptest! {
    #[test]
    fn any_bytes_at_any_splits_read_as_the_naive_reader_reads_them(
        input in bytes(), splits in proptest::collection::vec(0_usize..100, 0..6),
    ) {
        let mut ends: Vec<usize> = splits.into_iter().map(|at| at.min(input.len())).collect();
        ends.push(input.len());
        ends.sort_unstable();
        let mut start = 0;
        let chunks = ends.iter().map(|&end| &input[std::mem::replace(&mut start, end)..end]);
        let (mut read, expect) = (read(chunks.collect::<Vec<_>>(), 6), naive(&input, 6));
        if expect.found == Found::Bare {
            (read.has_nul, read.is_line_too_long) = (expect.has_nul, expect.is_line_too_long);
        }
        if expect.found == Found::More {
            // A carriage return at the end is content only once a line feed follows.
            let trim = |content: &[u8]| content.strip_suffix(b"\r").unwrap_or(content).to_vec();
            prop_assert_eq!(trim(&read.content), trim(&expect.content));
            prop_assert_eq!(read.used, expect.used);
        } else {
            prop_assert_eq!(read, expect);
        }
    }
}
