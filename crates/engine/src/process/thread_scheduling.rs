//! How the kernel schedules the calling thread; uses the one system call for it without a safe
//! wrapper.
//!
//! Not here: the choice of the scheduling (see [`crate::trial`]).

use std::io;

/// `SCHED_FIFO` at the lowest real-time priority, for the calling thread alone.
///
/// Errors: those of the kernel, for example that it is not permitted
pub(crate) fn become_fifo() -> io::Result<()> {
    set(libc::SCHED_FIFO, 0, 1)
}

/// `SCHED_OTHER` with this nice value, for the calling thread alone.
///
/// Errors: those of the kernel, for example that it is not permitted
pub(crate) fn become_nice(nice: i32) -> io::Result<()> {
    set(libc::SCHED_OTHER, nice, 0)
}

/// Threads and processes that this thread starts get `SCHED_OTHER` and a nice value of 0 or more.
#[expect(unsafe_code, reason = "no crate in use has a safe wrapper of sched_setattr(2)")]
fn set(policy: i32, nice: i32, priority: u32) -> io::Result<()> {
    let attributes = libc::sched_attr {
        size: size_of::<libc::sched_attr>() as u32,
        sched_policy: policy.cast_unsigned(),
        sched_flags: libc::SCHED_FLAG_RESET_ON_FORK as u64,
        sched_nice: nice,
        sched_priority: priority,
        sched_runtime: 0,
        sched_deadline: 0,
        sched_period: 0,
    };
    let (this_thread, no_flags) = (0, 0);
    // SAFETY: the kernel reads `size` bytes behind the pointer, which is the length of `attributes`,
    // and neither writes to them nor keeps the pointer.
    let answer = unsafe {
        libc::syscall(libc::SYS_sched_setattr, this_thread, &raw const attributes, no_flags)
    };
    if answer == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
