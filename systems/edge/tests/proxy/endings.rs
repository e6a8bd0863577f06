//! Answers that are not what they say, that have no end, or that are too large: passed on within bounds, and not kept.

use std::io::{BufReader, Read, Write};
use std::net::{Shutdown, TcpListener};
use std::sync::Arc;
use std::thread;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

use crate::house::{House, Upstream, answer, ask, connect, message, request, reset};
use crate::peers::Certificate;

/// All that a client sees of an answer that is sent as it stands, and is not kept.
fn unkept(short: &'static str) -> String {
    let upstream = Upstream::always(short);
    let house = House::before(upstream.address);
    let seen = ask(house.address, &request("GET /"));
    ask(house.address, &request("GET /"));
    assert_eq!(upstream.times(), 2, "{short}: it was kept");
    assert_eq!(house.figure("proxy_stored_bytes"), 0);
    house.until("proxy_filling_bytes", 0);
    seen
}

#[test]
fn an_answer_that_breaks_off_never_looks_whole_and_is_not_kept() {
    // As far as it came, or not even its head.
    let seen = unkept("200|cache-control: max-age=60|content-length: 10|connection: close|==hello");
    assert!(seen.is_empty() || seen.contains("content-length: 10\r\n"), "{seen}");
    let seen = unkept(
        "200|cache-control: max-age=60|transfer-encoding: chunked|connection: close|==5\r\nhello\r\n",
    );
    assert!(!seen.ends_with("0\r\n\r\n"), "{seen}");
}

/// Nobody knows whether all of it came.
#[test]
fn an_answer_that_ends_with_its_connection_is_not_kept() {
    let seen = unkept("200|cache-control: max-age=60|connection: close|==hello");
    assert!(seen.ends_with("5\r\nhello\r\n0\r\n\r\n"), "{seen}");
}

#[test]
fn an_answer_with_two_lengths_is_none() {
    for short in [
        "200|cache-control: max-age=60|content-length: 5|content-length: 6|==hello!",
        "200|cache-control: max-age=60|content-length: 5|transfer-encoding: chunked|==5\r\nhello\r\n0\r\n\r\n",
        "200|cache-control: max-age=60|transfer-encoding: gzip|==hello",
    ] {
        let seen = unkept(short);
        assert!(seen.starts_with("HTTP/1.1 502 "), "{short}: {seen}");
    }
}

/// More comes than was announced: what is too much is no part of it, and no answer to the next request.
#[test]
fn what_comes_after_the_announced_length_is_dropped() {
    let upstream =
        Upstream::always("200|cache-control: max-age=60|content-length: 5|==hello, and more");
    let house = House::before(upstream.address);
    assert_eq!(house.ask("GET /").line(), "200 miss hello");
    assert_eq!(house.ask("GET /").line(), "200 hit hello");
    house.until("proxy_upstream_open", 0);
    assert_eq!(house.ask("GET /b").line(), "200 miss hello");
}

#[test]
fn chunks_are_kept_as_a_whole_with_its_length() {
    let upstream = Upstream::always(
        "200|cache-control: max-age=60|transfer-encoding: chunked|==5\r\nhello\r\n6\r\n world\r\n0\r\nx-trailer: 1\r\n\r\n",
    );
    let house = House::before(upstream.address);
    assert_eq!(house.ask("GET /").line(), "200 miss hello world");
    let kept = house.ask("GET /");
    assert_eq!(kept.line(), "200 hit hello world");
    assert_eq!(kept.header("content-length"), Some("11"));
}

#[test]
fn trailers_without_end_are_cut_off() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let house = House::before(listener.local_addr().unwrap());
    let address = house.address;
    let client = thread::spawn(move || ask(address, &request("GET /")));
    let (mut stream, _) = listener.accept().unwrap();
    message(&mut BufReader::new(stream.try_clone().unwrap())).unwrap();
    let head =
        answer("200|cache-control: max-age=60|transfer-encoding: chunked|==5\r\nhello\r\n0\r\n");
    stream.write_all(head.as_bytes()).unwrap();
    let line = format!("x-{}: 1\r\n", "y".repeat(1000));
    let most = (64 << 20) / line.len();
    // Before long nobody listens any more.
    let is_heard = |_: &usize| stream.write_all(line.as_bytes()).is_ok();
    let heard = (0..most).take_while(is_heard).count();
    assert!(heard < most, "{heard} lines were heard");
    let seen = client.join().unwrap();
    assert!(!seen.ends_with("0\r\n\r\n"), "{seen}");
    assert_eq!(house.figure("proxy_stored_keys"), 0);
}

#[test]
fn what_is_too_large_is_passed_on_and_not_kept() {
    let large = |framing: &str| -> &'static str {
        let body = "x".repeat(3000);
        match framing {
            "length" => format!("200|cache-control: max-age=60|={body}").leak(),
            _ => format!(
                "200|cache-control: max-age=60|transfer-encoding: chunked|==bb8\r\n{body}\r\n0\r\n\r\n"
            )
            .leak(),
        }
    };
    for framing in ["length", "chunks"] {
        let upstream = Upstream::always(large(framing));
        let house = House::with(upstream.address, &[("cache_object", "2KiB")]);
        for _ in 0..2 {
            let seen = house.ask("GET /");
            assert_eq!(
                (seen.body.len(), seen.header("x-cache")),
                (3000, Some("miss")),
                "{framing}"
            );
        }
        assert_eq!(house.figure("proxy_given_up_total"), 2, "{framing}");
        assert_eq!(house.figure("proxy_stored_keys"), 0, "{framing}");
    }
}

/// Whoever announces much holds room for it, but no more than there is, and gives it back.
#[test]
fn answers_on_their_way_hold_no_more_than_the_cache() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let settings = [("cache", "100KB"), ("cache_object", "60KB")];
    let house = House::with(listener.local_addr().unwrap(), &settings);
    let begin = |path: &str| {
        let mut client = connect(house.address);
        client.write_all(request(&format!("GET {path}")).as_bytes()).unwrap();
        let (mut stream, _) = listener.accept().unwrap();
        message(&mut BufReader::new(stream.try_clone().unwrap())).unwrap();
        let head = answer("200|cache-control: max-age=60|content-length: 60000|==x");
        stream.write_all(head.as_bytes()).unwrap();
        (client, stream)
    };
    let (one, other) = (begin("/a"), begin("/b"));
    house.until("proxy_given_up_total", 1);
    assert_eq!(house.figure("proxy_filling_bytes"), 60_000);
    // Both are passed on all the same; only one of them is kept.
    for (mut client, mut stream) in [one, other] {
        stream.write_all("x".repeat(59_999).as_bytes()).unwrap();
        let mut text = String::new();
        client.read_to_string(&mut text).unwrap();
        assert_eq!(text.split_once("\r\n\r\n").unwrap().1.len(), 60_000);
    }
    house.until("proxy_filling_bytes", 0);
    assert_eq!(house.figure("proxy_stored_total"), 1);
}

#[test]
fn a_client_that_resets_leaves_nothing_behind() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let house = House::before(listener.local_addr().unwrap());
    let mut client = connect(house.address);
    client.write_all(request("GET /").as_bytes()).unwrap();
    let (mut stream, _) = listener.accept().unwrap();
    message(&mut BufReader::new(stream.try_clone().unwrap())).unwrap();
    let head = answer("200|cache-control: max-age=60|content-length: 10|==hello");
    stream.write_all(head.as_bytes()).unwrap();
    house.until("proxy_filling_bytes", 10);
    reset(client);
    house.until("proxy_filling_bytes", 0);
    assert_eq!(house.figure("proxy_stored_keys"), 0);
    house.until("proxy_under_way", 0);
}

/// A client that sends its request, and then nothing more.
#[test]
fn a_client_that_closes_its_sending_side_is_answered() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let house = House::before(listener.local_addr().unwrap());
    let mut client = connect(house.address);
    client.write_all(request("GET /").as_bytes()).unwrap();
    client.shutdown(Shutdown::Write).unwrap();
    let (mut stream, _) = listener.accept().unwrap();
    message(&mut BufReader::new(stream.try_clone().unwrap())).unwrap();
    stream.write_all(answer("200|cache-control: max-age=60|=hello").as_bytes()).unwrap();
    let mut text = String::new();
    client.read_to_string(&mut text).unwrap();
    assert!(text.starts_with("HTTP/1.1 200 ") && text.ends_with("hello"), "{text:?}");
    assert_eq!(house.figure("proxy_stored_total"), 1);
}

/// As `openssl s_client` does at the end of what it is given: it ends its side of TLS, and of the connection below.
#[test]
fn a_client_that_closes_its_sending_side_of_tls_is_answered() {
    let certificate = Certificate::new("proxy-half-closed");
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let house = House::with(listener.local_addr().unwrap(), &certificate.settings());
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(&certificate.cert).unwrap()).unwrap();
    let config = ClientConfig::builder().with_root_certificates(roots).with_no_client_auth();
    let name = ServerName::try_from("localhost").unwrap();
    let session = ClientConnection::new(Arc::new(config), name).unwrap();
    let mut client = StreamOwned::new(session, connect(house.address));
    client.write_all(request("GET /").as_bytes()).unwrap();
    client.conn.send_close_notify();
    client.flush().unwrap();
    client.sock.shutdown(Shutdown::Write).unwrap();
    let (mut stream, _) = listener.accept().unwrap();
    message(&mut BufReader::new(stream.try_clone().unwrap())).unwrap();
    stream.write_all(answer("200|=hello").as_bytes()).unwrap();
    let mut text = String::new();
    client.read_to_string(&mut text).unwrap();
    assert!(text.starts_with("HTTP/1.1 200 ") && text.ends_with("hello"), "{text:?}");
}
