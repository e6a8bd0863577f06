//! Work that calls itself more deeply than the stack of the main thread allows.

use std::panic::resume_unwind;
use std::thread;

use crate::problem::Problem;

/// Performs this on a thread with so many bytes of stack.
///
/// Errors: the machine has no room for it
pub fn with_stack<T: Send>(bytes: usize, work: impl FnOnce() -> T + Send) -> Result<T, Problem> {
    thread::scope(|scope| {
        let builder = thread::Builder::new().name("deep".to_owned()).stack_size(bytes);
        let thread = builder.spawn_scoped(scope, work).map_err(|error| {
            Problem::environment(error.to_string()).during("making room to read the script")
        })?;
        Ok(thread.join().unwrap_or_else(|panic| resume_unwind(panic)))
    })
}
