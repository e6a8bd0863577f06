//! Each protocol as the engine sees it: in memory, over sockets, and against peers of other makes.

#[path = "../planned/mod.rs"]
mod planned;
mod self_signed;

mod grpc;
mod http1;
mod http2;
mod nats;
mod redis;
mod shm;
mod smtp;
mod websocket;
