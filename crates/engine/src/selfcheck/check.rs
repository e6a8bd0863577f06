//! Takes readings at the start, every second, and at the end of the measure phase, and turns them
//! into facts.

use std::collections::BTreeMap;
use std::fs;

use record::GeneratorFacts;
use record::summary::Placement;
use rustix::process::{Resource, getrlimit};

use super::counters::{self, Counters};
use super::host::{ProcessorTime, pressure_us};
use super::polled::Polled;
use super::tasks::Task;
use super::throttling::Throttling;
use super::{Timing, open_files, status_field, time_wait_sockets};
use crate::process::own_cpu_ns;

/// Share of a limit that gives a note.
const NEAR: f64 = 0.8;

/// Watches the generator during the measure phase. Each reading takes about a dozen small files.
#[derive(Debug)]
pub struct SelfCheck {
    began_at: u64,
    timing: Timing,
    placement: Placement,
    workers: Vec<Worker>,
    begin: Reading,
    throttling: Option<Throttling>,
    open_files_max: u64,
    time_wait_max: Option<u64>,
}

/// The thread of a worker.
#[derive(Debug, Clone)]
pub struct WorkerThread {
    /// Its kernel id, see [`super::current_task`].
    pub id: u32,
    /// Its own count of polling time.
    pub polled: Polled,
}

impl WorkerThread {
    fn read(&self) -> Option<Task> {
        Task::read(self.id).map(|task| Task { polled_ns: self.polled.ns(), ..task })
    }
}

/// A worker's thread with the last reading, because an ended thread cannot be read.
#[derive(Debug)]
struct Worker {
    thread: WorkerThread,
    begin: Option<Task>,
    last: Option<Task>,
}

#[derive(Debug, Clone)]
struct Reading {
    process_cpu_ns: u64,
    processors: Option<ProcessorTime>,
    throttled_ns: Option<u64>,
    pressure_us: Option<u64>,
    kernel: Counters,
}

impl Reading {
    fn take(throttling: Option<&Throttling>) -> Self {
        Self {
            process_cpu_ns: own_cpu_ns(),
            processors: ProcessorTime::read(),
            throttled_ns: throttling.and_then(Throttling::read_ns),
            pressure_us: pressure_us(),
            kernel: counters::read(),
        }
    }
}

impl SelfCheck {
    /// The measure phase begins at this instant, in nanoseconds of the trial's clock.
    ///
    /// Shape:  one thread per worker, in the order of the workers
    pub fn begin(now: u64, workers: &[WorkerThread], timing: Timing, placement: Placement) -> Self {
        let throttling = Throttling::find();
        let worker = |thread: &WorkerThread| {
            let begin = thread.read();
            Worker { thread: thread.clone(), begin, last: begin }
        };
        Self {
            began_at: now,
            timing,
            placement,
            workers: workers.iter().map(worker).collect(),
            begin: Reading::take(throttling.as_ref()),
            throttling,
            open_files_max: open_files(),
            time_wait_max: time_wait_sockets(),
        }
    }

    /// Takes the readings of each second: peaks, and the workers while they live.
    pub fn sample(&mut self) {
        for worker in &mut self.workers {
            worker.last = worker.thread.read().or(worker.last);
        }
        self.open_files_max = self.open_files_max.max(open_files());
        self.time_wait_max = self.time_wait_max.max(time_wait_sockets());
    }

    /// Ends the measure phase at this instant. Best called while the workers still live.
    ///
    /// Returns the facts, and the growth of each TCP counter in the network namespace.
    pub fn end(mut self, now: u64) -> (GeneratorFacts, BTreeMap<String, i64>) {
        self.sample();
        let end = Reading::take(self.throttling.as_ref());
        let wall_ns = now.saturating_sub(self.began_at).max(1);
        let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
        let tasks: Vec<Task> = self.workers.iter().map(Worker::used).collect();
        let facts = GeneratorFacts {
            watched_ns: wall_ns,
            worker_cpu_ns: tasks.iter().map(Task::worked_ns).collect(),
            worker_polled_ns: tasks.iter().map(|task| task.polled_ns).collect(),
            worker_scheduling: Vec::new(),
            worker_run_queue_ns: tasks.iter().map(|task| task.run_queue_ns).collect(),
            worker_involuntary_switches: tasks
                .iter()
                .map(|task| task.involuntary_switches)
                .collect(),
            process_cpu_ns: end.process_cpu_ns.saturating_sub(self.begin.process_cpu_ns),
            rss_peak_bytes: status_field(&status, "VmHWM").unwrap_or(0) * 1024,
            programs_cpu_ns: both(self.begin.processors, end.processors)
                .map(|(begin, end)| end.programs_ns_since(begin)),
            steal_ratio: both(self.begin.processors, end.processors)
                .map_or(0.0, |(begin, end)| end.steal_ratio_since(begin)),
            throttled_ns: both(self.begin.throttled_ns, end.throttled_ns)
                .map_or(0, |(begin, end)| end.saturating_sub(begin)),
            pressure_ratio: both(self.begin.pressure_us, end.pressure_us)
                .map_or(0.0, |(begin, end)| {
                    end.saturating_sub(begin) as f64 * 1_000.0 / wall_ns as f64
                }),
            timer_grain_ns: self.timing.timer_grain_ns,
            clock_read_ns: self.timing.clock_read_ns,
            syn_linear_timeouts: counters::syn_linear_timeouts(),
            file_descriptors: (self.open_files_max, files_limit()),
            placement: self.placement.clone(),
            notes: self.notes(&end),
        };
        (facts, counters::deltas(&self.begin.kernel, &end.kernel))
    }

    fn notes(&self, end: &Reading) -> Vec<String> {
        let mut notes = Vec::new();
        let mut note = |is_so: bool, text: String| {
            if is_so {
                notes.push(text);
            }
        };
        let unread = self.workers.iter().filter(|worker| worker.begin.is_none()).count();
        note(unread > 0, format!("CPU time of {unread} workers could not be read"));
        note(end.processors.is_none(), "steal could not be read from /proc/stat".into());
        note(end.pressure_us.is_none(), "this kernel keeps no CPU pressure figures".into());
        note(end.throttled_ns.is_none(), "no control group reports throttling".into());
        note(end.kernel.is_empty(), "the kernel's TCP counters could not be read".into());
        let (open, limit) = (self.open_files_max, files_limit());
        let is_near = open as f64 > NEAR * limit as f64;
        note(is_near, format!("{open} of {limit} file descriptors were in use"));
        if let (Some(waiting), Some(ports)) = (self.time_wait_max, crate::preflight::local_ports())
        {
            let is_near = waiting as f64 > NEAR * ports as f64;
            note(is_near, format!("{waiting} sockets in TIME_WAIT, of {ports} local ports"));
        }
        notes
    }
}

impl Worker {
    fn used(&self) -> Task {
        both(self.begin, self.last).map_or(Task::default(), |(begin, last)| last.since(begin))
    }
}

fn both<T>(begin: Option<T>, end: Option<T>) -> Option<(T, T)> {
    begin.zip(end)
}

fn files_limit() -> u64 {
    getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::selfcheck::current_task;

    fn watched(id: u32) -> WorkerThread {
        WorkerThread { id, polled: Polled::default() }
    }

    #[test]
    fn a_busy_worker_is_seen() {
        let timing = Timing { timer_grain_ns: 5, clock_read_ns: 6 };
        let placement = Placement { workers: vec![0], systems: vec![0] };
        let mut check =
            SelfCheck::begin(1_000, &[watched(current_task())], timing, placement.clone());
        let open_before = check.open_files_max;
        let file = fs::File::open("/proc/self/status").unwrap();
        check.sample();
        drop(file);
        let begin = check.workers[0].begin.unwrap().cpu_ns;
        let process_begin = check.begin.process_cpu_ns;
        // The two clocks are not read at the same time: a thread's clock may lag its process's by
        // some ticks.
        while Task::read(current_task()).unwrap().cpu_ns < begin + 1_000_000
            || own_cpu_ns() < process_begin + 1_000_000
        {}
        let (facts, kernel) = check.end(2_000);
        assert_eq!(facts.watched_ns, 1_000);
        assert!(facts.worker_cpu_ns[0] >= 1_000_000);
        assert!(facts.process_cpu_ns >= 1_000_000);
        assert!(facts.rss_peak_bytes > 0);
        assert!(facts.file_descriptors.0 >= open_before && facts.file_descriptors.1 > 0);
        assert_eq!((facts.timer_grain_ns, facts.clock_read_ns), (5, 6));
        assert_eq!(facts.placement, placement);
        assert!(kernel.contains_key("RetransSegs"));
    }

    #[test]
    fn polling_is_no_work() {
        let own = watched(current_task());
        let placement = Placement::default();
        let check = SelfCheck::begin(0, std::slice::from_ref(&own), Timing::default(), placement);
        let begin = check.workers[0].begin.unwrap().cpu_ns;
        while Task::read(current_task()).unwrap().cpu_ns < begin + 1_000_000 {}
        own.polled.add(u64::MAX / 2);
        let (facts, _) = check.end(1);
        assert_eq!((facts.worker_polled_ns[0], facts.worker_cpu_ns[0]), (u64::MAX / 2, 0));
    }

    #[test]
    fn a_worker_that_has_ended_keeps_its_last_reading() {
        let (to_worker, orders) = std::sync::mpsc::channel::<()>();
        let (to_us, ids) = std::sync::mpsc::channel();
        let thread = std::thread::spawn(move || {
            to_us.send(current_task()).unwrap();
            let _ = orders.recv();
        });
        let id = ids.recv().unwrap();
        let mut check =
            SelfCheck::begin(0, &[watched(id)], Timing::default(), Placement::default());
        check.sample();
        let last = check.workers[0].last;
        drop(to_worker);
        thread.join().unwrap();
        check.sample();
        assert!(last.is_some());
        assert!(check.workers[0].last >= last);
    }

    #[test]
    fn a_worker_that_cannot_be_read_is_a_note() {
        let check =
            SelfCheck::begin(0, &[watched(u32::MAX)], Timing::default(), Placement::default());
        let (facts, _) = check.end(1);
        assert_eq!(facts.worker_cpu_ns, [0]);
        assert!(facts.notes.contains(&"CPU time of 1 workers could not be read".to_owned()));
    }
}
