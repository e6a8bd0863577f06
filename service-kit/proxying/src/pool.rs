//! Connections to the upstream: a bounded number, kept between requests, and the queue before them.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use hyper::body::{Body, Bytes};
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::{AbortHandle, JoinHandle};
use tokio::time::{Instant, sleep_until, timeout, timeout_at};

use crate::bounds::Bounds;
use crate::counts::{Count, Counts};
use crate::failure::Failure;
use crate::upload::Upload;
use crate::wire::{ReadFlag, Wire};

/// After an answer, a connection that takes longer to be ready for the next request is closed.
const SETTLE: Duration = Duration::from_secs(1);
/// hyper refuses smaller buffers.
const SMALLEST_BUFFER: usize = 8 << 10;

/// An open connection; dropping it closes it, even during an exchange.
pub(crate) struct Connection<B> {
    pub sender: SendRequest<Upload<B>>,
    pub read_flag: ReadFlag,
    task: JoinHandle<()>,
}

impl<B> Connection<B> {
    /// Closes it from elsewhere.
    pub fn closer(&self) -> AbortHandle {
        self.task.abort_handle()
    }
}

impl<B> Drop for Connection<B> {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// An idle connection, and since when.
struct Idle<B> {
    connection: Connection<B>,
    since: Instant,
}

/// All connections to one upstream.
pub(crate) struct Pool<B> {
    host: String,
    port: u16,
    bounds: Bounds,
    counts: Arc<Counts>,
    /// The last one used on top, so that what is too many grows old at the bottom.
    idle: Mutex<Vec<Idle<B>>>,
    /// One for each request under way.
    places: Arc<Semaphore>,
    /// One for each body that is passed on as it comes, so that clients who are slow to send do not take all places.
    uploads: Arc<Semaphore>,
    is_swept: AtomicBool,
}

/// One of the places, and the connection on it until the answer has ended.
pub(crate) struct Lease<B: Send + 'static> {
    pub connection: Connection<B>,
    pool: Arc<Pool<B>>,
    _place: OwnedSemaphorePermit,
}

impl<B: Send + 'static> Pool<B> {
    pub fn new(host: String, port: u16, bounds: Bounds, counts: Arc<Counts>) -> Self {
        let places = Arc::new(Semaphore::new(bounds.connections));
        let uploads = Arc::new(Semaphore::new(bounds.uploads()));
        let (idle, is_swept) = (Mutex::default(), AtomicBool::new(false));
        Self { host, port, bounds, counts, idle, places, uploads, is_swept }
    }

    /// Waits for the right to use a connection, within bounds and until the deadline.
    pub async fn place(&self, deadline: Instant) -> Result<OwnedSemaphorePermit, Failure> {
        self.wait(&self.places, &self.counts.waiting, deadline).await
    }

    /// Waits for the right to pass a body on as it comes; there is a queue for that alone.
    pub async fn upload(&self, deadline: Instant) -> Result<OwnedSemaphorePermit, Failure> {
        self.wait(&self.uploads, &self.counts.uploads_waiting, deadline).await
    }

    async fn wait(
        &self,
        places: &Arc<Semaphore>,
        waiting: &Count,
        deadline: Instant,
    ) -> Result<OwnedSemaphorePermit, Failure> {
        if let Ok(place) = Arc::clone(places).try_acquire_owned() {
            return Ok(place);
        }
        if waiting.get() >= self.bounds.queue as u64 {
            return Err(Failure::QueueFull);
        }
        let _waiting = Waiting::begin(waiting);
        let place = Arc::clone(places).acquire_owned();
        match timeout_at(deadline.min(Instant::now() + self.bounds.queue_wait), place).await {
            Ok(Ok(place)) => Ok(place),
            // The places are never closed.
            Ok(Err(_)) | Err(_) => Err(Failure::QueueSlow),
        }
    }

    /// A kept connection that is known to be good, if there is one.
    pub fn take(&self) -> Option<Connection<B>> {
        let mut idle = self.idle();
        while let Some(kept) = idle.pop() {
            self.counts.idle.less();
            if kept.connection.sender.is_ready() && kept.since.elapsed() < self.bounds.idle {
                return Some(kept.connection);
            }
        }
        None
    }

    /// Keeps a connection for the next request.
    fn put(&self, connection: Connection<B>) {
        self.counts.idle.one();
        self.idle().push(Idle { connection, since: Instant::now() });
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Idle<B>>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Closes what was idle for too long, and says when to look again.
    fn sweep(&self) -> Instant {
        let mut idle = self.idle();
        let before = idle.len();
        let now = Instant::now();
        idle.retain(|kept| {
            !kept.connection.sender.is_closed() && now.duration_since(kept.since) < self.bounds.idle
        });
        (idle.len()..before).for_each(|_| self.counts.idle.less());
        idle.first().map_or(now, |oldest| oldest.since) + self.bounds.idle
    }

    /// Sweeps until the pool is gone; begun with the first connection.
    fn sweep_from_now_on(self: &Arc<Self>) {
        if self.is_swept.swap(true, Ordering::Relaxed) {
            return;
        }
        let pool: Weak<Self> = Arc::downgrade(self);
        tokio::spawn(async move {
            while let Some(next) = pool.upgrade().map(|pool| pool.sweep()) {
                sleep_until(next).await;
            }
        });
    }
}

impl<B> Pool<B>
where
    B: Body<Data = Bytes> + Send + Unpin + 'static,
{
    /// Opens a connection, in its time and until the deadline.
    pub async fn connect(self: &Arc<Self>, deadline: Instant) -> Result<Connection<B>, Failure> {
        let stream = TcpStream::connect((self.host.as_str(), self.port));
        let stream = timeout_at(deadline.min(Instant::now() + self.bounds.connect), stream).await;
        let stream = stream.map_err(|_| Failure::ConnectSlow)?.map_err(Failure::Connect)?;
        // Without it a small request may wait for a delayed acknowledgement; no reason to fail.
        let _ = stream.set_nodelay(true);
        let read_flag = ReadFlag::default();
        let wire = Wire { stream, read_flag: read_flag.clone() };
        let (sender, conversation) = http1::Builder::new()
            .max_buf_size(self.bounds.buffer.max(SMALLEST_BUFFER))
            .handshake(TokioIo::new(wire))
            .await
            .map_err(Failure::Upstream)?;
        self.counts.connected.one();
        let open = Open::begin(Arc::clone(&self.counts));
        let task = tokio::spawn(async move {
            // Whoever waits for an answer is told how the conversation ended.
            let _ = conversation.await;
            drop(open);
        });
        self.sweep_from_now_on();
        Ok(Connection { sender, read_flag, task })
    }

    pub fn lease(
        self: &Arc<Self>,
        connection: Connection<B>,
        place: OwnedSemaphorePermit,
    ) -> Lease<B> {
        Lease { connection, pool: Arc::clone(self), _place: place }
    }
}

impl<B: Send + 'static> Lease<B> {
    /// Gives the connection back after a complete answer.
    pub fn end(self) {
        if self.connection.sender.is_ready() {
            let Self { connection, pool, .. } = self;
            pool.put(connection);
        } else if !self.connection.sender.is_closed()
            && let Ok(runtime) = Handle::try_current()
        {
            // Its task has not run since the last byte, or the request's body is still on its way.
            runtime.spawn(async move {
                let Self { mut connection, pool, _place } = self;
                if let Ok(Ok(())) = timeout(SETTLE, connection.sender.ready()).await {
                    pool.put(connection);
                }
            });
        }
    }
}

/// Counts a waiting request as long as it waits.
struct Waiting<'a>(&'a Count);

impl<'a> Waiting<'a> {
    fn begin(count: &'a Count) -> Self {
        count.one();
        Self(count)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.less();
    }
}

/// Counts an open connection as long as its task is there.
struct Open(Arc<Counts>);

impl Open {
    fn begin(counts: Arc<Counts>) -> Self {
        counts.open.one();
        Self(counts)
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.0.open.less();
    }
}
