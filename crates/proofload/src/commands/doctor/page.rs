//! What was found as text: ten lines, each with one thing to do if something is wrong.

use std::fmt::Write;

use engine::preflight::Limits;
use judge::scheduling;
use judge::validity::{CROWDED_FROM, LAG_LIMIT_NS, LAG_NOTED_NS};
use plan::number::{bytes, count, duration, percent, significant};
use record::summary::{Machine, SchedulingPolicy};

use super::Found;

/// A clock that costs more is no counter of the processor, but a device that is asked.
const SLOW_CLOCK_NS: u64 = 250;
/// Other programs that use more of the processors make a wait for one likely.
const BUSY_FROM: f64 = 0.5;
/// Fewer connections, local ports, bytes of memory or bytes of disk than this limit ordinary runs.
const FEW_FILES: u64 = 4_096;
const FEW_PORTS: u64 = 10_000;
const LITTLE_MEMORY: u64 = 256 << 20;
const LITTLE_SPACE: u64 = 1 << 30;

/// A line, with what to do if it is no `ok`.
struct Row {
    what: &'static str,
    found: String,
    advice: Option<String>,
}

impl Row {
    /// The advice counts only if something `is_wrong`.
    fn of(what: &'static str, found: String, is_wrong: bool, advice: &str) -> Self {
        Self { what, found, advice: is_wrong.then(|| advice.to_owned()) }
    }
}

/// The whole page.
pub fn page(found: &Found) -> String {
    let mut text = format!("{}\n\n", machine(found));
    for Row { what, found, advice } in rows(found) {
        let mark = if advice.is_some() { "note" } else { "ok" };
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{mark:<5} {what:<12} {found}");
        if let Some(advice) = advice {
            let _ = writeln!(text, "{:<18} -> {advice}", "");
        }
    }
    text + "\n" + &conclusion(found) + "\n"
}

/// The machine, as far as it is known.
fn machine(found: &Found) -> String {
    let Machine { cpu, memory_bytes, kernel, .. } = &found.machine;
    let parts = [
        Some(cpu.clone()).filter(|cpu| !cpu.is_empty()),
        Some(format!("{} processors", count(found.processors()))),
        Some(*memory_bytes).filter(|&memory| memory > 0).map(bytes),
        Some(format!("Linux {kernel}")).filter(|_| !kernel.is_empty()),
    ];
    parts.into_iter().flatten().collect::<Vec<String>>().join(", ")
}

fn rows(found: &Found) -> [Row; 10] {
    [
        timer(found),
        clock(found),
        priority(found),
        processors(found),
        other_work(found),
        connections(found),
        ports(found),
        memory(found),
        space(found),
        systems(found),
    ]
}

fn timer(found: &Found) -> Row {
    let [p50, p99, most] = [0.5, 0.99, 1.0].map(|q| duration(found.late(q)));
    Row::of(
        "timer",
        format!("wakes a worker {p50} late (p99 {p99}, at most {most})"),
        found.late(0.99) > LAG_NOTED_NS,
        "stop other work on this machine, or follow the advice on priority",
    )
}

fn clock(found: &Found) -> Row {
    let cost = found.wakes.facts.clock_read_ns;
    let source = match found.machine.clock_source.as_str() {
        "" => "source unknown",
        source => source,
    };
    Row::of(
        "clock",
        format!("a reading takes {} ({source})", duration(cost)),
        cost > SLOW_CLOCK_NS,
        "choose a faster clock source: /sys/devices/system/clocksource/clocksource0",
    )
}

fn priority(found: &Found) -> Row {
    let had = found.wakes.facts.worker_scheduling.first();
    let found = had.map_or_else(|| "unknown".to_owned(), scheduling::in_words);
    let is_worse = had.is_some_and(|had| had.policy != SchedulingPolicy::Fifo);
    let advice = had.and_then(scheduling::remedy).unwrap_or("see `proofload explain scheduling`");
    Row::of("priority", found, is_worse, advice)
}

fn processors(found: &Found) -> Row {
    let (cores, paid) = (found.limits.cores, found.paid);
    let list = |cores: &[usize]| {
        let cores: Vec<String> = cores.iter().map(usize::to_string).collect();
        cores.join(", ")
    };
    let placement = &found.machine.placement;
    let throttled = found.wakes.facts.throttled_ns;
    let place = match cores {
        0 | 1 => "one, for workers and the systems of a run together".to_owned(),
        _ => format!(
            "workers on {}; systems of a run on {}",
            list(&placement.workers),
            list(&placement.systems)
        ),
    };
    let limit = match () {
        () if throttled > 0 => format!("; throttled for {}", duration(throttled)),
        () if paid < cores => format!("; the control group has time for {paid} of {cores}"),
        () => String::new(),
    };
    Row::of(
        "processors",
        format!("{place}{limit}"),
        cores < 2 || throttled > 0 || paid < cores,
        match cores {
            0 | 1 => "take two processors, or load only targets on other machines",
            _ => "raise the limit of the control group (a container's `--cpus`)",
        },
    )
}

fn other_work(found: &Found) -> Row {
    let facts = &found.wakes.facts;
    let whole = facts.watched_ns.saturating_mul(found.processors()).max(1);
    let used = facts.programs_cpu_ns.map(|used| used as f64 / whole as f64);
    let of_programs = match used {
        Some(used) => format!("programs use {} of the processors", percent(used.min(1.0))),
        None => "/proc/stat cannot be read".to_owned(),
    };
    Row::of(
        "other work",
        format!("{of_programs}; the hypervisor takes {}", percent(facts.steal_ratio)),
        used.is_none_or(|used| used > BUSY_FROM) || facts.steal_ratio > CROWDED_FROM,
        match used {
            Some(_) => "measure when this machine or its host does less",
            None => "mount /proc, so that a run can say who disturbed it",
        },
    )
}

fn connections(found: &Found) -> Row {
    let Limits { files_soft, files_hard, .. } = found.limits;
    let raised = match files_hard > files_soft {
        true => format!(", raised up to {} if a run needs them", many(files_hard)),
        false => String::new(),
    };
    Row::of(
        "connections",
        format!("{} file descriptors{raised}", many(files_soft)),
        files_hard < FEW_FILES,
        "raise the hard limit: `ulimit -Hn`, or `LimitNOFILE=` of a systemd service",
    )
}

fn ports(found: &Found) -> Row {
    let limits = &found.limits;
    let rate = |is_local| limits.new_connections(is_local).map_or("?".to_owned(), significant);
    let text = match limits.ports {
        Some(ports) => format!(
            "{} local ports: {} new connections a second to an address elsewhere, {} to one here",
            count(ports),
            rate(false),
            rate(true)
        ),
        None => "how many local ports there are cannot be read".to_owned(),
    };
    Row::of(
        "ports",
        text,
        limits.ports.is_some_and(|ports| ports < FEW_PORTS),
        "`sysctl -w net.ipv4.ip_local_port_range=\"15000 65000\"`",
    )
}

fn memory(found: &Found) -> Row {
    let available = found.limits.memory_available;
    let text = match available {
        u64::MAX => "how much is available cannot be read".to_owned(),
        available => format!("{} available", bytes(available)),
    };
    let advice = "end programs that need it, or raise the limit of the control group";
    Row::of("memory", text, available < LITTLE_MEMORY, advice)
}

fn space(found: &Found) -> Row {
    let (text, is_little) = match &found.space {
        Ok(free) => (format!("{} free in this folder", bytes(*free)), *free < LITTLE_SPACE),
        Err(error) => (format!("nothing can be written in this folder: {error}"), true),
    };
    Row::of("run folders", text, is_little, "name another folder with `--out`")
}

fn systems(found: &Found) -> Row {
    let (names, silent) = &found.systems;
    let text = match (names.is_empty(), silent.is_empty()) {
        (true, true) => "none is installed; loading a URL needs none".to_owned(),
        (_, true) => names.join(", "),
        (_, false) => format!("{}; no description from {}", names.join(", "), silent.join(", ")),
    };
    Row::of("systems", text, !silent.is_empty(), "`proofload serve` says why")
}

/// A limit, which may be none.
fn many(limit: u64) -> String {
    if limit == u64::MAX { "unlimited".to_owned() } else { count(limit) }
}

/// What the lateness means for a run.
fn conclusion(found: &Found) -> String {
    let p99 = found.late(0.99);
    let [lag, noted, most] = [p99, LAG_NOTED_NS, LAG_LIMIT_NS].map(duration);
    let mut text = match p99 {
        0..=LAG_NOTED_NS => {
            format!("A worker is on time here: p99 {lag}, and trials are noted from {noted} on.")
        }
        _ if p99 <= LAG_LIMIT_NS => {
            format!(
                "Trials here would be noted: a worker is late by {lag} (p99), more than {noted}."
            )
        }
        _ => format!(
            "Trials here may be invalid: a worker is late by {lag} (p99), more than {most}. They are where that is more \
             than a tenth of the response time of the slowest hundredth."
        ),
    };
    for note in &found.wakes.facts.notes {
        // Writing to a string cannot fail.
        let _ = write!(text, "\nnote: {note}");
    }
    text
}

#[cfg(test)]
mod tests {
    use std::io;

    use engine::trial::Wakes;
    use record::GeneratorFacts;
    use record::summary::{Placement, Scheduling, SchedulingReason};

    use super::*;

    fn found() -> Found {
        let placement = Placement { workers: vec![1, 2, 3], systems: vec![0] };
        let scheduling = Scheduling { policy: SchedulingPolicy::Fifo, nice: 0, reason: None };
        let facts = GeneratorFacts {
            watched_ns: 1_000_000_000,
            worker_scheduling: vec![scheduling],
            programs_cpu_ns: Some(400_000_000),
            clock_read_ns: 25,
            ..GeneratorFacts::default()
        };
        Found {
            machine: Machine {
                cpu: "EPYC".to_owned(),
                cores: 4,
                kernel: "6.1.0".to_owned(),
                memory_bytes: 16 << 30,
                clock_source: "tsc".to_owned(),
                placement,
            },
            // 40.001 to 41 µs, and 99 µs.
            wakes: Wakes { late_ns: (40_001..=41_000).chain([99_000]).collect(), facts },
            limits: Limits {
                files_open: 10,
                files_soft: 1_024,
                files_hard: 524_288,
                ports: Some(28_232),
                time_wait_reuse: 2,
                cores: 4,
                memory_available: 12 << 30,
            },
            paid: 4,
            space: Ok(70 << 30),
            systems: (vec!["truth".to_owned(), "mail".to_owned()], Vec::new()),
        }
    }

    /// The line of a property, and its advice.
    fn row(found: &Found, what: &str) -> (String, Option<String>) {
        let row = rows(found).into_iter().find(|row| row.what == what).expect("a property");
        (row.found, row.advice)
    }

    #[track_caller]
    fn check(change: impl FnOnce(&mut Found), what: &str, says: &str, advises: &str) {
        let mut found = found();
        change(&mut found);
        let (text, advice) = row(&found, what);
        assert!(text.contains(says), "{text}");
        assert!(advice.as_deref().is_some_and(|advice| advice.contains(advises)), "{advice:?}");
        let notes = rows(&found).iter().filter(|row| row.advice.is_some()).count();
        assert_eq!(notes, 1, "only {what}");
    }

    #[test]
    fn a_machine_without_a_fault_has_ten_lines_and_no_advice() {
        let text = page(&found());
        assert_eq!(text.lines().filter(|line| line.starts_with("ok ")).count(), 10, "{text}");
        let is_note = |line: &str| line.starts_with("note") || line.contains("->");
        assert!(!text.lines().any(is_note), "{text}");
        for part in [
            "EPYC, 4 processors, 16.0 GiB, Linux 6.1.0",
            "wakes a worker 40.5 µs late (p99 41.0 µs, at most 99.0 µs)",
            "a reading takes 25 ns (tsc)",
            "SCHED_FIFO, priority 1",
            "workers on 1, 2, 3; systems of a run on 0",
            "programs use 10.0 % of the processors; the hypervisor takes 0 %",
            "1,024 file descriptors, raised up to 524,288 if a run needs them",
            "471 new connections a second to an address elsewhere, 28,232 to one here",
            "12.0 GiB available",
            "70.0 GiB free in this folder",
            "truth, mail",
            "p99 41.0 µs, and trials are noted from 250 µs on",
        ] {
            assert!(text.contains(part), "{part} is not in\n{text}");
        }
    }

    #[test]
    fn each_fault_has_one_line_of_advice() {
        let late = |ns: u64| move |found: &mut Found| found.wakes.late_ns = vec![10, ns];
        check(late(300_000), "timer", "p99 300 µs", "stop other work");
        check(|found| found.wakes.facts.clock_read_ns = 900, "clock", "900 ns", "clock source");
        check(
            |found| {
                let reason = Some(SchedulingReason::NotPermitted);
                let policy = SchedulingPolicy::Ordinary;
                found.wakes.facts.worker_scheduling = vec![Scheduling { policy, nice: 0, reason }];
            },
            "priority",
            "ordinary: SCHED_FIFO is not permitted",
            "setcap",
        );
        check(|found| found.limits.cores = 1, "processors", "together", "two processors");
        check(|found| found.paid = 2, "processors", "time for 2 of 4", "--cpus");
        check(
            |found| found.wakes.facts.throttled_ns = 5_000_000,
            "processors",
            "throttled for 5.00 ms",
            "--cpus",
        );
        let steal = |found: &mut Found| found.wakes.facts.steal_ratio = 0.2;
        check(steal, "other work", "the hypervisor takes 20.0 %", "its host");
        let busy = |found: &mut Found| found.wakes.facts.programs_cpu_ns = Some(3_000_000_000);
        check(busy, "other work", "programs use 75.0 %", "does less");
        check(
            |found| found.wakes.facts.programs_cpu_ns = None,
            "other work",
            "cannot be read",
            "mount /proc",
        );
        let few = |found: &mut Found| (found.limits.files_soft, found.limits.files_hard) = (99, 99);
        check(few, "connections", "99 file descriptors", "LimitNOFILE");
        check(|found| found.limits.ports = Some(600), "ports", "10.0 new", "ip_local_port_range");
        let tight = |found: &mut Found| found.limits.memory_available = 64 << 20;
        check(tight, "memory", "64.0 MiB available", "control group");
        check(|found| found.space = Ok(4 << 20), "run folders", "4.00 MiB free", "--out");
        let read_only = || Err(io::Error::from(io::ErrorKind::ReadOnlyFilesystem));
        check(|found| found.space = read_only(), "run folders", "nothing can be written", "--out");
        let silent = |found: &mut Found| found.systems.1 = vec!["/x/proofload-odd".to_owned()];
        check(silent, "systems", "no description from /x/proofload-odd", "proofload serve");
    }

    #[test]
    fn the_last_line_says_what_lateness_means_for_a_run() {
        let of = |p99: u64| {
            let mut found = found();
            found.wakes.late_ns = vec![p99];
            conclusion(&found)
        };
        assert!(of(250_000).starts_with("A worker is on time here"));
        assert!(of(250_001).starts_with("Trials here would be noted"));
        assert!(of(1_000_001).starts_with("Trials here may be invalid"));
        let mut unknown = found();
        unknown.machine = Machine { placement: unknown.machine.placement, ..Machine::default() };
        assert_eq!(machine(&unknown), "4 processors", "what is not known is left out");
        let mut noted = found();
        noted.wakes.facts.notes = vec!["no control group reports throttling".to_owned()];
        assert!(conclusion(&noted).ends_with("\nnote: no control group reports throttling"));
    }
}
