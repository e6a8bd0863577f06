//! The test stand: a producer on a thread, and a line to it as the engine has one.

use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::JoinHandle;

use drivers::shm::channel::Channel;
use drivers::shm::driver::{Connection, Shm};
use drivers::shm::operation::Operation;
use engine::clock::Clock;
use engine::driver::{Call, CompileContext, Driver, Exchange};
use engine::transport::{Endpoint, Kernel, Network};
use plan::target::Target;
use record::{FailureKind, Outcome};
use shm_channel::{AnswerBuffer, Producer, Reply, Settings, Worker};

/// A clock that advances by one nanosecond each time it is read.
#[derive(Debug, Clone, Default)]
pub struct Ticks(Rc<Cell<u64>>);

impl Clock for Ticks {
    fn now(&self) -> u64 {
        self.0.set(self.0.get() + 1);
        self.0.get()
    }

    async fn sleep_until(&self, _at: u64) {
        std::future::pending().await
    }
}

/// Index of the first span of the driver.
pub const FIRST: usize = Exchange::<Ticks>::FIRST_SPAN;

/// Where a socket may be made; removed at the end.
pub struct Folder(PathBuf);

impl Folder {
    pub fn new() -> Self {
        static MADE: AtomicU32 = AtomicU32::new(0);
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        let name = format!("driver-{}-{number}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }

    pub fn socket(&self) -> PathBuf {
        self.0.join("channel")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A producer whose worker answers on a thread, stopped at the end.
pub struct Running {
    producer: Option<Producer>,
    worker: Option<JoinHandle<()>>,
    pub folder: Folder,
}

impl Running {
    /// One of four slots with room for 64 bytes of a request and 256 of an answer.
    pub fn start(
        handler: impl FnMut(&[u8], &mut AnswerBuffer<'_>) -> Reply + Send + 'static,
    ) -> Self {
        let (folder, producer, worker) = producer();
        let worker = Some(std::thread::spawn(move || worker.run(handler)));
        Self { producer: Some(producer), worker, folder }
    }

    pub fn producer(&self) -> &Producer {
        self.producer.as_ref().unwrap()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.producer = None;
        let ended = self.worker.take().unwrap().join();
        assert!(ended.is_ok() || std::thread::panicking(), "the handler panicked");
    }
}

/// A producer whose worker answers when it is told to.
pub fn producer() -> (Folder, Producer, Worker) {
    let folder = Folder::new();
    let settings = Settings {
        slots: 4,
        request_room: 64,
        answer_room: 256,
        clients: 9,
        ..Settings::default()
    };
    let (producer, mut workers) = Producer::bind(folder.socket(), settings).unwrap();
    (folder, producer, workers.remove(0))
}

/// A compiled operation.
pub fn operation(text: &str) -> Operation {
    let planned = crate::planned::planned("shm", text);
    let compile = CompileContext { operation: &planned, targets: &[], wall_clock: "" };
    Shm.compile(compile).unwrap_or_else(|problems| panic!("{text}: {problems:?}"))
}

/// An operation, a connection made for it, and what was seen last.
pub struct Line {
    pub operation: Operation,
    pub channel: Channel,
    pub exchange: Exchange<Ticks>,
}

impl Line {
    pub async fn connect(socket: &Path, text: &str) -> Result<Self, (FailureKind, String)> {
        let operation = operation(text);
        let mut exchange = Exchange::new(Ticks::default());
        let channel = connect(socket, &operation, &mut exchange).await?;
        Ok(Self { operation, channel, exchange })
    }

    /// So many lines that share one connection.
    pub async fn sharing<const N: usize>(socket: &Path, text: &str) -> [Self; N] {
        let mut exchange = Exchange::new(Ticks::default());
        let mut connection = connection(socket, &operation(text), &mut exchange).await.unwrap();
        std::array::from_fn(|_| Self {
            operation: operation(text),
            channel: Shm.open_stream(&mut connection).expect("one more stream"),
            exchange: Exchange::new(Ticks::default()),
        })
    }

    /// Performs the operation for the call with this sequence.
    pub async fn perform(&mut self, sequence: u64) -> Outcome {
        let call = Call { index: sequence, sequence, trial: 1, seed: 7, now: 9, ..Call::default() };
        self.exchange.clear(self.operation.items.len());
        Shm.encode(&self.operation, &mut self.channel, &call);
        self.exchange.started_at = self.exchange.now();
        Shm.perform(&self.operation, &mut self.channel, &mut self.exchange).await
    }

    /// The same of one that fails: kind and detail, and whether the line can go on.
    pub async fn fail(&mut self, sequence: u64) -> (FailureKind, String, bool) {
        match self.perform(sequence).await {
            Outcome::Failed(kind) => {
                let detail = self.exchange.detail.take().expect("what was seen");
                (kind, detail, self.exchange.reusable)
            }
            other => panic!("{other:?}"),
        }
    }

    /// Length of the driver's span with this index.
    pub fn span(&self, own: usize) -> Option<u64> {
        self.exchange.spans.get(FIRST + own)
    }
}

/// Connects as the engine does, and opens a stream.
pub async fn connect<C: Clock>(
    socket: &Path,
    operation: &Operation,
    exchange: &mut Exchange<C>,
) -> Result<Channel, (FailureKind, String)> {
    let mut connection = connection(socket, operation, exchange).await?;
    Ok(Shm.open_stream(&mut connection).expect("a first stream"))
}

/// Connects as the engine does.
pub async fn connection<C: Clock>(
    socket: &Path,
    operation: &Operation,
    exchange: &mut Exchange<C>,
) -> Result<Connection, (FailureKind, String)> {
    let url = format!("shm://{}", socket.display());
    let target = Target { url, schemes: &drivers::shm::SCHEMES, ..Target::default() };
    let endpoint = Endpoint::resolve(&target).unwrap();
    let stream = Kernel.open(&endpoint, exchange).await?;
    Ok(Shm.connect(operation, &endpoint, stream, exchange).await?.connection)
}

/// Runs a future on a runtime of one thread.
pub fn run<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build().unwrap();
    tokio::task::LocalSet::new().block_on(&runtime, future)
}

/// CRC-32 by its definition, bit by bit.
pub fn crc32(bytes: &[u8]) -> u64 {
    let step = |crc: u32, _| (crc >> 1) ^ (0xedb8_8320 & (crc & 1).wrapping_neg());
    let byte = |crc: u32, byte: &u8| (0..8).fold(crc ^ u32::from(*byte), step);
    u64::from(!bytes.iter().fold(u32::MAX, byte))
}
