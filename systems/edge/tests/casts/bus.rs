//! Casts over NATS, with a server of the test's own.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use super::*;

/// No other test is at this address, so that a port stays free until the server comes back.
const HOST: &str = "127.7.0.4";

/// A real nats-server, ended and reaped with its owner. It stores nothing.
struct Server {
    child: Child,
    port: u16,
}

impl Server {
    fn start(port: Option<u16>) -> Self {
        let port = port.map_or("-1".to_owned(), |port| port.to_string());
        let path = std::env::var("PATH").unwrap_or_default();
        let mut child = Command::new("nats-server")
            .env("PATH", format!("{path}:/usr/local/sbin:/usr/sbin:/sbin"))
            .args(["-a", HOST, "-p", &port])
            .stdin(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("nats-server is installed");
        let log = BufReader::new(child.stderr.take().unwrap());
        let (ready, is_ready) = mpsc::channel();
        // Read to its end, which is the server's: a log that nobody reads would stop it.
        thread::spawn(move || {
            let mut port = None;
            for line in log.lines().map_while(Result::ok) {
                if let Some(at) = line.split(&format!("client connections on {HOST}:")).nth(1) {
                    port = at.trim().parse().ok();
                }
                if line.contains("Server is ready") {
                    let _ = ready.send(port.expect("it says where it listens"));
                }
            }
        });
        let port = is_ready.recv_timeout(PATIENCE).expect("nats-server is ready in time");
        Self { child, port }
    }

    fn url(&self) -> String {
        format!("nats://{HOST}:{}", self.port)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn listening(server: &Server) -> Monitor {
    Monitor::with(Options::default().with("nats", server.url()).with("subject", "a.casts"))
}

fn over(server: &Server) -> Settings {
    Settings { subject: "a.casts".into(), ..towards(&[&server.url()]) }
}

/// What a monitor saw once the server has handed it so many messages.
async fn seen_after(monitor: &Monitor, cast: u64) -> Observation {
    until(|| monitor.seen().count("cast") >= cast).await;
    monitor.seen()
}

#[tokio::test]
async fn what_the_client_takes_is_received_and_the_rest_is_dropped() {
    let server = Server::start(None);
    let monitor = listening(&server);
    let caster = Caster::new(&Settings { room_messages: 100, ..over(&server) });
    within(caster.connected()).await;
    (0..150).for_each(|_| caster.cast(b"message"));
    let account = within(caster.finish(PATIENCE)).await.remove(0);
    assert_eq!((account.account.cast, account.taken, account.pending), (150, 100, 0));
    assert_eq!(dropped(&account, Why::Full), 50);
    let seen = seen_after(&monitor, 150).await;
    seen.adds_up(&account.account);
    assert_eq!(seen.counts(["senders", "bytes", "unexpected"]), [1, 700, 0]);
    assert_eq!(account.peer, server.url());
    monitor.stop();
}

#[tokio::test]
async fn what_nobody_heard_shows_as_lost() {
    let server = Server::start(None);
    let witness = listening(&server);
    let caster = Caster::new(&over(&server));
    (0..10).for_each(|_| caster.cast(b"unheard"));
    // A monitor that hears them says when they are over.
    seen_after(&witness, 10).await;
    let monitor = listening(&server);
    (0..5).for_each(|_| caster.cast(b"heard"));
    let account = within(caster.finish(PATIENCE)).await.remove(0);
    assert_eq!((account.taken, account.account.all_dropped()), (15, 0), "the client took all");
    let seen = seen_after(&monitor, 15).await;
    assert_eq!(seen.counts(["received", "cast", "lost", "dropped"]), [5, 15, 10, 0]);
    assert!(seen.count("unbalanced") > 0);
    seen_after(&witness, 15).await.adds_up(&account.account);
    witness.stop();
    monitor.stop();
}

#[tokio::test]
async fn a_server_that_comes_back_is_found_again_by_both() {
    let server = Server::start(None);
    let port = server.port;
    let monitor = listening(&server);
    let caster = Caster::new(&Settings { room_messages: 10, ..over(&server) });
    within(caster.connected()).await;
    drop(server);
    until(|| !caster.accounts()[0].is_connected).await;
    // The client and the room take some; the rest is dropped for want of a connection.
    let is_full = || {
        caster.cast(b"message");
        dropped(&caster.accounts()[0], Why::Disconnected) >= 10
    };
    until(is_full).await;
    let _server = Server::start(Some(port));
    within(caster.settled()).await;
    let account = rested(&caster);
    assert_eq!(account.connections, 2);
    // Whether the monitor is back before the first of them is passed on is not known; after it, nothing is lost.
    let is_heard = || {
        let before = monitor.seen().count("received");
        caster.cast(b"message");
        before > 0
    };
    until(is_heard).await;
    let seen = monitor.seen();
    assert_eq!(seen.counts(["duplicates", "out_of_order"]), [0, 0]);
    monitor.stop();
}
