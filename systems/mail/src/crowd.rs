//! A crowd: sessions with a mail server that greet it and then stay silent, like most connections of a busy server.
//!
//! It starts before a load and answers as an observer: *received* counts the sessions that were open at the start,
//! *lost* those that the server has closed since.

use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use serde_json::json;
use serving::error::{BadOptions, ServeError};
use serving::http;
use serving::limits::{self, Limits};
use serving::listener;
use serving::metrics::Registry;
use serving::observed::Observed;
use serving::options::Options;
use serving::ready::Ready;
use serving::settings::Settings;
use serving::start::{self, Announce, Surface, System};
use serving::stop::Stop;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

/// Time limit for opening all sessions.
const STANDING_WITHIN: Duration = Duration::from_secs(30);
/// Bytes of the longest greeting or answer.
const LONGEST_ANSWER: u64 = 64 << 10;

/// The settings of `mail-crowd`.
#[derive(Debug, Clone)]
struct Configuration {
    smtp: SocketAddr,
    sessions: u64,
    limits: Limits,
}

/// A crowd; it is ready when all of its sessions are open.
pub const SYSTEM: System = System {
    name: "mail-crowd",
    about: "a crowd of SMTP sessions that say nothing",
    page: "systems/mail/README.md",
    surface: |_| Surface::default(),
    check: |options| read(options).map(drop),
    start,
};

fn start(options: &Options, stop: Option<Stop>, announce: Announce<'_>) -> Result<(), ServeError> {
    let prepare = || Ok((1, (read(options)?, listener::bind(options.listen)?)));
    start::run(stop, prepare, async |(configuration, listener), stop| {
        hold(configuration, listener, stop, announce).await
    })
}

fn read(options: &Options) -> Result<Configuration, BadOptions> {
    let settings = Settings::new(&options.settings);
    let text = settings.text("smtp", "");
    let smtp = text.to_socket_addrs().ok().and_then(|mut found| found.next());
    if smtp.is_none() {
        let what = format!("expected an address such as 127.0.0.1:2525, got \"{text}\"");
        settings.wrong("smtp", what);
    }
    let configuration = Configuration {
        smtp: smtp.unwrap_or(options.listen),
        sessions: settings.count("sessions", 1_000, 1..=100_000),
        limits: Limits::read(&settings),
    };
    settings.finish("the crowd")?;
    Ok(configuration)
}

async fn hold(
    configuration: Configuration,
    listener: std::net::TcpListener,
    stop: Stop,
    announce: impl FnOnce(&Ready),
) -> Result<(), ServeError> {
    let address = listener::address(&listener)?;
    let opened = tokio::time::timeout(STANDING_WITHIN, open(&configuration)).await;
    let late = |_| Err(std::io::Error::other("not every session was open within thirty seconds"));
    let sessions = opened.unwrap_or_else(late);
    let sessions = sessions.map_err(ServeError::while_doing("open the sessions"))?;
    let lost = Arc::new(AtomicU64::new(0));
    let mut watched = JoinSet::new();
    for session in sessions {
        watched.spawn(watch(session, Arc::clone(&lost)));
    }
    let asked = configuration.sessions;
    let effective = json!({ "smtp": configuration.smtp, "sessions": asked, "open_files": limits::open_files() });
    announce(&Ready::new(SYSTEM.name, effective).listening("http", address));
    let observed = move || {
        let lost = lost.load(Ordering::Relaxed);
        Observed { counts: "sessions", received: asked, lost, ..Observed::default() }
    };
    http::serve(listener, http::observer(observed), configuration.limits, Registry::default(), stop)
        .await
        .map_err(ServeError::while_doing("serve"))
}

/// Opens all sessions one after another, so that they cause no burst of their own.
async fn open(configuration: &Configuration) -> std::io::Result<Vec<TcpStream>> {
    let mut sessions = Vec::new();
    for _ in 0..configuration.sessions {
        sessions.push(greet(configuration.smtp).await?);
    }
    Ok(sessions)
}

/// A session after greeting and `EHLO`.
async fn greet(address: SocketAddr) -> std::io::Result<TcpStream> {
    let mut stream = TcpStream::connect(address).await?;
    let mut reader = BufReader::with_capacity(1 << 10, (&mut stream).take(LONGEST_ANSWER));
    expect(&mut reader, "220").await?;
    reader.get_mut().get_mut().write_all(b"EHLO crowd.client.example\r\n").await?;
    expect(&mut reader, "250").await?;
    Ok(stream)
}

/// Reads one reply, possibly of several lines.
async fn expect(reader: &mut (impl AsyncBufReadExt + Unpin), code: &str) -> std::io::Result<()> {
    let mut line = String::new();
    loop {
        line.clear();
        reader.read_line(&mut line).await?;
        if !line.starts_with(code) {
            return Err(std::io::Error::other(format!(
                "expected {code}, got \"{}\"",
                line.trim_end()
            )));
        }
        if line.as_bytes().get(3) != Some(&b'-') {
            return Ok(());
        }
    }
}

/// Counts the session as lost if the server ends it or sends anything unexpected.
async fn watch(mut session: TcpStream, lost: Arc<AtomicU64>) {
    let mut byte = [0];
    // The content does not matter: no input is expected on these sessions.
    let _ = session.read(&mut byte).await;
    lost.fetch_add(1, Ordering::Relaxed);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_problems_are_told_at_once() {
        let options = Options::default().with("sessions", 0).with("smtp", "nowhere").with("x", 1);
        assert_eq!(read(&options).unwrap_err().problems.len(), 3);
        let good = read(&Options::default().with("smtp", "127.0.0.1:25")).unwrap();
        assert_eq!((good.sessions, good.smtp.port()), (1_000, 25));
    }

    /// A server with this greeting and this answer to `EHLO`, which then keeps or closes the session.
    async fn server(greeting: &'static [u8], answer: &'static [u8], keeps: bool) -> SocketAddr {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(async move {
            let mut kept = Vec::new();
            loop {
                let (mut stream, _) = listener.accept().await.unwrap();
                stream.write_all(greeting).await.unwrap();
                let mut asked = [0; 27];
                if stream.read_exact(&mut asked).await.is_ok() {
                    assert_eq!(&asked, b"EHLO crowd.client.example\r\n");
                    stream.write_all(answer).await.unwrap();
                }
                if keeps {
                    kept.push(stream);
                }
            }
        });
        address
    }

    fn of(smtp: SocketAddr, sessions: u64) -> Configuration {
        Configuration { smtp, sessions, limits: Limits::default() }
    }

    #[tokio::test]
    async fn sessions_stand_until_the_server_ends_them() {
        let keeps = server(b"220 here\r\n", b"250-here\r\n250 SIZE\r\n", true).await;
        assert_eq!(open(&of(keeps, 5)).await.unwrap().len(), 5);
        let closes = server(b"220-a\r\n220 b\r\n", b"250 here\r\n", false).await;
        let lost = Arc::new(AtomicU64::new(0));
        for session in open(&of(closes, 3)).await.unwrap() {
            watch(session, Arc::clone(&lost)).await;
        }
        assert_eq!(lost.load(Ordering::Relaxed), 3);
    }

    #[tokio::test]
    async fn a_server_that_does_not_take_it_is_told() {
        let full = server(b"421 too many\r\n", b"", true).await;
        let error = open(&of(full, 1)).await.unwrap_err();
        assert_eq!(error.to_string(), "expected 220, got \"421 too many\"");
    }
}
