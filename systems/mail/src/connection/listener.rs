//! Accepts connections up to a limit, rejects those beyond, and drains when stopped.

use std::io::Write;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use serving::stop::Stop;
use socket2::SockRef;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

use super::smtp::Smtp;
use super::task::run_connection;
use crate::store::Store;

/// Pause after a failed accept: mostly no file descriptors are left, and only time brings them back.
const ACCEPT_PAUSE: Duration = Duration::from_millis(10);

/// Serves one listener until stopped; then messages in progress may end within
/// [`Settings::drain_ns`](crate::session::Settings::drain_ns), and all other clients get 421.
///
/// Errors: the listener cannot be given to the runtime; after a failed accept it waits
pub async fn serve<S: Store>(
    listener: std::net::TcpListener,
    shared: Arc<Smtp<S>>,
    stop: Stop,
) -> std::io::Result<()> {
    let listener = prepare(listener)?;
    // Spawned, so that connections run on the runtime's thread that accepted them. Dropping the set aborts the task.
    let mut accepting = JoinSet::new();
    accepting.spawn(accept(listener, shared, stop));
    accepting.join_next().await.transpose().map(drop).map_err(std::io::Error::other)
}

async fn accept<S: Store>(listener: TcpListener, shared: Arc<Smtp<S>>, stop: Stop) {
    let mut own = stop.clone();
    let mut stopped = pin!(async move { own.pulled().await });
    let mut connections = JoinSet::new();
    let pause = Duration::from_nanos(shared.settings.faults.accept_pause_ns);
    let mut stall = Duration::from_nanos(shared.settings.faults.accept_stall_ns);
    loop {
        tokio::select! {
            () = stopped.as_mut() => break,
            Some(_) = connections.join_next() => {}
            accepted = listener.accept() => match accepted {
                Ok((stream, peer)) => {
                    if let Some(permit) = ConnectionPermit::take(&shared) {
                        connections.spawn(serve_connection(stream, peer, permit, stop.clone()));
                    } else {
                        turn_away(stream, &shared);
                    }
                    let wait = pause + std::mem::take(&mut stall);
                    if !wait.is_zero() {
                        tokio::select! {
                            () = stopped.as_mut() => break,
                            () = tokio::time::sleep(wait) => {}
                        }
                    }
                }
                Err(_) => tokio::time::sleep(ACCEPT_PAUSE).await,
            },
        }
    }
    drop(listener);
    let drained = async { while connections.join_next().await.is_some() {} };
    // Dropping the set ends the connections that remain after the time limit.
    let _ = tokio::time::timeout(Duration::from_nanos(shared.settings.drain_ns), drained).await;
}

/// Accepted connections inherit the option. Without it, a reply may wait for the client's delayed acknowledgement.
pub(super) fn prepare(listener: std::net::TcpListener) -> std::io::Result<TcpListener> {
    listener.set_nonblocking(true)?;
    SockRef::from(&listener).set_tcp_nodelay(true)?;
    TcpListener::from_std(listener)
}

/// One of a limited number of open connections, returned when dropped.
pub(super) struct ConnectionPermit<S> {
    shared: Arc<Smtp<S>>,
}

impl<S> ConnectionPermit<S> {
    pub(super) fn take(shared: &Arc<Smtp<S>>) -> Option<Self> {
        let is_taken = shared.counts.acquire_connection(shared.settings.max_connections);
        is_taken.then(|| Self { shared: Arc::clone(shared) })
    }
}

impl<S> Drop for ConnectionPermit<S> {
    fn drop(&mut self) {
        self.shared.counts.release_connection();
    }
}

async fn serve_connection<S: Store>(
    stream: TcpStream,
    peer: SocketAddr,
    permit: ConnectionPermit<S>,
    stop: Stop,
) {
    run_connection(stream, peer, Arc::clone(&permit.shared), stop).await;
}

/// Sends 421 and closes, without a task: a new socket takes a line at once.
fn turn_away<S>(stream: TcpStream, shared: &Smtp<S>) {
    shared.counts.turned_away.one();
    if let Ok(mut stream) = stream.into_std()
        && !shared.is_implicit_tls
    {
        let _ = stream.write_all(shared.busy().as_bytes());
    }
}
