//! Which headers go on, which stay, and which are added.

use crate::fixture::{Raw, TestProxy, bounds, header, serve};
use std::collections::BTreeSet;
use tokio::net::{TcpListener, TcpStream};

fn lines(head: &str) -> BTreeSet<&str> {
    head.trim_end().lines().collect()
}

#[tokio::test]
async fn a_request_is_the_next_hops() {
    let proxy = TestProxy::open().await;
    let _client = proxy
        .say(
            "GET /a%2Fb?c=d HTTP/1.1\r\nHost: shop.example\r\nAccept: */*\r\nX-Mine: 1\r\nX-Kept: 2\r\n\
             Connection: close, X-Mine, Host, keep-alive\r\nKeep-Alive: timeout=5\r\nTE: trailers\r\n\
             Proxy-Connection: keep-alive\r\nProxy-Authorization: Basic eA==\r\nUpgrade: h2c\r\nTrailer: X-T\r\n\
             X-Forwarded-For: 6.6.6.6\r\nX-Forwarded-Host: evil\r\nX-Forwarded-Proto: https\r\n\
             Forwarded: for=6.6.6.6\r\nVia: 1.1 cdn\r\n\r\n",
        )
        .await;
    let head = proxy.hear().await.head().await;
    let expected = BTreeSet::from([
        "GET /a%2Fb?c=d HTTP/1.1",
        "host: shop.example",
        "accept: */*",
        "x-kept: 2",
        "x-forwarded-for: 127.0.0.1",
        "x-forwarded-host: shop.example",
        "x-forwarded-proto: http",
        "forwarded: for=127.0.0.1;proto=http",
        "via: 1.1 cdn",
        "via: 1.1 middle",
    ]);
    assert_eq!(lines(&head), expected);
}

#[tokio::test]
async fn a_trusted_client_is_added_to() {
    let upstream = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (address, _) = serve(upstream.local_addr().unwrap(), bounds(), true).await;
    let mut client = Raw(TcpStream::connect(address).await.unwrap());
    client
        .say(
            "GET / HTTP/1.1\r\nHost: inner\r\nX-Forwarded-For: 1.2.3.4\r\nX-Forwarded-Proto: https\r\n\
             X-Forwarded-Host: shop.example\r\nForwarded: for=1.2.3.4\r\n\r\n",
        )
        .await;
    let head = Raw(upstream.accept().await.unwrap().0).head().await;
    let all = |name: &str| -> Vec<String> {
        let values = head.lines().filter_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
        values.map(str::to_owned).collect()
    };
    assert_eq!(all("x-forwarded-for"), ["1.2.3.4", "127.0.0.1"]);
    assert_eq!(all("forwarded"), ["for=1.2.3.4", "for=127.0.0.1;proto=http"]);
    assert_eq!(all("x-forwarded-proto"), ["https"]);
    assert_eq!(all("x-forwarded-host"), ["shop.example"]);
}

#[tokio::test]
async fn an_absolute_target_becomes_a_path_and_names_the_host() {
    let proxy = TestProxy::open().await;
    let _client = proxy.say("GET http://shop.example/a?b HTTP/1.1\r\nHost: other\r\n\r\n").await;
    let head = proxy.hear().await.head().await;
    assert!(head.starts_with("GET /a?b HTTP/1.1\r\n"), "{head}");
    assert_eq!(header(&head, "host"), Some("shop.example"));
    assert_eq!(header(&head, "x-forwarded-host"), Some("shop.example"));
}

#[tokio::test]
async fn every_kind_of_target_goes_on() {
    for (asked, sent) in [
        ("OPTIONS *", "OPTIONS *"),
        ("GET HTTP://Shop.Example", "GET /"),
        ("GET http://Shop.Example?a", "GET /?a"),
        ("GET //double/a?b=http://c", "GET //double/a?b=http://c"),
    ] {
        let proxy = TestProxy::open().await;
        let request =
            format!("{asked} HTTP/1.1\r\nHost: Shop.Example\r\nContent_Length: 1\r\n\r\n");
        let _client = proxy.say(&request).await;
        let head = proxy.hear().await.head().await;
        assert!(head.starts_with(&format!("{sent} HTTP/1.1\r\n")), "{head}");
        for name in ["host", "x-forwarded-host"] {
            assert_eq!(header(&head, name), Some("shop.example"));
        }
        assert_eq!(header(&head, "content_length"), None);
    }
}

#[tokio::test]
async fn a_client_of_http_1_0_is_told_as_one_and_needs_no_host() {
    let proxy = TestProxy::open().await;
    let _client = proxy.say("GET / HTTP/1.0\r\n\r\n").await;
    let head = proxy.hear().await.head().await;
    assert!(head.starts_with("GET / HTTP/1.1\r\n"), "{head}");
    assert_eq!(header(&head, "via"), Some("1.0 middle"));
    let upstream = proxy.upstream.local_addr().unwrap().to_string();
    assert_eq!(header(&head, "host"), Some(upstream.as_str()));
    assert_eq!(header(&head, "x-forwarded-host"), None);
}

#[tokio::test]
async fn an_answer_is_the_next_hops() {
    let proxy = TestProxy::open().await;
    let seen = proxy
        .seen(
            "GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n",
            "HTTP/1.1 200 Fine\r\nContent-Length: 2\r\nDate: today\r\nConnection: X-Mine\r\nX-Mine: 1\r\n\
             Keep-Alive: timeout=5\r\nProxy-Authenticate: Basic\r\nUpgrade: h2c\r\nSet-Cookie: a=b\r\n\
             Set-Cookie: c=d\r\n\r\nok",
        )
        .await;
    assert!(seen.is_clean);
    let text = seen.text();
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    let expected = BTreeSet::from([
        "HTTP/1.1 200 Fine",
        "content-length: 2",
        "date: today",
        "connection: close",
        "set-cookie: a=b",
        "set-cookie: c=d",
        "via: 1.1 middle",
    ]);
    assert_eq!((lines(head), body), (expected, "ok"));
}
