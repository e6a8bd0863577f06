//! How far the kernel says that the wall clock may be off; uses the one system call for it without a safe wrapper.

use libc::{STA_UNSYNC, TIME_ERROR, timex};

/// The greatest error of CLOCK_REALTIME in nanoseconds; `None` where nothing keeps it in time.
///
/// Source: `maxerror` of adjtimex(2), which a time service such as chrony sets and the kernel lets grow by 500 ppm
#[expect(unsafe_code, reason = "no crate in use has a safe wrapper of adjtimex(2)")]
pub fn clock_bound_ns() -> Option<u64> {
    // SAFETY: the structure holds integers alone, for which zeros are values; `modes` of 0 asks and changes nothing.
    let mut state: timex = unsafe { std::mem::zeroed() };
    // SAFETY: the kernel writes to the structure behind the pointer, and does not keep the pointer.
    let answer = unsafe { libc::adjtimex(&raw mut state) };
    bound_ns(answer, state.status, state.maxerror)
}

fn bound_ns(answer: i32, status: i32, maxerror_us: i64) -> Option<u64> {
    let is_kept = answer >= 0 && answer != TIME_ERROR && status & STA_UNSYNC == 0;
    is_kept.then(|| u64::try_from(maxerror_us).unwrap_or(0) * 1_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_nothing_keeps_has_no_bound() {
        assert_eq!(bound_ns(0, 0, 1_500), Some(1_500_000));
        assert_eq!(bound_ns(0, STA_UNSYNC, 1_500), None);
        assert_eq!(bound_ns(TIME_ERROR, 0, 1_500), None);
        assert_eq!(bound_ns(-1, 0, 1_500), None);
    }

    #[test]
    fn the_kernel_can_be_asked() {
        assert!(clock_bound_ns().is_none_or(|bound| bound < 3_600_000_000_000));
    }
}
