//! Bytes on their way to a connection that several operations share.
//!
//! The first operation since the connection's task ran writes its bytes at once. Those that follow in the same turn of the
//! worker leave theirs to the task, which writes them together: a system call costs more than a small message. After
//! several answers that came together, the first one leaves its bytes to the task, too: the streams that got an answer are
//! about to send.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, Waker, ready};

use engine::transport::Stream;
use tokio::io::AsyncWrite;

/// What is not sent yet.
#[derive(Debug, Default)]
pub struct Outbox {
    unsent: Vec<u8>,
    /// Whether operations leave their bytes to the task.
    gathers: bool,
    /// Whether the task was woken since it ran.
    is_woken: bool,
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

    /// Adds bytes. They leave with the next `flush`, or when the task runs.
    pub fn push(&mut self, bytes: &[u8]) {
        self.unsent.extend_from_slice(bytes);
    }

    /// Whether `flush` leaves the bytes to the task.
    pub fn gathers(&self) -> bool {
        self.gathers
    }

    /// Sends what an operation added, at once or with what others add; `task` wakes the connection's task, if there is one.
    pub fn flush(&mut self, stream: &mut Stream, task: Option<&Waker>) {
        let task = task.unwrap_or(Waker::noop());
        if self.gathers {
            if !std::mem::replace(&mut self.is_woken, true) {
                task.wake_by_ref();
            }
            return;
        }
        self.gathers = true;
        // The task hears from the transport when it takes the rest.
        if matches!(self.poll_write(stream, &mut Context::from_waker(task)), Poll::Ready(Err(_))) {
            // It reads what the peer said before it went away.
            task.wake_by_ref();
        }
    }

    /// Notes that the connection's task runs, and that so many answers came since it ran before.
    pub fn turn(&mut self, answers: usize) {
        (self.gathers, self.is_woken) = (answers > 1, false);
    }

    /// Writes what waits, as the connection's task.
    ///
    /// Errors: those of the stream
    pub fn poll_write(
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
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::{Context, Wake, Waker};

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

    /// What an operation does.
    fn send(outbox: &mut Outbox, stream: &mut Stream, bytes: &[u8]) {
        outbox.push(bytes);
        outbox.flush(stream, None);
    }

    /// What the connection's task does.
    fn run(outbox: &mut Outbox, stream: &mut Stream, answers: usize) -> bool {
        outbox.turn(answers);
        outbox.poll_write(stream, &mut Context::from_waker(Waker::noop())).is_ready()
    }

    #[test]
    fn the_first_of_a_turn_leaves_at_once_and_the_others_leave_together() {
        let (ours, mut peer) = duplex(64);
        let (mut stream, mut outbox) = (Stream::Memory(ours), Outbox::default());
        for _ in 0..2 {
            for bytes in [b"1", b"2", b"3"] {
                send(&mut outbox, &mut stream, bytes);
            }
            assert_eq!(arrived(&mut peer), b"1");
            assert!(run(&mut outbox, &mut stream, 1) && outbox.is_empty());
            assert_eq!(arrived(&mut peer), b"23");
        }
    }

    #[test]
    fn after_several_answers_all_leave_together() {
        let (ours, mut peer) = duplex(64);
        let (mut stream, mut outbox) = (Stream::Memory(ours), Outbox::default());
        run(&mut outbox, &mut stream, 2);
        for bytes in [b"1", b"2"] {
            send(&mut outbox, &mut stream, bytes);
        }
        assert_eq!(arrived(&mut peer), b"");
        run(&mut outbox, &mut stream, 0);
        assert_eq!(arrived(&mut peer), b"12");
    }

    /// How often a task was woken.
    #[derive(Default)]
    struct Wakes(AtomicUsize);

    impl Wake for Wakes {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[test]
    fn the_task_is_woken_once_for_all_that_leave_together_and_again_after_it_ran() {
        let (ours, mut peer) = duplex(64);
        let (mut stream, mut outbox) = (Stream::Memory(ours), Outbox::default());
        let wakes = Arc::new(Wakes::default());
        let waker = Waker::from(Arc::clone(&wakes));
        for turn in 1..=3 {
            run(&mut outbox, &mut stream, 2);
            for bytes in [b"1", b"2", b"3"] {
                outbox.push(bytes);
                outbox.flush(&mut stream, Some(&waker));
            }
            assert_eq!(wakes.0.load(Ordering::Relaxed), turn);
        }
        assert_eq!(arrived(&mut peer), b"123123");
    }

    #[test]
    fn what_a_full_pipe_does_not_take_waits() {
        let (ours, mut peer) = duplex(4);
        let (mut stream, mut outbox) = (Stream::Memory(ours), Outbox::default());
        send(&mut outbox, &mut stream, b"123456");
        assert_eq!((arrived(&mut peer), outbox.len()), (b"1234".to_vec(), 2));
        run(&mut outbox, &mut stream, 0);
        assert_eq!((arrived(&mut peer), outbox.len()), (b"56".to_vec(), 0));
    }
}
