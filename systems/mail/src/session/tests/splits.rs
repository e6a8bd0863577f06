//! The same bytes make the same conversation, however they are split.

use super::*;
use proptest::prelude::*;

/// The result of a conversation.
#[derive(Debug, PartialEq, Eq)]
struct Result {
    said: String,
    kept: Vec<(Envelope, Vec<u8>)>,
    is_over: bool,
}

fn settings() -> Settings {
    Settings {
        auth: Policy::Optional,
        auth_in_clear: true,
        users: [("tim".to_owned(), "secret".to_owned())].into(),
        max_message: 200,
        max_recipients: 3,
        max_command: 64,
        max_line: 70,
        max_errors: 6,
        ..Settings::default()
    }
}

fn converse<'a>(chunks: impl IntoIterator<Item = &'a [u8]>) -> Result {
    let (settings, counts) = (settings(), Counts::default());
    let mut test = TestSession::new(&settings, &counts);
    test.feed(b"");
    for chunk in chunks {
        test.feed(chunk);
        assert!(test.is_over || test.input.len() < 12_288, "no line is kept beyond its limit");
        assert!(test.session.held() < 1_024 && test.most_waiting < 8_192);
    }
    Result { said: test.said, kept: test.kept, is_over: test.is_over }
}

const VECTORS: [&[u8]; 9] = [
    b"EHLO c\r\nMAIL FROM:<a@b> SIZE=10\r\nRCPT TO:<c@d>\r\nDATA\r\nx\r\n..y\r\n.\r\nQUIT\r\n",
    b"EHLO c\r\nMAIL FROM:<a@b>\r\nRCPT TO:<c@d>\r\nBDAT 5\r\n.\r\n\0\nBDAT 3 LAST\r\nabcNOOP\r\n",
    b"EHLO c\r\nAUTH LOGIN\r\ndGlt\r\nc2VjcmV0\r\nMAIL FROM:<a@b> AUTH=<>\r\nRSET\r\nQUIT\r\n",
    b"EHLO c\r\nMAIL FROM:<a@b>\r\nRCPT TO:<c@d>\r\nDATA\r\na\n.\r\nMAIL FROM:<x@y>\r\n.\r\n",
    b"EHLO c\r\nMAIL FROM:<a@b>\r\nRCPT TO:<c@d>\r\nDATA\r\na\r\n.\rMAIL FROM:<x@y>\r\n.\r\n",
    b"NOOP xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\r\nNOOP\r\nQUIT\r\n",
    b"NOOP\nQUIT\r\n",
    b"BDAT 7 LAST\r\nQUIT\r\n\nEHLO c\r\nBDAT 99999999999999999999 LAST\r\nx",
    b"A\r\nB\r\nC\r\nD\r\nE\r\nF\r\nNOOP\r\n",
];

#[test]
fn dialogues_are_the_same_at_every_split() {
    for vector in VECTORS {
        let whole = converse([vector]);
        assert!(whole.said.matches("\r\n").count() > 1, "the vector says something");
        for split in 0..=vector.len() {
            assert_eq!(converse([&vector[..split], &vector[split..]]), whole, "at {split}");
        }
        assert_eq!(converse(vector.chunks(1)), whole);
    }
    assert_eq!(converse([VECTORS[0]]).kept[0].1, b"x\r\n.y\r\n");
    assert!(converse([VECTORS[3]]).kept.is_empty());
}

fn fragment() -> impl Strategy<Value = Vec<u8>> {
    let lines = prop_oneof![
        Just("EHLO c\r\n"),
        Just("HELO c\r\n"),
        Just("MAIL FROM:<a@b>\r\n"),
        Just("RCPT TO:<c@d>\r\n"),
        Just("DATA\r\n"),
        Just("text\r\n"),
        Just(".\r\n"),
        Just("..\r\n"),
        Just("BDAT 4\r\n"),
        Just("BDAT 3 LAST\r\n"),
        Just("RSET\r\n"),
        Just("AUTH PLAIN\r\n"),
        Just("AUTH LOGIN dGlt\r\n"),
        Just("c2VjcmV0\r\n"),
        Just("*\r\n"),
        Just("NOOP\r\n"),
        Just("MAIL FROM:<a@b> SIZE=201\r\n"),
        Just("\n"),
        Just("\r"),
        Just("\r\n"),
        Just("\0"),
        Just("QUIT"),
    ];
    prop_oneof![
        12 => lines.prop_map(|line| line.as_bytes().to_vec()),
        1 => proptest::collection::vec(any::<u8>(), 0..90),
        1 => proptest::collection::vec(b'a'..=b'z', 50..120),
    ]
}

proptest! {
    #[test]
    fn any_bytes_at_any_splits_make_the_conversation_of_the_whole(
        fragments in proptest::collection::vec(fragment(), 0..24),
        splits in proptest::collection::vec(0_usize..600, 0..12),
    ) {
        let input = fragments.concat();
        let mut ends: Vec<usize> = splits.into_iter().map(|at| at.min(input.len())).collect();
        ends.push(input.len());
        ends.sort_unstable();
        let mut start = 0;
        let chunks: Vec<&[u8]> =
            ends.iter().map(|&end| &input[std::mem::replace(&mut start, end)..end]).collect();
        prop_assert_eq!(converse(chunks), converse([&input[..]]));
    }
}
