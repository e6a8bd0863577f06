//! CPU time, time waiting for a processor, and memory of processes and their descendants, from `/proc`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use record::summary::Process;
use rustix::param::clock_ticks_per_second;
use rustix::time::{ClockId, clock_gettime};

use crate::selfcheck::status_field;

/// What `/proc` says about one process at one instant.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Usage {
    pub pid: u32,
    pub parent: u32,
    pub group: u32,
    pub name: String,
    /// Its start, in kernel ticks since the start of the machine.
    pub started: u64,
    /// Whether it has ended and waits to be reaped.
    pub ended: bool,
    /// Its own CPU time, in kernel ticks.
    pub ticks: u64,
    /// CPU time of its children that have ended and were waited for, in kernel ticks.
    pub waited_ticks: u64,
    /// Time in which its living threads were ready to run but had no processor.
    pub run_queue_ns: u64,
    pub rss_peak_bytes: u64,
}

/// Identifies a process: its id may be reused after its end, but not with the same start time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Identity {
    pub pid: u32,
    /// In kernel ticks since the start of the machine.
    pub started: u64,
}

impl Usage {
    pub fn identity(&self) -> Identity {
        Identity { pid: self.pid, started: self.started }
    }
}

/// CPU time of this process so far, user and system, in nanoseconds.
pub(crate) fn own_cpu_ns() -> u64 {
    spent_ns(ClockId::ProcessCPUTime)
}

/// CPU time of the calling thread so far, user and system, in nanoseconds.
pub(crate) fn thread_cpu_ns() -> u64 {
    spent_ns(ClockId::ThreadCPUTime)
}

fn spent_ns(clock: ClockId) -> u64 {
    let spent = clock_gettime(clock);
    u64::try_from(spent.tv_sec).unwrap_or(0) * 1_000_000_000
        + u64::try_from(spent.tv_nsec).unwrap_or(0)
}

/// The processes of the group of `leader`, and all descendants of it and of `others`.
pub(super) fn family(leader: u32, others: &[Identity]) -> BTreeMap<u32, Usage> {
    let mut members = select(all(), leader, others);
    for usage in members.values_mut() {
        let status = fs::read_to_string(format!("/proc/{}/status", usage.pid));
        usage.rss_peak_bytes =
            status.ok().and_then(|text| status_field(&text, "VmHWM")).unwrap_or(0) * 1024;
        usage.run_queue_ns = run_queue_ns(usage.pid);
    }
    members
}

/// The sum over the process's current threads, because the kernel reports it per thread.
fn run_queue_ns(pid: u32) -> u64 {
    let Ok(threads) = fs::read_dir(format!("/proc/{pid}/task")) else { return 0 };
    let schedstats =
        threads.filter_map(|thread| fs::read_to_string(thread.ok()?.path().join("schedstat")).ok());
    schedstats.filter_map(|text| text.split_ascii_whitespace().nth(1)?.parse::<u64>().ok()).sum()
}

/// A process from `/proc`; `None` if it is gone.
pub(super) fn one(pid: u32) -> Option<Usage> {
    parse(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

/// From these processes: `first`, followed by its group and all descendants.
pub(super) fn below(members: &BTreeMap<u32, Usage>, first: u32) -> Vec<Identity> {
    let below = select(members.values().cloned().collect(), first, &[]);
    let (first, rest): (Vec<_>, Vec<_>) =
        below.values().map(Usage::identity).partition(|one| one.pid == first);
    [first, rest].concat()
}

/// The usage of each process from `begin` to `end`.
///
/// If a child ended in between, its parent waited for it and is charged with it: the parent's growth includes the
/// child's whole CPU time, so the child's usage before `begin` is subtracted.
pub(super) fn used(begin: &BTreeMap<u32, Usage>, end: &BTreeMap<u32, Usage>) -> Vec<Process> {
    let tick_ns = 1_000_000_000 / clock_ticks_per_second().max(1);
    let total = |usage: &Usage| usage.ticks + usage.waited_ticks;
    end.values()
        .map(|usage| {
            let vanished: u64 = begin
                .values()
                .filter(|other| other.parent == usage.pid && !end.contains_key(&other.pid))
                .map(total)
                .sum();
            let before = begin.get(&usage.pid);
            let spent = before.map_or(0, total) + vanished;
            let waited = before.map_or(0, |before| before.run_queue_ns);
            Process {
                pid: usage.pid,
                name: usage.name.clone(),
                cpu_ns: total(usage).saturating_sub(spent) * tick_ns,
                run_queue_ns: usage.run_queue_ns.saturating_sub(waited),
                rss_peak_bytes: usage.rss_peak_bytes,
            }
        })
        .collect()
}

fn all() -> Vec<Usage> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    entries
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok())
        .filter_map(one)
        .collect()
}

fn select(all: Vec<Usage>, leader: u32, others: &[Identity]) -> BTreeMap<u32, Usage> {
    let named = all.iter().filter(|usage| others.contains(&usage.identity()));
    let mut chosen: BTreeSet<u32> = named.map(|usage| usage.pid).chain([leader]).collect();
    loop {
        let before = chosen.len();
        for usage in &all {
            if usage.group == leader || chosen.contains(&usage.parent) {
                chosen.insert(usage.pid);
            }
        }
        if chosen.len() == before {
            break;
        }
    }
    all.into_iter().filter(|one| chosen.contains(&one.pid)).map(|one| (one.pid, one)).collect()
}

/// Parses `/proc/PID/stat`; the name is in parentheses and may contain parentheses itself.
fn parse(stat: &str) -> Option<Usage> {
    let (open, close) = (stat.find('(')?, stat.rfind(')')?);
    let fields: Vec<&str> = stat.get(close + 1..)?.split_ascii_whitespace().collect();
    let number = |index: usize| fields.get(index)?.parse::<u64>().ok();
    Some(Usage {
        pid: stat[..open].trim().parse().ok()?,
        parent: fields.get(1)?.parse().ok()?,
        group: fields.get(2)?.parse().ok()?,
        name: stat.get(open + 1..close)?.to_owned(),
        started: number(19)?,
        ended: matches!(*fields.first()?, "Z" | "X"),
        ticks: number(11)? + number(12)?,
        waited_ticks: number(13)? + number(14)?,
        run_queue_ns: 0,
        rss_peak_bytes: 0,
    })
}

#[cfg(test)]
mod tests {
    use std::hint::spin_loop;
    use std::sync::atomic::AtomicBool;
    use std::sync::atomic::Ordering::Relaxed;

    use super::*;

    fn usage(pid: u32, parent: u32, group: u32, ticks: u64, waited_ticks: u64) -> Usage {
        Usage { pid, parent, group, ticks, waited_ticks, ..Usage::default() }
    }

    fn map(usages: &[Usage]) -> BTreeMap<u32, Usage> {
        usages.iter().map(|usage| (usage.pid, usage.clone())).collect()
    }

    #[test]
    fn a_stat_line_is_read_past_a_strange_name() {
        let line = "42 (a) b (c)) S 7 40 40 0 -1 4194560 1 2 3 4 11 22 33 44 20 0 1 0 9 9 9";
        let read = parse(line).unwrap();
        assert_eq!((read.pid, read.parent, read.group), (42, 7, 40));
        assert_eq!((read.ticks, read.waited_ticks), (33, 77));
        assert_eq!((read.started, read.ended), (9, false));
        assert!(parse(&line.replace(") S ", ") Z ")).unwrap().ended);
        assert_eq!(read.name, "a) b (c)");
        assert_eq!(parse("42 (a) S"), None);
    }

    #[test]
    fn a_family_is_the_group_and_all_descendants() {
        let all = vec![
            usage(30, 20, 30, 0, 0), // left the group, child of a member
            usage(20, 10, 10, 0, 0),
            usage(10, 1, 10, 0, 0),
            usage(21, 1, 10, 0, 0), // orphan of the group
            usage(50, 1, 50, 0, 0), // named by the ready line
            usage(51, 50, 50, 0, 0),
            usage(60, 1, 60, 0, 0), // stranger
            usage(70, 1, 70, 0, 0), // has the number of one that was named, and is another
        ];
        let others = [Identity { pid: 50, started: 0 }, Identity { pid: 70, started: 1 }];
        let members = select(all, 10, &others);
        assert_eq!(members.keys().copied().collect::<Vec<_>>(), [10, 20, 21, 30, 50, 51]);
        let below = |pid| below(&members, pid).iter().map(|one| one.pid).collect::<Vec<_>>();
        assert_eq!(below(20), [20, 30]);
        assert_eq!(below(50), [50, 51]);
    }

    /// A part's usage is recorded when it is killed: 60 ticks count for the part, not for the parent that waits for
    /// it.
    #[test]
    fn what_was_settled_is_charged_to_nobody_else() {
        let mut begin = map(&[usage(10, 1, 10, 100, 5), usage(11, 10, 10, 40, 0)]);
        let now = map(&[usage(11, 10, 10, 100, 0)]);
        let tick = 1_000_000_000 / clock_ticks_per_second();
        let spent = |begin: &_, end: &_| -> Vec<_> {
            used(begin, end).iter().map(|one| (one.pid, one.cpu_ns / tick)).collect()
        };
        assert_eq!(spent(&begin, &now), [(11, 60)]);
        begin.extend(now);
        // It used two more ticks before it ended; its successor has used 7.
        let end = map(&[usage(10, 1, 10, 130, 5 + 102), usage(12, 10, 10, 7, 0)]);
        assert_eq!(spent(&begin, &end), [(10, 32), (12, 7)]);
    }

    #[test]
    fn a_child_that_ended_is_charged_once() {
        let begin = map(&[usage(10, 1, 10, 100, 5), usage(11, 10, 10, 40, 0)]);
        // The child used 60 ticks more before it ended; its parent used 10.
        let end = map(&[usage(10, 1, 10, 110, 105), usage(12, 10, 10, 7, 0)]);
        let tick = 1_000_000_000 / clock_ticks_per_second();
        let spent: Vec<_> = used(&begin, &end).iter().map(|one| (one.pid, one.cpu_ns)).collect();
        assert_eq!(spent, [(10, 70 * tick), (12, 7 * tick)]);
    }

    /// A thread for each processor and one more: one of them waits at any time.
    #[test]
    fn threads_that_find_no_processor_are_seen_to_wait() {
        let stop = AtomicBool::new(false);
        let own = std::process::id();
        let begin = family(own, &[]);
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        std::thread::scope(|scope| {
            for _ in 0..=processors {
                scope.spawn(|| {
                    while !stop.load(Relaxed) {
                        spin_loop()
                    }
                });
            }
            let waited = || {
                let now = used(&begin, &family(own, &[]));
                now.iter().find(|one| one.pid == own).map_or(0, |one| one.run_queue_ns)
            };
            while waited() < 1_000_000 {}
            stop.store(true, Relaxed);
        });
    }

    #[test]
    fn this_process_is_found() {
        let own = std::process::id();
        let found = family(own, &[]);
        assert!(found[&own].rss_peak_bytes > 0);
        assert!(own_cpu_ns() > 0);
    }
}
