use super::*;

const ACCOUNT_OF_FIVE: Account = Account { cast: 5, dropped: [1, 2, 3, 4] };

/// One of each kind, and its bytes as they stand in the table.
fn vectors() -> Vec<(Frame<'static>, Vec<u8>)> {
    let number = |number: u8| [number, 0, 0, 0, 0, 0, 0, 0];
    let account = [5, 1, 2, 3, 4].map(number).concat();
    let framed = |length: u8, parts: &[&[u8]]| [&[length, 0, 0, 0], &parts.concat()[..]].concat();
    let hello = Hello { caster: 7, base: ACCOUNT_OF_FIVE, name: "proxy" };
    let cast = Cast { lane: 3, caster: 7, sequence: 8, sent_at: 9, payload: b"abc" };
    let welcome = Welcome { record: 6, taken: 11, longest: 258 };
    vec![
        (Frame::Hello(hello), framed(62, &[b"\x01CASTS\0\0\x01", &number(7), &account, b"proxy"])),
        (Frame::Cast(cast), framed(29, &[&[2, 3], &number(7), &number(8), &number(9), b"abc"])),
        (Frame::Account(7, ACCOUNT_OF_FIVE), framed(49, &[&[3], &number(7), &account])),
        (Frame::Welcome(welcome), framed(21, &[&[17], &number(6), &number(11), &[2, 1, 0, 0]])),
        (Frame::Taken(12), framed(9, &[&[18], &number(12)])),
    ]
}

#[test]
fn every_kind_has_the_bytes_of_the_table() {
    for (frame, bytes) in vectors() {
        let mut written = Vec::new();
        frame.write(&mut written);
        assert_eq!(written, bytes, "{frame:?}");
        let body = cut(&bytes, LEAST_FRAME).unwrap().unwrap();
        assert_eq!(Frame::read(body), Ok(frame));
    }
    assert_eq!(size(3), 4 + 29, "the cast of three bytes above");
}

#[test]
fn a_frame_is_whole_with_its_last_byte_and_not_before() {
    for (frame, bytes) in vectors() {
        for end in 0..bytes.len() {
            assert_eq!(cut(&bytes[..end], LEAST_FRAME), Ok(None), "{frame:?} after {end} bytes");
        }
        let longer = [&bytes[..], &[0xff]].concat();
        assert_eq!(cut(&longer, LEAST_FRAME), Ok(Some(&bytes[LENGTH..])));
    }
}

#[test]
fn a_frame_that_is_cut_short_or_goes_on_is_none() {
    for (frame, bytes) in vectors() {
        let body = &bytes[LENGTH..];
        // What ends with a name or a payload may end with a shorter one.
        let least = match frame {
            Frame::Hello(hello) => body.len() - hello.name.len(),
            Frame::Cast(cast) => body.len() - cast.payload.len(),
            _ => body.len(),
        };
        for end in 0..body.len() {
            assert_eq!(Frame::read(&body[..end]).is_ok(), end >= least, "{frame:?}: {end}");
        }
        let longer = [body, &[0]].concat();
        let goes_on = matches!(frame, Frame::Hello(_) | Frame::Cast(_));
        assert_eq!(Frame::read(&longer).is_ok(), goes_on, "{frame:?}");
    }
}

#[test]
fn what_is_no_frame_is_refused() {
    let cast = |lane, sequence| {
        let mut bytes = Vec::new();
        Frame::Cast(Cast { lane, caster: 1, sequence, sent_at: 1, payload: b"" }).write(&mut bytes);
        bytes.split_off(LENGTH)
    };
    assert!(Frame::read(&cast(63, u64::MAX - 1)).is_ok());
    let mut hello = vectors().swap_remove(0).1.split_off(LENGTH);
    hello[8] = 2;
    let mut long = vectors().swap_remove(0).1.split_off(LENGTH);
    long.resize(long.len() + LONGEST_NAME, b'x');
    let mut torn = vectors().swap_remove(0).1.split_off(LENGTH);
    torn.push(0xff);
    for bad in [vec![], vec![0], vec![19], cast(64, 1), cast(0, u64::MAX), hello, long, torn] {
        assert!(matches!(Frame::read(&bad), Err(FrameError::Malformed(_))), "{bad:?}");
    }
}

#[test]
fn a_length_beyond_the_bound_is_known_before_its_bytes_come() {
    assert_eq!(cut(&[1, 1, 0, 0], 257), Ok(None));
    assert_eq!(cut(&[1, 1, 0, 0], 256), Err(FrameError::Oversize));
    assert_eq!(cut(&[0xff; 4], usize::MAX), Ok(None));
    assert_eq!(cut(&[0; 4], 0), Ok(Some(&[][..])));
}
