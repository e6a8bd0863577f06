//! The virtual network: servers that are tasks of the same thread, over in-memory pipes.
//!
//! With virtual time only: a conversation takes exactly as long as the server waits.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;

use record::FailureKind;
use tokio::io::{DuplexStream, duplex};
use tokio::task::spawn_local;

use super::{Address, Endpoint, Network, Stream};
use crate::clock::Clock;
use crate::exchange::Exchange;

/// Bytes that a pipe holds in each direction before the writer must wait.
const PIPE_BYTES: usize = 64 * 1024;

/// The server's side of a connection.
pub type Serving = Pin<Box<dyn Future<Output = ()>>>;

/// How a server answers a connection attempt.
pub enum Accept {
    /// Takes the connection, and runs this with the server's end of it.
    Serve(Box<dyn FnOnce(DuplexStream) -> Serving>),
    /// Refuses it with this kind of failure.
    Refuse(FailureKind),
    /// Never answers.
    Ignore,
}

type Listener = Rc<dyn Fn() -> Accept>;

/// Servers by name. Clones share them.
#[derive(Clone, Default)]
pub struct MemoryNetwork {
    listeners: Rc<RefCell<BTreeMap<String, Listener>>>,
}

impl MemoryNetwork {
    /// A network without servers.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a server that decides about each connection.
    pub fn listen(&self, name: &str, accept: impl Fn() -> Accept + 'static) {
        self.listeners.borrow_mut().insert(name.to_owned(), Rc::new(accept));
    }

    /// Adds a server that takes every connection, each served by a task of its own.
    pub fn serve<F>(&self, name: &str, serve: impl Fn(DuplexStream) -> F + 'static)
    where
        F: Future<Output = ()> + 'static,
    {
        let serve = Rc::new(serve);
        self.listen(name, move || {
            let serve = Rc::clone(&serve);
            Accept::Serve(Box::new(move |stream| Box::pin(serve(stream))))
        });
    }

    fn listener(&self, name: &str) -> Option<Listener> {
        self.listeners.borrow().get(name).cloned()
    }
}

impl fmt::Debug for MemoryNetwork {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_set().entries(self.listeners.borrow().keys()).finish()
    }
}

impl Network for MemoryNetwork {
    async fn open<C: Clock>(
        &self,
        endpoint: &Endpoint,
        exchange: &mut Exchange<C>,
    ) -> Result<Stream, (FailureKind, String)> {
        let Address::Memory(name) = &endpoint.address else {
            let detail = format!("{endpoint} is no address of the virtual network");
            return Err((FailureKind::Unreachable, detail));
        };
        let Some(listener) = self.listener(name) else {
            return Err((FailureKind::Refused, format!("no server named {name}")));
        };
        match listener() {
            Accept::Serve(serve) => {
                let (ours, theirs) = duplex(PIPE_BYTES);
                spawn_local(serve(theirs));
                exchange.spans.set(Exchange::<C>::CONNECT, 0);
                Ok(Stream::Memory(ours))
            }
            Accept::Refuse(kind) => Err((kind, format!("{name} refuses"))),
            Accept::Ignore => std::future::pending().await,
        }
    }
}
