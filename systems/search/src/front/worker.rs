//! One thread of a front and its clients.

use std::net::{SocketAddr, TcpStream as StdStream};
use std::pin::pin;
use std::sync::Arc;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use proxying::{Client, Socket};
use serving::limits::Limits;
use serving::stop::Stop;
use socket2::SockRef;
use tokio::net::TcpStream;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::task::JoinSet;

use super::handler::Handler;
use super::tally::OpenConnection;

/// A connection for a worker to serve.
#[derive(Debug)]
pub(super) struct Accepted {
    pub stream: StdStream,
    pub address: SocketAddr,
    pub permit: OpenConnection,
}

/// One thread of a front.
pub(super) struct Worker {
    handler: Arc<Handler>,
    limits: Limits,
    accepted: UnboundedReceiver<Accepted>,
    stop: Stop,
}

impl Worker {
    pub fn new(
        handler: Handler,
        limits: Limits,
        accepted: UnboundedReceiver<Accepted>,
        stop: Stop,
    ) -> Self {
        Self { handler: Arc::new(handler), limits, accepted, stop }
    }

    /// Serves until stopped, then finishes what is in flight within the time for it.
    pub async fn serve(mut self) {
        let mut talks = JoinSet::new();
        loop {
            tokio::select! {
                accepted = self.accepted.recv() => match accepted {
                    Some(accepted) => {
                        let handler = Arc::clone(&self.handler);
                        talks.spawn(converse(accepted, handler, self.limits, self.stop.clone()));
                    }
                    None => break,
                },
                Some(_) = talks.join_next() => {}
            }
        }
        let all = async { while talks.join_next().await.is_some() {} };
        // What is still under way after the bound is cut off as the set is dropped.
        let _ = tokio::time::timeout(self.limits.drain(), all).await;
    }
}

/// One client, as long as it stays.
async fn converse(accepted: Accepted, handler: Arc<Handler>, limits: Limits, mut stop: Stop) {
    let Accepted { stream, address, permit: _permit } = accepted;
    let Ok(stream) = TcpStream::from_std(stream) else { return };
    // Without it a small answer may wait for the peer's delayed acknowledgement; no reason to fail.
    let _ = stream.set_nodelay(true);
    // An answer that nobody reads would keep its connection and its bytes for ever.
    let _ = SockRef::from(&stream).set_tcp_user_timeout(Some(limits.read_time()));
    let (socket, handle) = Socket::new(stream);
    let client = Client::new(address.ip(), false).with_interims(&handle);
    let connection = http1::Builder::new()
        .half_close(true)
        .timer(TokioTimer::new())
        .header_read_timeout(limits.idle())
        .max_buf_size(limits.max_head_bytes as usize)
        .serve_connection(
            TokioIo::new(socket),
            service_fn(|request| handler.answer(&client, request)),
        );
    let mut connection = pin!(connection);
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = stop.pulled() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    // A user of hyper's is the answer's body, which broke off.
    if ended.is_err_and(|error| error.is_user()) {
        handle.break_off();
    }
}
