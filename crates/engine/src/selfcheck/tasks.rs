//! Threads of this process: time on a processor, time waiting for one, involuntary switches.

use std::fs;

use super::status::field;

/// The kernel's figures for one thread so far. The kernel charges a running thread at each tick of
/// its processor, so a reading may lag by a few milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Default)]
pub(super) struct Task {
    pub cpu_ns: u64,
    pub run_queue_ns: u64,
    pub involuntary_switches: u64,
    /// The part of the CPU time that was polling without a result: only the thread itself knows it.
    pub polled_ns: u64,
}

/// The kernel's id of the current thread, which a worker hands to the self-check.
pub fn current_task() -> u32 {
    rustix::thread::gettid().as_raw_nonzero().get().unsigned_abs()
}

impl Task {
    /// Reads a thread of this process; `None` once it has ended.
    pub fn read(id: u32) -> Option<Self> {
        let schedstat = fs::read_to_string(format!("/proc/self/task/{id}/schedstat")).ok()?;
        let status = fs::read_to_string(format!("/proc/self/task/{id}/status")).ok()?;
        Self::parse(&schedstat, &status)
    }

    fn parse(schedstat: &str, status: &str) -> Option<Self> {
        let mut numbers = schedstat.split_ascii_whitespace().map(str::parse);
        let (Some(Ok(cpu_ns)), Some(Ok(run_queue_ns))) = (numbers.next(), numbers.next()) else {
            return None;
        };
        let involuntary_switches = field(status, "nonvoluntary_ctxt_switches").unwrap_or(0);
        Some(Self { cpu_ns, run_queue_ns, involuntary_switches, polled_ns: 0 })
    }

    /// CPU time without polling.
    pub fn worked_ns(&self) -> u64 {
        self.cpu_ns.saturating_sub(self.polled_ns)
    }

    /// The growth since an earlier reading.
    pub fn since(self, earlier: Self) -> Self {
        Self {
            cpu_ns: self.cpu_ns.saturating_sub(earlier.cpu_ns),
            run_queue_ns: self.run_queue_ns.saturating_sub(earlier.run_queue_ns),
            involuntary_switches: self
                .involuntary_switches
                .saturating_sub(earlier.involuntary_switches),
            polled_ns: self.polled_ns.saturating_sub(earlier.polled_ns),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_is_read_from_its_two_files() {
        let status = "voluntary_ctxt_switches:\t7\nnonvoluntary_ctxt_switches:\t3\n";
        let task = Task::parse("2633831 1200 41\n", status).unwrap();
        let expect =
            Task { cpu_ns: 2_633_831, run_queue_ns: 1_200, involuntary_switches: 3, polled_ns: 0 };
        assert_eq!(task, expect);
        assert_eq!(task.since(task), Task::default());
        assert_eq!(Task::parse("2633831\n", status), None);
        assert_eq!(Task::parse("", status), None);
    }

    #[test]
    fn this_thread_is_found_and_a_stranger_is_not() {
        // The kernel charges a new thread at its first tick.
        while Task::read(current_task()).unwrap().cpu_ns == 0 {}
        assert_eq!(Task::read(u32::MAX), None);
    }
}
