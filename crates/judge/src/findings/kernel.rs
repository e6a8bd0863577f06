//! Findings from the kernel's counters. These count everything in the network namespace, so a finding is made only
//! where the trial itself shows the effect that the counter explains.

use record::summary::Severity;

use super::kind::{Check, FindingKind, Noticed};
use crate::case::Case;
use plan::number::{count, duration, percent};

/// A connection that took this long was not made at the first attempt, on any network that carries a load test.
const SECOND_ATTEMPT_NS: u64 = 900_000_000;
/// The minimum retransmission time-out.
const RETRANSMISSION_NS: u64 = 200_000_000;

/// The accept queue was full.
pub const ACCEPT_QUEUE: FindingKind = FindingKind {
    code: "accept-queue-overflow",
    severity: Severity::Warning,
    clearest: None,
    title: "an accept queue was full",
    explain: "The kernel dropped connection requests because a listener's accept queue was full \
              (ListenOverflows): the server did not accept as fast as connections came, or its backlog \
              is short. A dropped SYN is sent again after a second, a dropped last part of the handshake \
              shows as a first request that takes 0.2, 0.6, 1.4 or 3 s. Raise the backlog of `listen` \
              and `net.core.somaxconn`, accept faster, or keep connections alive. The counter is that \
              of this machine, so it names the target only if that runs here.",
    check: Check::Trial(|case| {
        let overflows = case.counter("ListenOverflows");
        let suffered = connecting_suffered(case) || !case.facts.shape.request_retries.is_empty();
        if overflows == 0 || !suffered {
            return None;
        }
        let claim = format!(
            "the accept queue of {} was full {} times{}",
            case.listener(),
            count(overflows),
            longest_connect(case)
        );
        let advice = "raise the backlog of the listener and `net.core.somaxconn`, or accept faster";
        let drops = case.counter("ListenDrops");
        let noticed = Noticed::new(claim, advice)
            .with("ListenOverflows", overflows)
            .with("ListenDrops", drops)
            .with("connect_max_ns", connect_max(case));
        Some(noticed)
    }),
};

/// The queue of half-open connections was full.
pub const SYN_QUEUE: FindingKind = FindingKind {
    code: "syn-queue-overflow",
    severity: Severity::Warning,
    clearest: None,
    title: "a queue of half-open connections was full",
    explain: "More connections were being opened than a listener may have half-open, so that the kernel \
              dropped requests (TCPReqQFullDrop) or answered them by SYN cookies \
              (TCPReqQFullDoCookies), which cost options of the connection. Raise the listener's backlog \
              and `net.ipv4.tcp_max_syn_backlog`, or open connections more slowly.",
    check: Check::Trial(|case| {
        let dropped = case.counter("TCPReqQFullDrop");
        let cookies = case.counter("TCPReqQFullDoCookies");
        if dropped + cookies == 0 || !connecting_suffered(case) {
            return None;
        }
        let claim = format!(
            "the queue of half-open connections of {} was full: {} requests were dropped and {} \
             answered by cookies{}",
            case.listener(),
            count(dropped),
            count(cookies),
            longest_connect(case)
        );
        let advice = "raise the listener's backlog and `net.ipv4.tcp_max_syn_backlog`";
        let noticed = Noticed::new(claim, advice)
            .with("TCPReqQFullDrop", dropped)
            .with("TCPReqQFullDoCookies", cookies);
        Some(noticed)
    }),
};

/// A listener dropped connections for another reason.
pub const LISTEN_DROPS: FindingKind = FindingKind {
    code: "listen-drops",
    severity: Severity::Warning,
    clearest: None,
    title: "a listener dropped connection requests",
    explain: "The kernel dropped connection requests although the accept queue was not full (ListenDrops beyond \
              ListenOverflows and full queues of half-open connections): mostly because memory was short. Look at \
              the memory of the machine and at `net.ipv4.tcp_mem`.",
    check: Check::Trial(|case| {
        let explained = case.counter("ListenOverflows") + case.counter("TCPReqQFullDrop");
        let others = case.counter("ListenDrops").saturating_sub(explained);
        if others == 0 || !connecting_suffered(case) {
            return None;
        }
        let claim = format!(
            "{} dropped {} connection requests although its queues had room{}",
            case.listener(),
            count(others),
            longest_connect(case)
        );
        let advice = "look at the machine's memory and at `net.ipv4.tcp_mem`";
        Some(Noticed::new(claim, advice).with("ListenDrops", case.counter("ListenDrops")))
    }),
};

/// Segments were lost.
pub const RETRANSMISSIONS: FindingKind = FindingKind {
    code: "retransmissions",
    severity: Severity::Warning,
    clearest: None,
    title: "segments were sent again",
    explain: "More than one in a thousand segments was sent again, a timer noticed losses (TCPTimeouts, \
              TCPLossProbes, TCPLostRetransmit), and a few operations, far from the median, took as long as \
              a retransmission time-out (200 ms at least). The network lost segments, or a receiver was \
              too slow to take them; that part of the tail may belong to the way and not to the target's \
              work. Counters are those of everybody on this machine, and of a distant target only our half \
              is seen.",
    check: Check::Trial(|case| {
        let (again, sent) = (case.counter("RetransSegs"), case.counter("OutSegs"));
        let share = again as f64 / sent.max(1) as f64;
        let slowest = case.trial.total.service_time.max_ns.max(connect_max(case));
        let [timeouts, probes, lost] =
            ["TCPTimeouts", "TCPLossProbes", "TCPLostRetransmit"].map(|name| case.counter(name));
        let noticed_late = timeouts + probes + lost > 0;
        if share <= 0.001 || slowest < RETRANSMISSION_NS || !noticed_late || !few_so_slow(case) {
            return None;
        }
        let claim = format!(
            "{} of segments ({}) were sent again, which may be why the slowest operations took {}",
            percent(share),
            count(again),
            duration(slowest)
        );
        let advice = "look for loss on the network path (`ss -ti`, counters of the interface) before the target";
        let noticed = Noticed::new(claim, advice)
            .with("RetransSegs", again)
            .with("OutSegs", sent)
            .with("TCPTimeouts", timeouts)
            .with("TCPLossProbes", probes)
            .with("TCPLostRetransmit", lost);
        Some(noticed)
    }),
};

/// Connections were reset.
pub const RESETS: FindingKind = FindingKind {
    code: "connection-resets",
    severity: Severity::Warning,
    clearest: None,
    title: "connections were reset",
    explain: "Operations failed because their connection was reset. Counters tell how, where the target \
              runs on this machine: TCPAbortOnClose rises when a program closes a connection with \
              unread data in it, TCPAbortOnData when data comes for a connection already closed or \
              closed with a linger of 0. A server that answers before it has read the request, or \
              closes idle connections just as a request comes, does so.",
    check: Check::Trial(|case| {
        let resets = case.failures(&["reset"]);
        if resets == 0 {
            return None;
        }
        let (closed, data) = (case.counter("TCPAbortOnClose"), case.counter("TCPAbortOnData"));
        let how = match (case.facts.target_is_local, closed > 0, data > 0) {
            (true, true, _) => "; connections were closed here with unread data in them",
            (true, false, true) => "; connections were closed here before their data had come",
            _ => "",
        };
        let (noun, whose) =
            if resets == 1 { ("operation", "its") } else { ("operations", "their") };
        let claim = format!("{} {noun} ended with a reset by {whose} peer{how}", count(resets));
        let advice =
            "see in the target's log why it closes; compare its idle time-out with the client's";
        let noticed = Noticed::new(claim, advice)
            .with("reset", resets)
            .with("TCPAbortOnClose", closed)
            .with("TCPAbortOnData", data)
            .with("EstabResets", case.counter("EstabResets"))
            .with("OutRsts", case.counter("OutRsts"));
        Some(noticed)
    }),
};

/// The kernel aborted connections.
pub const ABORTS: FindingKind = FindingKind {
    code: "connections-given-up",
    severity: Severity::Warning,
    clearest: None,
    title: "the kernel gave connections up",
    explain: "The kernel of this machine ended connections while operations failed: because their retransmissions \
              were never answered (TCPAbortOnTimeout: the peer or the path to it was gone), or because memory was \
              short (TCPAbortOnMemory). Neither is an answer of the target.",
    check: Check::Trial(|case| {
        let (timer, memory) = (case.counter("TCPAbortOnTimeout"), case.counter("TCPAbortOnMemory"));
        let kinds = ["timeout", "connect_timeout", "reset", "closed", "unreachable"];
        let failed = case.failures(&kinds);
        if timer + memory == 0 || failed == 0 {
            return None;
        }
        let claim = format!(
            "the kernel gave up {} connections without an answer and {} for lack of memory; {} operations \
             failed",
            count(timer),
            count(memory),
            count(failed)
        );
        let advice = match memory {
            0 => "check the network path to the target: its segments were not answered",
            _ => "look at `net.ipv4.tcp_mem` and the memory of this machine",
        };
        let noticed = Noticed::new(claim, advice)
            .with("TCPAbortOnTimeout", timer)
            .with("TCPAbortOnMemory", memory);
        Some(noticed)
    }),
};

/// A receiver was too slow.
pub const RECEIVE_DROPS: FindingKind = FindingKind {
    code: "receiver-too-slow",
    severity: Severity::Warning,
    clearest: None,
    title: "a receiver dropped what it could not take",
    explain: "A socket of this machine dropped segments because its program did not read fast enough \
              (TCPBacklogDrop, TCPRcvQDrop, TCPZeroWindowDrop), and some operations took as long as it \
              takes to send them again. The receiver may be the target or the generator: see the \
              generator's CPU.",
    check: Check::Trial(|case| {
        let names = ["TCPBacklogDrop", "TCPRcvQDrop", "TCPZeroWindowDrop"];
        let drops: u64 = names.iter().map(|name| case.counter(name)).sum();
        let slowest = case.trial.total.service_time.max_ns;
        if drops == 0 || slowest < RETRANSMISSION_NS {
            return None;
        }
        let claim = format!(
            "sockets of this machine dropped {} segments that were not read in time; the slowest \
             operation took {}",
            count(drops),
            duration(slowest)
        );
        let mut noticed = Noticed::new(claim, "give the receiver more processor or larger buffers");
        for name in names {
            noticed = noticed.with(name, case.counter(name));
        }
        Some(noticed)
    }),
};

impl Case<'_> {
    /// The increase of a counter.
    pub(super) fn counter(&self, name: &str) -> u64 {
        self.trial.kernel.get(name).map_or(0, |&delta| u64::try_from(delta).unwrap_or(0))
    }

    /// Operations that failed in one of these ways.
    pub(super) fn failures(&self, kinds: &[&str]) -> u64 {
        let failures = &self.trial.total.failures;
        kinds.iter().filter_map(|&kind| failures.get(kind)).sum()
    }

    fn listener(&self) -> &'static str {
        if self.facts.target_is_local { "a listener on this machine" } else { "a listener here" }
    }
}

/// Whether operations as slow as a retransmission time-out are exceptions: at most one in twenty, and the median far
/// below. Otherwise the target itself may be that slow.
fn few_so_slow(case: &Case<'_>) -> bool {
    let below = |q: f64, limit: u64| {
        let quantiles = &case.trial.total.service_time.quantiles;
        let one = quantiles.iter().find(|one| one.q == q);
        one.and_then(|one| one.observed_ns).is_some_and(|at| at < limit)
    };
    below(0.5, RETRANSMISSION_NS / 4) && below(0.95, RETRANSMISSION_NS)
}

fn connecting_suffered(case: &Case<'_>) -> bool {
    connect_max(case) >= SECOND_ATTEMPT_NS || case.failures(&["connect_timeout"]) > 0
}

fn connect_max(case: &Case<'_>) -> u64 {
    case.trial.total.spans.get("connect").map_or(0, |connect| connect.max_ns)
}

fn longest_connect(case: &Case<'_>) -> String {
    let failed = case.failures(&["connect_timeout"]);
    match (connect_max(case), failed) {
        (longest, 0) if longest >= SECOND_ATTEMPT_NS => {
            format!("; connecting took up to {}", duration(longest))
        }
        (_, 0) => String::new(),
        (_, failed) => format!("; {} connections were not made in time", count(failed)),
    }
}
