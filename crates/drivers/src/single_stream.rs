//! A connection for protocols that carry one operation at a time on it.

use engine::driver::NewConnection;

/// A connection with one stream, which is taken once.
#[derive(Debug)]
pub struct SingleStream<T>(Option<T>);

impl<T> SingleStream<T> {
    /// A fresh connection with this stream; it needs no background task.
    pub fn connected(stream: T) -> NewConnection<Self> {
        NewConnection { connection: Self(Some(stream)), background: None }
    }

    /// The stream, the first time.
    pub fn take(&mut self) -> Option<T> {
        self.0.take()
    }
}
