//! Bytes on their way to a connection that several operations share.
//!
//! The first operation since the connection's task ran writes its bytes at once. Those that follow in the same turn of the
//! worker leave theirs to the task, which writes them together: a system call costs more than a small message.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, Waker, ready};

use engine::transport::Stream;
use tokio::io::AsyncWrite;

/// What is not sent yet.
#[derive(Debug, Default)]
pub struct Outbox {
    unsent: Vec<u8>,
    /// Whether an operation wrote since the task ran.
    has_written: bool,
}

impl Outbox {
    /// How many bytes wait.
    pub fn len(&self) -> usize {
        self.unsent.len()
    }

    /// Whether all was sent.
    pub fn is_empty(&self) -> bool {
        self.unsent.is_empty()
    }

    /// Forgets what waits.
    pub fn clear(&mut self) {
        self.unsent.clear();
    }

    /// Adds bytes that the task writes.
    pub fn push(&mut self, bytes: &[u8]) {
        self.unsent.extend_from_slice(bytes);
    }

    /// Sends the bytes of an operation, at once or with those of others; `task` wakes the connection's task, if there is one.
    pub fn send(&mut self, bytes: &[u8], stream: &mut Stream, task: Option<&Waker>) {
        self.push(bytes);
        let task = task.unwrap_or(Waker::noop());
        if self.has_written {
            task.wake_by_ref();
            return;
        }
        self.has_written = true;
        // The task hears from the transport when it takes the rest.
        if matches!(self.poll_write(stream, &mut Context::from_waker(task)), Poll::Ready(Err(_))) {
            // It reads what the peer said before it went away.
            task.wake_by_ref();
        }
    }

    /// Writes what waits, as the connection's task.
    ///
    /// Errors: those of the stream
    pub fn poll_run(
        &mut self,
        stream: &mut Stream,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<()>> {
        self.has_written = false;
        self.poll_write(stream, context)
    }

    fn poll_write(
        &mut self,
        stream: &mut Stream,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<()>> {
        while !self.unsent.is_empty() {
            let written = ready!(Pin::new(&mut *stream).poll_write(context, &self.unsent))?;
            if written == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.unsent.drain(..written);
        }
        Pin::new(stream).poll_flush(context)
    }
}

#[cfg(test)]
mod tests {
    use std::task::{Context, Waker};

    use engine::transport::Stream;
    use tokio::io::{AsyncReadExt, DuplexStream, duplex};

    use super::Outbox;

    /// What has arrived so far, without waiting.
    fn arrived(peer: &mut DuplexStream) -> Vec<u8> {
        let mut bytes = vec![0; 64];
        let mut reading = std::pin::pin!(peer.read(&mut bytes));
        let mut context = Context::from_waker(Waker::noop());
        let read = match reading.as_mut().poll(&mut context) {
            std::task::Poll::Ready(read) => read.expect("a pipe"),
            std::task::Poll::Pending => 0,
        };
        bytes.truncate(read);
        bytes
    }

    #[test]
    fn the_first_of_a_turn_leaves_at_once_and_the_others_leave_together() {
        let (ours, mut peer) = duplex(64);
        let (mut stream, mut outbox) = (Stream::Memory(ours), Outbox::default());
        for _ in 0..2 {
            for bytes in [b"1", b"2", b"3"] {
                outbox.send(bytes, &mut stream, None);
            }
            assert_eq!(arrived(&mut peer), b"1");
            let ended = outbox.poll_run(&mut stream, &mut Context::from_waker(Waker::noop()));
            assert!(ended.is_ready() && outbox.is_empty());
            assert_eq!(arrived(&mut peer), b"23");
        }
    }

    #[test]
    fn what_a_full_pipe_does_not_take_waits() {
        let (ours, mut peer) = duplex(4);
        let (mut stream, mut outbox) = (Stream::Memory(ours), Outbox::default());
        outbox.send(b"123456", &mut stream, None);
        assert_eq!((arrived(&mut peer), outbox.len()), (b"1234".to_vec(), 2));
        let _ = outbox.poll_run(&mut stream, &mut Context::from_waker(Waker::noop()));
        assert_eq!((arrived(&mut peer), outbox.len()), (b"56".to_vec(), 0));
    }
}
