//! The test stand: a clock that ticks when it is read, and operations from their text.

use std::cell::Cell;
use std::rc::Rc;

use drivers::http1::compile;
use drivers::http1::driver::Operation;
use engine::clock::Clock;
use engine::driver::{Call, Exchange};

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

/// An operation as planned, from the text of its table in an experiment file.
pub fn planned(text: &str) -> plan::operation::Operation {
    let mut planned = crate::planned::planned("http", text);
    planned.parts = drivers::parts("http", &planned.table);
    (0..).zip(&mut planned.parts).for_each(|(place, part)| part.place = place);
    planned
}

/// A compiled operation.
pub fn operation(text: &str) -> Operation {
    compile::operation(&planned(text)).expect("the operation of the test compiles")
}

/// The k-th call.
pub fn call(sequence: u64) -> Call {
    Call { index: sequence, sequence, trial: 1, seed: 7, now: 99, ..Call::default() }
}

/// An exchange ready for an operation.
pub fn exchange(operation: &Operation) -> Exchange<Ticks> {
    let mut exchange = Exchange::new(Ticks::default());
    exchange.parts_after(1);
    exchange.clear(operation.check.items.len());
    exchange
}

/// Runs a future on a runtime of one thread.
pub fn run<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build();
    runtime.expect("a runtime").block_on(future)
}
