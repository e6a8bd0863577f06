//! What the engine can speak: one folder a protocol, and the one list of them.
//!
//! A protocol is added by its folder and one line in the list below.
//!
//! Not here: connecting, pacing, recording (see `engine`).

pub mod capture;
pub mod expect;
mod list;
mod outbox;
mod performing;
pub mod probe;
pub mod single_stream;
pub mod statuses;
pub mod table;

pub mod grpc;
pub mod http;
pub mod http1;
pub mod http2;
pub mod nats;
pub mod redis;
pub mod shm;
pub mod smtp;
pub mod websocket;

pub use performing::run_together;

#[cfg(test)]
#[path = "../tests/planned/mod.rs"]
mod planned;

list::drivers! {
    "http" => Http1(http1::driver::Http1, http1::probe::probe),
    "http2" => Http2(http2::driver::Http2, http2::probe::probe),
    "grpc" => Grpc(grpc::driver::Grpc, grpc::probe::probe),
    "smtp" => Smtp(smtp::driver::Smtp, smtp::probe::probe),
    "redis" => Redis(redis::driver::Redis, redis::probe::probe),
    "websocket" => WebSocket(websocket::driver::WebSocket, websocket::probe::probe),
    "nats" => Nats(nats::driver::Nats, nats::probe::probe),
    "shm" => Shm(shm::driver::Shm, shm::probe::probe),
}
