//! Clients over HTTP/2 that ask without end, read nothing, or say nothing: bounded, and others are served.

use std::io::{BufReader, Write};
use std::net::TcpListener;
use std::time::Instant;

use crate::fixture::{PATIENCE, TestProxy, Upstream, answer, message};
use crate::frames::{
    CANCEL, CONTINUATION, DATA, END_HEADERS, END_STREAM, Frames, GET, GOAWAY, HEADERS,
    REFUSED_STREAM, RESET, block, frame,
};
use crate::session::Session;

const CANCELLED: [u8; 4] = CANCEL.to_be_bytes();

/// Begun and taken back at once, ten thousand times.
#[test]
fn resets_in_a_row_leave_it_serving() {
    let upstream = Upstream::always("200|=one");
    let proxy = TestProxy::before(upstream.address);
    let head = block(&GET);
    for _ in 0..3 {
        let mut frames = Frames::open(proxy.address, &[]);
        for number in 0..10_000 {
            let stream = 2 * number + 1;
            let begun = frame((HEADERS, END_HEADERS | END_STREAM), stream, &head);
            let pair = [begun, frame((RESET, 0), stream, &CANCELLED)].concat();
            // It need not hear all of them.
            if frames.write(&pair).is_err() {
                break;
            }
        }
        assert_eq!(proxy.ask("GET /").body, "one");
    }
    proxy.until("proxy_under_way", 0);
    assert!(proxy.figure("proxy_upstream_open") <= 256);
    assert_eq!(Session::open(proxy.address).ask("GET /").body, "one");
}

/// A head that goes on and on, in as many pieces as it takes.
#[test]
fn a_head_without_end_is_cut_off() {
    let upstream = Upstream::always("200|=one");
    let proxy = TestProxy::before(upstream.address);
    let field = [("x-a", "x".repeat(100))];
    let field = block(&field.each_ref().map(|(name, value)| (*name, value.as_str())));
    for piece in [field.repeat(16_000 / field.len()), block(&[("x", "")]), Vec::new()] {
        let mut frames = Frames::open(proxy.address, &[]);
        frames.send((HEADERS, 0), 1, &block(&GET)).unwrap();
        let next = frame((CONTINUATION, 0), 1, &piece);
        let end = Instant::now() + PATIENCE;
        while frames.write(&next).is_ok() {
            assert!(Instant::now() < end, "pieces of {} bytes are still heard", piece.len());
        }
    }
    assert_eq!((proxy.ask("GET /").body.as_str(), upstream.times()), ("one", 1));
}

#[test]
fn a_stream_too_many_is_refused_and_no_other() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let proxy = TestProxy::with(listener.local_addr().unwrap(), &[("streams", "2")]);
    let mut frames = Frames::open(proxy.address, &[]);
    let alone = [&GET[..], &[("cache-control", "no-store")]].concat();
    for stream in [1, 3] {
        frames.ask(stream, &alone);
    }
    proxy.until("proxy_under_way", 2);
    frames.ask(5, &alone);
    let reset = frames.until(RESET);
    assert_eq!((reset.stream, reset.number()), (5, REFUSED_STREAM));
    for _ in 0..2 {
        let (mut stream, _) = listener.accept().unwrap();
        message(&mut BufReader::new(stream.try_clone().unwrap())).unwrap();
        stream.write_all(answer("200|=one").as_bytes()).unwrap();
        assert!([1, 3].contains(&frames.until(HEADERS).stream));
    }
}

/// The window of a stream stays shut, from the beginning or after what fits in.
#[test]
fn an_answer_that_nobody_takes_is_given_up_and_no_other() {
    let body = "x".repeat(300_000);
    let upstream =
        Upstream::new(move |_, _| answer(&format!("200|cache-control: max-age=60|={body}")));
    let proxy = TestProxy::with(upstream.address, &[("read", "200ms")]);
    assert_eq!(proxy.ask("GET /").body.len(), 300_000);
    let first_window = 4;
    for (given_up, window) in [(1, 0), (2, 1), (3, 20_000)] {
        let mut frames = Frames::open(proxy.address, &[(first_window, window)]);
        frames.ask(1, &GET);
        assert_eq!(frames.until(HEADERS).stream, 1);
        let reset = frames.until(RESET);
        assert_eq!((reset.stream, reset.number()), (1, CANCEL));
        proxy.until("proxy_streams_given_up_total", given_up);
        proxy.until("proxy_under_way", 0);
        let head = [&[(":method", "HEAD")], &GET[1..]].concat();
        frames.ask(3, &head);
        assert_eq!(frames.until(HEADERS).stream, 3);
    }
}

/// Whoever reads nothing holds up the upstream, and not the memory of the proxy.
#[test]
fn what_is_not_read_is_not_asked_for() {
    let body = "x".repeat(20_000_000);
    let upstream = Upstream::new(move |_, _| answer(&format!("200|={body}")));
    let proxy = TestProxy::with(upstream.address, &[("read", "300ms")]);
    let mut frames = Frames::open(proxy.address, &[]);
    frames.ask(1, &GET);
    let mut taken = 0;
    let end = loop {
        let frame = frames.hear().unwrap();
        match frame.kind {
            DATA => taken += frame.payload.len(),
            RESET => break frame,
            _ => {}
        }
    };
    assert_eq!((end.number(), taken), (CANCEL, 65_535));
    assert!(proxy.figure("proxy_upstream_bytes_down_total") < 1 << 20);
    proxy.until("proxy_under_way", 0);
    proxy.until("proxy_upstream_open", 0);
}

/// Also one that no longer answers when it is asked whether it is there.
#[test]
fn a_connection_without_a_request_ends_in_its_time() {
    let upstream = Upstream::always("200|cache-control: max-age=60|=one");
    let proxy = TestProxy::with(upstream.address, &[("idle", "200ms"), ("read", "200ms")]);
    for (asks, is_polite) in [(true, true), (true, false), (false, true), (false, false)] {
        let mut frames = Frames::open(proxy.address, &[]);
        frames.is_polite = is_polite;
        if asks {
            frames.ask(1, &GET);
            assert_eq!(frames.until(HEADERS).stream, 1);
        }
        let last = frames.last(GOAWAY);
        assert!(last.is_some() || !is_polite, "it ends without a word");
    }
    // With the one who asks for it.
    proxy.until("proxy_clients", 1);
}

/// Nothing under way, though a client never took the end of an answer.
#[test]
fn what_is_left_of_an_answer_does_not_keep_a_connection() {
    let upstream = Upstream::always("200|cache-control: max-age=60|=hello");
    let proxy = TestProxy::with(upstream.address, &[("idle", "200ms"), ("read", "200ms")]);
    let first_window = 4;
    let mut frames = Frames::open(proxy.address, &[(first_window, 1)]);
    frames.ask(1, &GET);
    assert_eq!(frames.until(DATA).payload, b"h");
    frames.last(GOAWAY);
    proxy.until("proxy_clients", 1);
}
