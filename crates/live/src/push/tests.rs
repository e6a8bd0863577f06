//! Destinations that work, fail, say nothing and say anything: real sockets and short intervals.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::thread;

use rustls::pki_types::PrivateKeyDer;
use rustls::{ClientConfig, RootCertStore, ServerConfig, ServerConnection, StreamOwned, crypto};

use super::*;
use crate::audience::News;
use crate::tests::{measuring, part, plan, progress, window};

const MS: u64 = 1_000_000;

/// Far shorter than a test's patience, and longer than an exchange on this machine.
const PACE: Pace = Pace {
    every: Duration::from_millis(20),
    timeout: Duration::from_millis(500),
    pause: Duration::from_millis(5),
    longest_pause: Duration::from_millis(50),
    keep: Duration::from_secs(600),
    last: Duration::from_secs(2),
};

/// What came with one request.
struct Posted {
    head: String,
    body: Vec<u8>,
}

/// A server that answers each request with the next of these, the last again and again.
fn server(answers: &[&'static str]) -> (String, Receiver<Posted>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let url = format!("http://{}/write", listener.local_addr().expect("its address"));
    let (tell, posted) = channel();
    let mut answers = answers.to_vec();
    answers.reverse();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            while let Some(one) = read(&mut &stream) {
                let answer =
                    if answers.len() > 1 { answers.pop() } else { answers.last().copied() };
                let is_open = (&stream).write_all(answer.unwrap_or_default().as_bytes()).is_ok();
                if tell.send(one).is_err()
                    || !is_open
                    || !answer.is_some_and(|one| one.contains("length"))
                {
                    break;
                }
            }
        }
    });
    (url, posted)
}

fn read(stream: &mut impl Read) -> Option<Posted> {
    let mut reader = BufReader::new(stream);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head).unwrap_or(0) == 0 {
            return None;
        }
    }
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
    let mut body = vec![0; length?.trim().parse().ok()?];
    reader.read_exact(&mut body).ok()?;
    Some(Posted { head, body })
}

const OK: &str = "HTTP/1.1 204 No Content\r\ncontent-length: 0\r\n\r\n";
const BUSY: &str = "HTTP/1.1 503 Busy\r\nretry-after: 3600\r\ncontent-length: 5\r\n\r\nlater";
const WRONG: &str = "HTTP/1.1 400 Bad Request\r\ncontent-length: 12\r\n\r\nout of order";

fn started(url: &str, pace: Pace) -> Push {
    let destination = Destination::parse(Protocol::RemoteWrite, url, Some("t0ken"));
    Push::start(destination.expect("a destination"), pace).expect("it starts")
}

/// A run of some windows; the time that it took.
fn run(push: &mut Push, windows: u64) -> Duration {
    let began = Instant::now();
    let plan = plan(&[], &["home"]);
    let mut tell = |news: News| push.audience.send(&Arc::new(news));
    measuring(&plan, &[]).into_iter().for_each(&mut tell);
    for number in 0..windows {
        tell(News::Window(window(number, vec![part(100, 100, 2 * MS)])));
        tell(progress(number + 1, 0));
    }
    began.elapsed()
}

#[test]
fn what_a_destination_takes_is_counted_and_nothing_is_said() {
    let (url, posted) = server(&[OK]);
    let mut push = started(&url.replacen("http://", "http://ada:secret@", 1), PACE);
    run(&mut push, 10);
    let first = posted.recv().expect("a request");
    for field in [
        "POST /write HTTP/1.1",
        "content-type: application/x-protobuf",
        "content-encoding: snappy",
        "x-prometheus-remote-write-version: 0.1.0",
        "authorization: Basic YWRhOnNlY3JldA==",
    ] {
        assert!(first.head.contains(field), "{field} is not in {}", first.head);
    }
    snap::raw::Decoder::new().decompress_vec(&first.body).expect("it is Snappy");
    let (delivered, said) = push.close().end();
    let delivered = delivered.expect("it ends");
    assert_eq!((delivered.dropped, said), (0, Vec::new()));
    assert!(delivered.sent > 0);
}

#[test]
fn what_fails_is_sent_again_and_a_long_pause_is_not_obeyed() {
    let (url, posted) = server(&[BUSY, "nonsense", BUSY, OK]);
    let mut push = started(&url, PACE);
    run(&mut push, 10);
    let bodies: Vec<Vec<u8>> = posted.iter().take(4).map(|one| one.body).collect();
    assert!(bodies.iter().all(|body| *body == bodies[0]), "the oldest comes first");
    let (delivered, said) = push.close().end();
    assert_eq!(delivered.expect("it ends").dropped, 0);
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(
        said[0].contains("takes no metrics now (status 503 Service Unavailable: later)"),
        "{said:?}"
    );
}

#[test]
fn what_is_refused_is_dropped_counted_and_said_once() {
    let (url, _posted) = server(&[WRONG]);
    let mut push = started(&url, PACE);
    run(&mut push, 10);
    let (delivered, said) = push.close().end();
    let delivered = delivered.expect("it ends");
    assert_eq!(delivered.sent, 0);
    assert!(delivered.dropped > 0);
    let refused: Vec<&String> = said.iter().filter(|text| text.contains("refuses")).collect();
    assert_eq!((refused.len(), said.len()), (1, 2), "{said:?}");
    assert!(refused[0].contains("400 Bad Request: out of order"));
    assert!(
        said[1].contains(&format!("{0} of {0} samples did not reach {url}", delivered.dropped))
    );
}

/// What was said first is not why it failed in the end.
#[test]
fn the_last_trouble_is_said_if_it_is_another() {
    let (url, _posted) = server(&[BUSY, WRONG, "HTTP/1.1 401 Who\r\ncontent-length: 0\r\n\r\n"]);
    let mut push = started(&url, PACE);
    run(&mut push, 10);
    let (_, said) = push.close().end();
    assert_eq!(said.len(), 4, "{said:?}");
    assert!(said[2].ends_with("status 401 Unauthorized"), "{said:?}");
}

/// Nobody listens; nothing is answered; nothing is read; the answer is garbage; 500 for the whole run.
#[test]
fn a_run_ends_in_time_whatever_its_destination_does() {
    let silent = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let silent = format!("http://{}/", silent.local_addr().expect("its address"));
    let (garbage, _posted) = server(&["\x01\x02\x03 garbage\r\n\r\n"]);
    let (endless, _posted_too) = server(&["HTTP/1.1 200 OK\r\nx: "]);
    let (failing, _posted_as_well) =
        server(&["HTTP/1.1 500 Internal Server Error\r\ncontent-length: 0\r\n\r\n"]);
    for url in ["http://127.0.0.1:1/", &silent, &garbage, &endless, &failing] {
        let mut push = started(url, Pace { last: Duration::from_millis(100), ..PACE });
        let took = run(&mut push, 500);
        assert!(took < Duration::from_secs(1), "{url}: the run does not wait: {took:?}");
        let began = Instant::now();
        let (delivered, said) = push.close().end();
        assert!(began.elapsed() < MARGIN, "{url}");
        let delivered = delivered.expect("it ends");
        assert!(delivered.sent == 0 && delivered.dropped > 0, "{url}: {delivered:?}");
        assert!(said.last().is_some_and(|text| text.contains("did not reach")), "{url}: {said:?}");
    }
}

#[test]
fn what_is_too_old_is_dropped_while_a_destination_is_down() {
    let mut push = started("http://127.0.0.1:1/", Pace { keep: Duration::ZERO, ..PACE });
    let said = {
        run(&mut push, 5);
        push.said.recv().expect("it is said that it fails")
    };
    assert!(
        said.contains("127.0.0.1:1/ takes no metrics now") && !said.contains("t0ken"),
        "{said}"
    );
    let (delivered, _) = push.close().end();
    assert_eq!(delivered.expect("it ends").sent, 0);
}

#[test]
fn a_run_that_never_began_sends_nothing() {
    let push = started("http://127.0.0.1:1/", PACE);
    assert_eq!(push.close().end(), (Some(Delivered::default()), Vec::new()));
}

#[test]
fn metrics_go_over_tls_to_whom_the_certificate_names_alone() {
    let provider = Arc::new(crypto::aws_lc_rs::default_provider());
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).expect("a certificate");
    let (certificate, key) = (made.cert.der().clone(), made.signing_key.serialize_der());
    let server = ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_no_client_auth()
        .with_single_cert(vec![certificate.clone()], PrivateKeyDer::Pkcs8(key.into()));
    let server = Arc::new(server.expect("a key that fits"));
    let listener = TcpListener::bind("localhost:0").expect("a free port");
    let port = listener.local_addr().expect("its address").port();
    let (tell, posted) = channel();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let connection = ServerConnection::new(Arc::clone(&server)).expect("a connection");
            let mut stream = StreamOwned::new(connection, stream);
            while let Some(one) = read(&mut stream) {
                let is_open = stream.write_all(OK.as_bytes()).is_ok();
                if tell.send(one).is_err() || !is_open {
                    break;
                }
            }
        }
    });
    let url = format!("https://localhost:{port}/write");
    let mut stranger = started(&url, Pace { last: Duration::from_millis(100), ..PACE });
    run(&mut stranger, 3);
    let (delivered, said) = stranger.close().end();
    assert_eq!(delivered.expect("it ends").sent, 0);
    assert!(said.iter().any(|text| text.contains("certificate")), "{said:?}");
    let mut roots = RootCertStore::empty();
    roots.add(certificate).expect("an authority");
    let trusting = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_root_certificates(roots)
        .with_no_client_auth();
    let mut destination =
        Destination::parse(Protocol::Otlp, &url, Some("t0ken")).expect("a destination");
    destination.tls.as_mut().expect("it is https").0 = Arc::new(trusting);
    let mut push = Push::start(destination, PACE).expect("it starts");
    run(&mut push, 3);
    let first = posted.recv().expect("a request");
    assert!(first.head.starts_with("POST /write/v1/metrics HTTP/1.1"), "{}", first.head);
    assert!(first.head.contains("authorization: Bearer t0ken"), "{}", first.head);
    let (delivered, said) = push.close().end();
    assert_eq!((delivered.expect("it ends").dropped, said), (0, Vec::new()));
}
