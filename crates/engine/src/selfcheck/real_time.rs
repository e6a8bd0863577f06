//! Share of a processor that the kernel leaves to real-time threads.

use std::fs;

/// The kernel's default. Kernels from 6.12 on reserve the rest for ordinary threads (`fair_server`), whatever the
/// settings are.
const MOST: f64 = 0.95;

/// In [0, 1]; a real-time thread that uses more is stopped until the end of the period.
pub(crate) fn real_time_share() -> f64 {
    let read = |name: &str| {
        let text = fs::read_to_string(format!("/proc/sys/kernel/{name}")).ok()?;
        text.trim().parse().ok()
    };
    share(read("sched_rt_runtime_us"), read("sched_rt_period_us"))
}

/// A negative time means no limit.
fn share(runtime_us: Option<i64>, period_us: Option<i64>) -> f64 {
    match (runtime_us, period_us) {
        (Some(runtime), Some(period)) if runtime >= 0 && period > 0 => {
            (runtime as f64 / period as f64).min(MOST)
        }
        _ => MOST,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_share_is_runtime_over_period() {
        assert_eq!(share(Some(500_000), Some(1_000_000)), 0.5);
        assert_eq!(share(Some(0), Some(1_000_000)), 0.0);
    }

    #[test]
    fn without_a_limit_it_is_what_a_fair_server_leaves() {
        for (runtime, period) in
            [(Some(-1), Some(1_000_000)), (Some(1_000_000), Some(1_000_000)), (None, None)]
        {
            assert_eq!(share(runtime, period), 0.95);
        }
    }

    #[test]
    fn this_machine_has_one() {
        assert!((0.0..=0.95).contains(&real_time_share()));
    }
}
