use std::future::Future;
use std::path::PathBuf;
use std::pin::pin;
use std::task::{Context, Poll, Wake};

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

use super::*;
use crate::api_error::Code;
use crate::index::{Entry, Near};

mod conduct;
mod durable;
mod killed;
mod lost;
mod random;

const DIMENSION: usize = 8;

/// Waits on this thread: no test needs a runtime.
pub(super) fn wait<T>(future: impl Future<Output = T>) -> T {
    struct Unpark(std::thread::Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Arc::new(Unpark(std::thread::current())).into();
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(done) => return done,
            Poll::Pending => std::thread::park(),
        }
    }
}

/// A folder that goes when it is dropped.
struct TempFolder(PathBuf);

impl TempFolder {
    fn new() -> Self {
        let base = std::env::temp_dir();
        let free = (0_u32..).map(|turn| base.join(format!("search-{}-{turn}", std::process::id())));
        // Whoever makes the folder has it.
        let mut made = free.filter(|folder| std::fs::create_dir(folder).is_ok());
        Self(made.next().expect("a name is free"))
    }
}

impl Drop for TempFolder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn settings(brute_force_below: u64) -> Settings {
    Settings { brute_force_below, ef: 32, threads: 2, ..Settings::new(DIMENSION) }
}

fn vector(source: &mut Xoshiro256PlusPlus) -> Vec<f32> {
    (0..DIMENSION).map(|_| (source.next_u64() >> 40) as f32 / (1 << 23) as f32 - 1.0).collect()
}

fn source(seed: u64) -> Xoshiro256PlusPlus {
    Xoshiro256PlusPlus::seed_from_u64(seed)
}

fn entry(id: &str, vector: Vec<f32>, attributes: Value) -> Entry {
    let attributes = attributes.as_object().cloned().unwrap_or_default();
    Entry { id: id.to_owned(), vector, attributes }
}

fn rows(rows: Vec<Entry>) -> Batch {
    Batch { rows, ..Batch::default() }
}

fn query(vector: Vec<f32>, k: usize) -> Query {
    Query { vector, k, filter: None, exact: false, as_of: None }
}

fn write(index: &Local, batch: Batch) -> Written {
    wait(index.write(batch)).expect("it fits")
}

fn find(index: &Local, query: Query) -> Found {
    wait(index.search(query)).expect("it fits")
}

fn ids(found: &Found) -> Vec<&str> {
    found.nearest.iter().map(|near| &*near.id).collect()
}

/// Some rows in one batch, named `r-0` and so on, with an attribute.
fn some(count: usize, seed: u64) -> Batch {
    let mut source = source(seed);
    let row = |at| {
        let attributes = json!({"city": at % 10, "odd": at % 2 == 1});
        entry(&format!("r-{at}"), vector(&mut source), attributes)
    };
    rows((0..count).map(row).collect())
}

/// Everything that is there, for comparing two indexes.
fn all(index: &Local) -> (Vec<Near>, u64) {
    let mut question = query(vec![1.0; DIMENSION], 100_000);
    question.exact = true;
    let found = find(index, question);
    assert_eq!(found.nearest.len() as u64, found.size);
    (found.nearest, found.sequence)
}
