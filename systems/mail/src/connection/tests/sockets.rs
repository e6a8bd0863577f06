//! Over real sockets: the connection limit, draining, and many connections at once.

use tokio::net::TcpStream;

use super::*;

struct Server {
    address: SocketAddr,
    shared: Arc<Smtp<GatedStore>>,
    stopper: serving::stop::Stopper,
    task: JoinHandle<std::io::Result<()>>,
}

fn serve_on_loopback(settings: Settings) -> Server {
    let shared = Arc::new(smtp(settings));
    let listener = serving::listener::bind(SocketAddr::from(([127, 0, 0, 1], 0))).unwrap();
    let address = listener.local_addr().unwrap();
    let (stopper, stop) = Stop::pair();
    let task = tokio::spawn(serve(listener, Arc::clone(&shared), stop));
    Server { address, shared, stopper, task }
}

impl Server {
    async fn connect(&self) -> Client<TcpStream> {
        Client::new(TcpStream::connect(self.address).await.unwrap())
    }
}

#[tokio::test]
async fn max_connections_is_enforced_with_421() {
    let server = serve_on_loopback(Settings { max_connections: 2, ..Settings::default() });
    let (mut one, mut two) = (server.connect().await, server.connect().await);
    assert!(one.reply().await.starts_with("220") && two.reply().await.starts_with("220"));
    for _ in 0..3 {
        let mut refused = server.connect().await;
        assert_eq!(refused.rest().await, "421 4.3.2 mail.example Too busy, closing connection\r\n");
    }
    one.holds(&[("QUIT", "221")]).await;
    assert_eq!(one.rest().await, "");
    // The connection's task returns its permit at an unknown time, so the test tries again with real connections.
    let mut next = server.connect().await;
    while next.reply().await.starts_with("421") {
        next = server.connect().await;
    }
    next.holds(&BEGIN).await;
    assert_eq!(server.shared.counts.open.get(), 2);
    assert!(server.shared.counts.turned_away.get() >= 3);
}

/// One thread, and nothing in it blocks: silent sessions do not delay the others.
#[tokio::test]
async fn idle_sessions_starve_nobody() {
    let server = serve_on_loopback(Settings::default());
    let mut idle = Vec::new();
    for number in 0..300 {
        let mut client = server.connect().await;
        assert!(client.reply().await.starts_with("220"));
        if number % 3 == 0 {
            client.holds(&BEGIN[..number % 4]).await;
        }
        idle.push(client);
    }
    let mut busy = server.connect().await;
    assert!(busy.reply().await.starts_with("220"));
    for _ in 0..20 {
        busy.holds(&BEGIN).await;
        busy.holds(&[("x\r\n.", "250")]).await;
    }
    assert_eq!(server.shared.store.contents().len(), 20);
    assert_eq!(server.shared.counts.open.get(), 301);
    let per_connection = server.shared.counts.buffered.get() / 301;
    assert!(per_connection <= 16 << 10, "{per_connection} bytes a connection");
}

#[tokio::test]
async fn a_reply_reaches_a_client_that_is_still_sending() {
    let server = serve_on_loopback(Settings::default());
    let mut client = server.connect().await;
    client.reply().await;
    client.holds(&BEGIN).await;
    client.stream.write_all(b"bare\n").await.unwrap();
    // Half a megabyte that the server never parses.
    client.stream.write_all(&[b'x'; 1 << 19]).await.unwrap();
    let said = client.rest().await;
    assert_eq!(said, "554 5.6.0 Lines end with CRLF, closing connection\r\n");
}

#[tokio::test]
async fn a_stop_drains_and_returns() {
    let server = serve_on_loopback(Settings::default());
    let (mut idle, mut busy) = (server.connect().await, server.connect().await);
    assert!(idle.reply().await.starts_with("220") && busy.reply().await.starts_with("220"));
    busy.holds(&BEGIN).await;
    server.stopper.stop();
    assert!(idle.rest().await.starts_with("421 4.3.2"));
    busy.holds(&[("x\r\n.", "250")]).await;
    drop((idle, busy));
    server.task.await.unwrap().unwrap();
    assert_eq!((server.shared.store.contents().len(), server.shared.counts.open.get()), (1, 0));
    assert!(TcpStream::connect(server.address).await.is_err());
}

#[tokio::test]
async fn replies_wait_for_no_acknowledgement() {
    let listener = serving::listener::bind(SocketAddr::from(([127, 0, 0, 1], 0))).unwrap();
    let listener = listener::prepare(listener).unwrap();
    let address = listener.local_addr().unwrap();
    let (client, accepted) = tokio::join!(TcpStream::connect(address), listener.accept());
    assert!(accepted.unwrap().0.nodelay().unwrap(), "an accepted socket inherits the option");
    drop(client);
}
