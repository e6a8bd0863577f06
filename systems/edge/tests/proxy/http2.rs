//! The rules of the proxy over HTTP/2: what is refused, what goes on, what an answer is, and who is counted.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::thread;

use h2::Reason;

use crate::fixture::{TestProxy, Upstream, answer, connect, message};
use crate::frames::{Frames, GET, HEADERS, PROTOCOL_ERROR, RESET, SETTINGS};
use crate::peers::Certificate;
use crate::poison::{UNKEYED, mirror};
use crate::session::Session;

/// What is refused, and how.
const REFUSED: [(&str, u16); 15] = [
    ("GET /|authority: h@h", 400),
    ("GET /|authority: user:word@h", 400),
    ("GET /|authority: h:0", 400),
    ("DELETE /|authority: user@h", 400),
    ("GET /|host: i", 400),
    ("GET /|host: h|host: h", 400),
    ("GET /|host: h|host: i", 400),
    ("GET /|authority: i|host: h", 400),
    ("GET /|scheme: https", 400),
    ("GET /|scheme: ftp", 400),
    ("GET /|x-a:  b", 400),
    ("POST /|content-length: 2|content-length: 2|=ab", 400),
    ("POST /|expect: 200-ok|=ab", 417),
    ("CONNECT h:1", 501),
    ("GET /|cache-control: only-if-cached|authority: i", 504),
];

#[test]
fn what_is_refused_over_http_1_1_is_refused_here() {
    let upstream = Upstream::always("200|cache-control: max-age=60|=one");
    let proxy = TestProxy::before(upstream.address);
    let mut session = Session::open(proxy.address);
    assert_eq!(session.ask("GET /").line(), "200 miss one");
    for (short, status) in REFUSED {
        let seen = session.ask(short);
        assert_eq!((seen.status, seen.header("x-cache")), (status, Some("none")), "{short}");
    }
    let padding = format!("|x-a: {}", "x".repeat(1000)).repeat(20);
    assert_eq!(session.ask(&format!("GET /{padding}")).status, 431);
    assert_eq!(session.ask("GET /").line(), "200 hit one");
    assert_eq!(upstream.times(), 1);
}

/// What no head has over HTTP/2 (RFC 9113 8.2 and 8.3) is an error of its stream, and of no other.
#[test]
fn heads_that_are_none_end_their_streams() {
    let upstream = Upstream::always("200|cache-control: max-age=60|=one");
    let proxy = TestProxy::before(upstream.address);
    let mut frames = Frames::open(proxy.address, &[]);
    let own: [&[(&str, &str)]; 11] = [
        &[("connection", "close")],
        &[("connection", "x-a"), ("x-a", "1")],
        &[("keep-alive", "timeout=5")],
        &[("proxy-connection", "close")],
        &[("transfer-encoding", "chunked")],
        &[("upgrade", "websocket")],
        &[("te", "gzip")],
        &[(":path", "/other")],
        &[("x-a", "1"), (":authority", "i")],
        &[(":status", "200")],
        &[("content-length", "5")],
    ];
    let mut heads: Vec<Vec<(&str, &str)>> =
        own.iter().map(|own| [&GET[..], own].concat()).collect();
    // Without a method, without a scheme, without a path; and with one that is empty.
    heads.extend([0, 1, 3].map(|missing| {
        let rest = GET.iter().enumerate().filter(|(place, _)| *place != missing);
        rest.map(|(_, field)| *field).collect()
    }));
    heads.push([&GET[..3], &[(":path", "")]].concat());
    for (place, head) in heads.iter().enumerate() {
        let stream = 2 * u32::try_from(place).unwrap() + 1;
        frames.ask(stream, head);
        let reset = frames.until(RESET);
        assert_eq!((reset.stream, reset.number()), (stream, PROTOCOL_ERROR), "{head:?}");
    }
    frames.ask(101, &GET);
    assert_eq!(frames.until(HEADERS).stream, 101);
    assert_eq!((upstream.times(), proxy.figure("proxy_answers_total{cache=\"miss\"}")), (1, 1));
}

/// Names in capitals, and bytes that no value has, are an error of what packs heads, and with it of the connection.
#[test]
fn names_in_capitals_and_line_ends_in_values_reach_nobody() {
    let upstream = Upstream::always("200|=one");
    let proxy = TestProxy::before(upstream.address);
    for field in [("X-A", "1"), ("x-a", "1\r\nx-b: 2"), ("x-a", "1\0"), ("x a", "1"), ("", "1")] {
        let mut frames = Frames::open(proxy.address, &[]);
        frames.ask(1, &[&GET[..], &[field]].concat());
        frames.until(SETTINGS);
        let is_answered = std::iter::from_fn(|| frames.hear())
            .take_while(|frame| frame.kind != RESET)
            .any(|frame| frame.kind == HEADERS);
        assert!(!is_answered, "{field:?}");
    }
    assert_eq!(upstream.times(), 0);
}

/// Targets that no client of ours would write.
#[test]
fn a_target_is_a_path_or_of_options_an_asterisk() {
    let upstream = mirror();
    let proxy = TestProxy::before(upstream.address);
    let mut frames = Frames::open(proxy.address, &[]);
    let mut stream = 1;
    let mut asked = |method: &str, path: &str, host: &[(&str, &str)]| {
        let head = [&[(":method", method), (":scheme", "http")], host, &[(":path", path)]];
        // What is no pseudo field comes after them.
        let mut head = head.concat();
        head.sort_by_key(|(name, _)| !name.starts_with(':'));
        let before = upstream.times();
        frames.ask(stream, &head);
        stream += 2;
        while ![HEADERS, RESET].contains(&frames.hear().unwrap().kind) {}
        let head = upstream.asked().get(before).cloned();
        head.map(|head| head.lines().take(2).collect::<Vec<_>>().join(" "))
    };
    for (method, path, host) in [
        ("GET", "*", &[(":authority", "h")][..]),
        ("GET", "a", &[(":authority", "h")]),
        ("GET", "?a", &[(":authority", "h")]),
        ("GET", "http://h/", &[(":authority", "h")]),
        ("GET", "/", &[]),
        ("GET", "/", &[("host", "h@h")]),
        ("GET", "/", &[("host", "h"), ("host", "h")]),
    ] {
        assert_eq!(asked(method, path, host), None, "{method} {path} {host:?}");
    }
    let star = asked("OPTIONS", "*", &[(":authority", "h")]);
    assert_eq!(star.as_deref(), Some("OPTIONS * HTTP/1.1 host: h"));
    let plain = asked("GET", "/a?b", &[("host", "H")]);
    assert_eq!(plain.as_deref(), Some("GET /a?b HTTP/1.1 host: h"));
}

#[test]
fn what_goes_on_is_what_http_1_1_says() {
    let proxy = TestProxy::before(mirror().address);
    let mut session = Session::open(proxy.address);
    let short = "GET /a?b|authority: SHOP.Example:80|host: shop.example:80|cookie: a=1|cookie: b=2; c=3|te: trailers";
    let seen = session.ask(short);
    assert!(seen.body.starts_with("GET /a?b HTTP/1.1\n"), "{}", seen.body);
    for line in [
        "\nhost: shop.example:80\n",
        "\ncookie: a=1; b=2; c=3\n",
        "\nx-forwarded-host: shop.example:80\n",
        "\nx-forwarded-proto: http\n",
        "\nvia: 2.0 edge-proxy-",
    ] {
        assert!(seen.body.contains(line), "{line:?} is not in {}", seen.body);
    }
    for name in ["\nte:", "\nconnection:", "\ntransfer-encoding:", "\n:"] {
        assert!(!seen.body.contains(name), "{name:?} is in {}", seen.body);
    }
    // Whoever asks for the same over the other protocol gets what is kept.
    let other = proxy.ask("GET /a?b|host: Shop.example:80");
    assert_eq!((other.header("x-cache"), &other.body), (Some("hit"), &seen.body));
    // A request that came through it before is no other one.
    let via = seen.body.lines().find_map(|line| line.strip_prefix("via: ")).unwrap();
    assert_eq!(session.ask(&format!("GET /b|via: {via}")).status, 508);
}

#[test]
fn headers_that_are_in_no_key_do_not_reach_the_upstream() {
    let proxy = TestProxy::before(mirror().address);
    let mut session = Session::open(proxy.address);
    let twins = ["X_Forwarded_For", "X-Original_URL", "Transfer_Encoding", "Content_Length"];
    for (number, name) in UNKEYED.iter().chain(&twins).enumerate() {
        let first = session.ask(&format!("GET /{number}|{name}: evil.example"));
        assert!(!first.body.contains("evil"), "{name}: {}", first.body);
        let second = session.ask(&format!("GET /{number}"));
        assert_eq!((second.header("x-cache"), &second.body), (Some("hit"), &first.body), "{name}");
    }
}

#[test]
fn a_head_alone_has_no_body_and_says_its_length() {
    let upstream = Upstream::always("200|cache-control: max-age=60|etag: \"a\"|=one");
    let proxy = TestProxy::before(upstream.address);
    let mut session = Session::open(proxy.address);
    assert_eq!(session.ask("HEAD /").line(), "200 pass");
    assert_eq!(session.ask("GET /").line(), "200 miss one");
    let kept = session.ask("HEAD /");
    assert_eq!((kept.line().as_str(), kept.header("content-length")), ("200 hit", Some("3")));
    assert_eq!(session.ask("GET /|if-none-match: \"a\"").line(), "304 hit");
    assert_eq!(session.ask("HEAD /b|cache-control: only-if-cached").line(), "504 none");
    assert_eq!(session.ask("GET /|range: bytes=0-0").line(), "200 pass one");
}

#[test]
fn bodies_go_on_in_either_direction() {
    let upstream = Upstream::new(|_, body| {
        answer(&format!("200|cache-control: max-age=60|={} {body}", body.len()))
    });
    let proxy = TestProxy::before(upstream.address);
    let mut session = Session::open(proxy.address);
    let large = "x".repeat(1_000_000);
    let seen = session.ask(&format!("POST /|content-length: 1000000|={large}"));
    assert_eq!(seen.body, format!("1000000 {large}"));
    // As over HTTP/1.1: what a body says is in no key.
    assert_eq!(session.ask("GET /|content-length: 4|=evil").line(), "200 pass 4 evil");
    assert_eq!(session.ask("GET /").line(), "200 miss 0");
    let chunks = "200|cache-control: max-age=60|transfer-encoding: chunked|==5\r\nhello\r\n0\r\nx-trailer: 1\r\n\r\n";
    let proxy = TestProxy::before(Upstream::always(chunks).address);
    let mut session = Session::open(proxy.address);
    assert_eq!(session.ask("GET /").line(), "200 miss hello");
    assert_eq!(session.ask("GET /").line(), "200 hit hello");
}

/// HTTP/2 knows where a body ends without being told before; HTTP/1.1 does not.
#[test]
fn a_body_of_unknown_length_goes_on_in_chunks() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let proxy = TestProxy::before(listener.local_addr().unwrap());
    let mut session = Session::open(proxy.address);
    for method in ["POST", "GET"] {
        let begun = session.begin(&format!("{method} /|=hello")).unwrap();
        let (stream, _) = listener.accept().unwrap();
        let mut reader = BufReader::new(&stream);
        let (head, _) = message(&mut reader).unwrap();
        assert!(head.contains("\r\ntransfer-encoding: chunked\r\n"), "{head}");
        let mut lines = Vec::new();
        while lines.last().is_none_or(|line| line != "0\r\n") {
            lines.push(String::new());
            reader.read_line(lines.last_mut().unwrap()).unwrap();
        }
        assert_eq!(lines, ["5\r\n", "hello\r\n", "0\r\n"]);
        (&stream).write_all(answer("200|connection: close|=ok").as_bytes()).unwrap();
        assert_eq!(session.finish(begun).unwrap().body, "ok");
    }
}

#[test]
fn an_answer_that_breaks_off_resets_its_stream_alone() {
    let upstream = Upstream::new(|head, _| {
        let is_cut = head.starts_with("GET /cut");
        answer(if is_cut { "200|content-length: 10|connection: close|==hello" } else { "200|=ok" })
    });
    let proxy = TestProxy::before(upstream.address);
    let mut session = Session::open(proxy.address);
    let error = session.try_ask("GET /cut").unwrap_err();
    assert_eq!(error.reason(), Some(Reason::INTERNAL_ERROR));
    assert_eq!(session.ask("GET /").line(), "200 miss ok");
    proxy.until("proxy_under_way", 0);
}

#[test]
fn streams_are_requests_under_way() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let proxy = TestProxy::with(listener.local_addr().unwrap(), &[("in_flight", "1")]);
    let mut session = Session::open(proxy.address);
    let first = session.begin("GET /").unwrap();
    let (mut stream, _) = listener.accept().unwrap();
    message(&mut BufReader::new(stream.try_clone().unwrap())).unwrap();
    let refused = session.ask("GET /");
    assert_eq!((refused.status, refused.header("retry-after")), (503, Some("1")));
    stream.write_all(answer("200|cache-control: max-age=60|=one").as_bytes()).unwrap();
    assert_eq!(session.finish(first).unwrap().line(), "200 miss one");
    proxy.until("proxy_under_way", 0);
    assert_eq!(session.ask("GET /").line(), "200 hit one");
    // Whoever takes it back is no longer among them.
    let second = session.begin("GET /other").unwrap();
    message(&mut BufReader::new(stream.try_clone().unwrap())).unwrap();
    assert_eq!(proxy.figure("proxy_under_way"), 1);
    drop(second);
    proxy.until("proxy_under_way", 0);
}

#[test]
fn what_is_under_way_is_answered_before_it_stops_and_nothing_else() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    for threads in ["1", "3"] {
        let mut proxy = TestProxy::with(listener.local_addr().unwrap(), &[("threads", threads)]);
        let mut idle = connect(proxy.address);
        let mut session = Session::open(proxy.address);
        let first = session.begin("GET /").unwrap();
        let (mut stream, _) = listener.accept().unwrap();
        message(&mut BufReader::new(stream.try_clone().unwrap())).unwrap();
        proxy.stop();
        // That nobody else is served any more shows that the stop has arrived.
        assert_eq!(idle.read(&mut [0]).unwrap(), 0);
        stream.write_all(answer("200|connection: close|=ok").as_bytes()).unwrap();
        assert_eq!(session.finish(first).unwrap().body, "ok");
        assert!(session.try_ask("GET /").is_err());
        proxy.stopped();
    }
}

/// Streams that are still under way when the time for it is over are cut off; the log is written to its end.
#[test]
fn streams_without_end_do_not_keep_it_from_stopping() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let path = std::env::temp_dir().join(format!("edge-cut-{}", std::process::id()));
    let settings = [("drain", "100ms"), ("access_log", path.to_str().unwrap())];
    let proxy = TestProxy::with(listener.local_addr().unwrap(), &settings);
    let mut session = Session::open(proxy.address);
    let begun = session.begin("GET /never").unwrap();
    let (stream, _) = listener.accept().unwrap();
    message(&mut BufReader::new(stream.try_clone().unwrap())).unwrap();
    proxy.stopped();
    assert!(session.finish(begun).is_err());
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    assert!(text.contains("\"target\":\"http://h/never\"") && text.contains("\"whole\":false"));
}

#[test]
fn a_connection_says_what_it_bears() {
    let upstream = Upstream::always("200|=one");
    let proxy = TestProxy::with(upstream.address, &[("streams", "7"), ("max_head", "20KiB")]);
    let settings = Frames::open(proxy.address, &[]).until(SETTINGS).payload;
    let said: Vec<(u16, u32)> = settings
        .chunks(6)
        .map(|one| {
            let (name, value) = one.split_at(2);
            let name = u16::from_be_bytes(name.try_into().unwrap());
            (name, u32::from_be_bytes(value.try_into().unwrap()))
        })
        .collect();
    // Streams at a time, bytes of a body that may come ahead, bytes of a head.
    for bound in [(3, 7), (4, 65_536), (6, 20_480)] {
        assert!(said.contains(&bound), "{bound:?} is not in {said:?}");
    }
}

/// Over TLS what an address begins with is another word.
#[test]
fn over_tls_an_address_begins_with_https() {
    let certificate = Certificate::new("proxy-scheme");
    let proxy = TestProxy::with(mirror().address, &certificate.settings());
    let url = format!("https://{}/", proxy.address);
    let own = ["--cacert", &certificate.cert, "--http1.1", "-o", "/dev/null", "-w"];
    for (target, status) in [("https://h/", "200"), ("http://h/", "400"), ("/", "200")] {
        let asked = ["%{http_code}", "--request-target", target, &url];
        let told = crate::peers::curl(&[&own[..], &asked].concat());
        assert_eq!(String::from_utf8(told).unwrap(), status, "{target}");
    }
}

/// A client that sends a part of a request's body, and no more; the upstream waits for the rest.
#[test]
fn bodies_that_do_not_end_are_given_up() {
    let upstream = TcpListener::bind("127.0.0.1:0").unwrap();
    let proxy = TestProxy::with(upstream.local_addr().unwrap(), &[("first_byte", "300ms")]);
    let address = proxy.address;
    let clients = ["POST /…", "POST /|=begun…", "POST /|content-length: 9|=begun…", "GET /…"]
        .map(|short| thread::spawn(move || Session::open(address).ask(short).status));
    for client in clients {
        assert_eq!(client.join().unwrap(), 408);
    }
    proxy.until("proxy_under_way", 0);
}
