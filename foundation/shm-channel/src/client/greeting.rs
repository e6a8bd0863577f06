//! Becoming a client: hello, and what the producer says to it.

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;

use super::Client;
use crate::greeting::{Hello, LENGTH};
use crate::layout::VERSION;
use crate::{Error, socket};

/// A greeting in progress, for a caller that already has a Unix stream to a producer and must not
/// block: on a non-blocking stream, nothing here blocks.
///
/// ```no_run
/// # fn wait_until_readable(_: &std::os::unix::net::UnixStream) {}
/// # fn connect() -> Result<shm_channel::Client, Box<dyn std::error::Error>> {
/// use std::os::fd::OwnedFd;
/// use std::os::unix::net::UnixStream;
/// use std::time::Duration;
///
/// let socket = UnixStream::connect("/run/user/1000/users.shm")?;
/// socket.set_nonblocking(true)?;
/// let mut greeting = shm_channel::Greeting::over(OwnedFd::from(socket.try_clone()?));
/// loop {
///     wait_until_readable(&socket);
///     match greeting.answer(Duration::ZERO)? {
///         Ok(client) => return Ok(client),
///         Err(unanswered) => greeting = unanswered,
///     }
/// }
/// # }
/// ```
#[derive(Debug)]
pub struct Greeting {
    socket: Arc<OwnedFd>,
    /// Why the hello could not be sent. A producer that refuses at once may have closed already;
    /// what it said can still be read.
    unsent: Option<Error>,
}

impl Greeting {
    /// Says hello over a connected stream.
    pub fn over(socket: impl Into<Arc<OwnedFd>>) -> Self {
        let socket = socket.into();
        let unsent = socket::send(&socket, &Hello { version: VERSION }.encode(), &[]).err();
        Self { socket, unsent }
    }

    /// The client, if the producer has said welcome; the greeting itself, if it has said nothing
    /// yet. Where the stream blocks, this waits as long as the stream does.
    ///
    /// `spin` is as for [`Client::connect`]. Errors: the producer's refusal, or the system's.
    pub fn answer(self, spin: Duration) -> Result<Result<Client, Self>, Error> {
        let mut bytes = [0; LENGTH];
        let (length, passed) = match socket::receive(&self.socket, &mut bytes) {
            Ok((0, _)) => return Err(Error::Gone),
            Err(Error::Deadline) if self.unsent.is_none() => return Ok(Err(self)),
            Err(error) => return Err(self.unsent.unwrap_or(error)),
            Ok(received) => received,
        };
        Client::welcomed(self.socket, &bytes[..length], passed, spin).map(Ok)
    }
}
