//! A proxy that listens, an upstream that says what the test says, and sockets to speak to both by hand.

use std::convert::Infallible;
use std::net::{Ipv4Addr, SocketAddr};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use proxying::{Answer, Bounds, Client, Counts, Proxy, Socket, Upstream};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// A test that waits longer than this waits for what does not come.
const PATIENCE: Duration = Duration::from_secs(20);

/// A proxy that listens, before an upstream that the test plays.
pub struct TestProxy {
    pub address: SocketAddr,
    pub counts: Arc<Counts>,
    pub upstream: TcpListener,
}

/// Short enough to be waited for, long enough not to pass by chance.
pub fn bounds() -> Bounds {
    Bounds { first_byte: PATIENCE, whole: PATIENCE, queue_wait: PATIENCE, ..Bounds::default() }
}

impl TestProxy {
    pub async fn open() -> Self {
        Self::with(bounds()).await
    }

    pub async fn with(bounds: Bounds) -> Self {
        let upstream = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let (address, counts) = serve(upstream.local_addr().unwrap(), bounds, false).await;
        Self { address, counts, upstream }
    }

    /// A client's connection on which this was said.
    pub async fn say(&self, bytes: impl AsRef<[u8]>) -> Raw {
        let mut client = Raw(TcpStream::connect(self.address).await.unwrap());
        client.say(bytes).await;
        client
    }

    /// The next connection that the proxy opens.
    pub async fn hear(&self) -> Raw {
        Raw(patiently(self.upstream.accept()).await.unwrap().0)
    }

    /// A request, an answer of the upstream's, and all that the client sees of it until the end of the connection.
    pub async fn seen(&self, request: &str, answer: &str) -> Ending {
        let mut client = self.say(request).await;
        let mut upstream = self.hear().await;
        upstream.head().await;
        upstream.say(answer).await;
        drop(upstream);
        client.end().await
    }
}

/// Serves a proxy on this runtime; where it listens, and what it counts.
pub async fn serve(
    upstream: SocketAddr,
    bounds: Bounds,
    trusts_clients: bool,
) -> (SocketAddr, Arc<Counts>) {
    let counts = Arc::new(Counts::default());
    let upstream = Upstream::new(&upstream.ip().to_string(), upstream.port(), "middle").unwrap();
    let proxy = Proxy::new(&upstream.trusting(trusts_clients), bounds, Arc::clone(&counts));
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((stream, client)) = listener.accept().await {
            tokio::spawn(converse(stream, client, proxy.clone()));
        }
    });
    (address, counts)
}

async fn converse(stream: TcpStream, client: SocketAddr, proxy: Proxy) {
    stream.set_nodelay(true).unwrap();
    let (socket, handle) = Socket::new(stream);
    let client = Client::new(client.ip(), false).with_interims(&handle);
    let service = service_fn(async |request| {
        let answer = proxy.forward(&client, request).await;
        Ok::<_, Infallible>(answer.unwrap_or_else(|failure| Answer::of_failure(&failure)))
    });
    let mut connection = pin!(
        http1::Builder::new()
            .half_close(true)
            .timer(TokioTimer::new())
            .serve_connection(TokioIo::new(socket), service),
    );
    if connection.as_mut().await.is_err_and(|error| error.is_user()) {
        handle.break_off();
    }
}

/// How a connection ended: all that came before, and whether the end was a clean one.
#[derive(Debug, PartialEq, Eq)]
pub struct Ending {
    pub bytes: Vec<u8>,
    pub is_clean: bool,
}

impl Ending {
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes).into_owned()
    }

    pub fn status(&self) -> u16 {
        status(&self.text())
    }
}

/// The status of an answer.
pub fn status(answer: &str) -> u16 {
    answer.split(' ').nth(1).unwrap_or_else(|| panic!("no answer: {answer:?}")).parse().unwrap()
}

/// The value of a header, by its name in lower case.
pub fn header<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
}

/// One end of a connection.
pub struct Raw(pub TcpStream);

impl Raw {
    pub async fn say(&mut self, bytes: impl AsRef<[u8]>) {
        patiently(self.0.write_all(bytes.as_ref())).await.unwrap();
    }

    /// Reads up to and with this.
    pub async fn until(&mut self, end: &str) -> String {
        let mut bytes = Vec::new();
        while !bytes.ends_with(end.as_bytes()) {
            let byte = patiently(self.0.read_u8()).await;
            let so_far = || String::from_utf8_lossy(&bytes).into_owned();
            bytes.push(byte.unwrap_or_else(|error| panic!("{error} after {:?}", so_far())));
        }
        String::from_utf8(bytes).unwrap()
    }

    /// Reads a head, its empty line included.
    pub async fn head(&mut self) -> String {
        self.until("\r\n\r\n").await
    }

    /// Closes the sending side.
    pub async fn shut(&mut self) {
        patiently(self.0.shutdown()).await.unwrap();
    }

    /// Leaves with a reset.
    pub fn reset(self) {
        self.0.set_zero_linger().unwrap();
    }

    /// Reads what is left.
    pub async fn end(&mut self) -> Ending {
        let mut bytes = Vec::new();
        let is_clean = patiently(self.0.read_to_end(&mut bytes)).await.is_ok();
        Ending { bytes, is_clean }
    }
}

pub async fn patiently<T>(work: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, work).await.expect("it should have happened by now")
}

/// Waits until something counted is so.
pub async fn until(holds: impl Fn() -> bool) {
    patiently(async {
        while !holds() {
            tokio::task::yield_now().await;
        }
    })
    .await;
}
