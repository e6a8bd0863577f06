//! Bytes of the server that are not used yet, and the frames in them.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use engine::transport::Stream;
use record::FailureKind;
use tokio::io::{AsyncRead, ReadBuf};

use super::codec::frame::{Frame, FrameError, MESSAGE_LIMIT, Progress};
use super::failure::Failure;

/// Room for what a server usually sends; it grows up to the longest message.
const USUAL: usize = 16 << 10;

/// What has been read.
#[derive(Debug)]
pub(super) struct Input {
    buffer: Vec<u8>,
    taken: usize,
    filled: usize,
    progress: Progress,
    /// When the first byte of the next frame was read.
    began_at: Option<u64>,
}

/// When a frame arrived, and its length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrival {
    /// When its first byte was read.
    pub first_byte_at: u64,
    /// When its last byte was read.
    pub read_at: u64,
    /// Its bytes.
    pub length: usize,
}

impl Input {
    pub(super) fn new() -> Self {
        let (taken, filled) = (0, 0);
        Self {
            buffer: vec![0; USUAL],
            taken,
            filled,
            progress: Progress::default(),
            began_at: None,
        }
    }

    /// Bytes that are not used yet.
    pub(super) fn unread(&self) -> usize {
        self.filled - self.taken
    }

    /// The next frame, if it is complete; `now` is when its last byte was read.
    ///
    /// Errors: the first rule that the server breaks
    pub(super) fn next(&mut self, now: u64) -> Result<Option<(Frame<'_>, Arrival)>, FrameError> {
        if self.unread() > 0 {
            self.began_at.get_or_insert(now);
        }
        let found = self.progress.next(&self.buffer[self.taken..self.filled])?;
        Ok(found.map(|(frame, length)| {
            self.taken += length;
            let first_byte_at = self.began_at.take().unwrap_or(now);
            (frame, Arrival { first_byte_at, read_at: now, length })
        }))
    }

    /// Reads once.
    ///
    /// Errors: the stream's, or that the peer closed it
    pub(super) fn poll_read(
        &mut self,
        stream: &mut Stream,
        context: &mut Context<'_>,
    ) -> Poll<Result<(), Failure>> {
        self.make_room();
        let mut buffer = ReadBuf::new(&mut self.buffer[self.filled..]);
        let read: io::Result<()> = ready!(Pin::new(stream).poll_read(context, &mut buffer));
        let read = read.map(|()| buffer.filled().len());
        Poll::Ready(match read {
            Ok(0) => Err(self.closed()),
            Ok(read) => {
                self.filled += read;
                Ok(())
            }
            Err(error) => Err(error.into()),
        })
    }

    fn make_room(&mut self) {
        self.buffer.copy_within(self.taken..self.filled, 0);
        self.filled -= self.taken;
        self.taken = 0;
        if self.filled == 0 && self.buffer.len() > USUAL << 6 {
            self.buffer.truncate(USUAL);
            self.buffer.shrink_to_fit();
        }
        if self.filled == self.buffer.len() {
            // Beyond the longest message there is only what makes it too long.
            let length = (2 * self.buffer.len()).max(self.progress.needed()).min(2 * MESSAGE_LIMIT);
            self.buffer.resize(length, 0);
        }
    }

    fn closed(&self) -> Failure {
        let detail = match self.unread() {
            0 => "the peer closed the connection".to_owned(),
            some => format!("the peer closed the connection after {some} bytes of a message"),
        };
        Failure::new(FailureKind::Closed, detail)
    }
}
