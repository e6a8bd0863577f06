//! Findings from times that reveal their cause: clusters just above the time-outs of kernels and programs.
//!
//! A time alone is no evidence: a cluster is reported only where a counter or a second time confirms it.

use record::summary::Severity;
use stats::signature::Cluster;

use super::kind::{Check, FindingKind, Noticed};
use super::under_test::{busy, work_of_each};
use crate::case::Case;
use plan::number::{count, duration, percent, significant};

/// A SYN was retransmitted.
pub const SYN_RETRANSMISSION: FindingKind = FindingKind {
    code: "syn-retransmission",
    severity: Severity::Warning,
    clearest: None,
    title: "connections were made at a later attempt",
    explain: "Connect times gather just above the instants at which this kernel sends a SYN again: 1, 2, 3, \
              4, 5, 7, 11, 19, 35, 67 s where `tcp_syn_linear_timeouts` is 4, and 1, 3, 7, 15, 31, 63 s on \
              older kernels; the counter TCPSynRetrans rose with them. The first attempts were lost or \
              dropped: by a full accept queue (see accept-queue-overflow), a firewall, or the network.",
    check: Check::Trial(|case| {
        let clusters = &case.facts.shape.syn_retries;
        let resent = case.counter("TCPSynRetrans");
        let seen: u64 = total(clusters);
        if clusters.is_empty() || resent * 2 < seen {
            return None;
        }
        let claim = format!(
            "{} connections were made at a later attempt, just after {}, the instants at which this kernel \
             sends a SYN again",
            count(seen),
            instants(clusters)
        );
        let advice =
            "find where first attempts are dropped: a full accept queue, a firewall, the network";
        Some(evidence(Noticed::new(claim, advice), clusters).with("TCPSynRetrans", resent))
    }),
};

/// The accept queue was full after the handshake.
pub const REQUEST_RETRIES: FindingKind = FindingKind {
    code: "first-request-resent",
    severity: Severity::Warning,
    clearest: None,
    title: "requests were sent again into a full accept queue",
    explain: "Service times gather just above 0.2, 0.6, 1.4 or 3 s while an accept queue was full \
              (ListenOverflows): the client took the connection for open and sent its request, the server's \
              kernel dropped it, and it was sent again after 200 ms, then after twice that, and so on. \
              Raise the listener's backlog, or accept faster.",
    check: Check::Trial(|case| {
        let clusters = &case.facts.shape.request_retries;
        let overflows = case.counter("ListenOverflows");
        if clusters.is_empty() || overflows == 0 {
            return None;
        }
        let claim = format!(
            "{} requests were answered just after {}: sent again into an accept queue that was full {} times",
            count(total(clusters)),
            instants(clusters),
            count(overflows)
        );
        let advice = "raise the backlog of the listener and `net.core.somaxconn`, or accept faster";
        Some(evidence(Noticed::new(claim, advice), clusters).with("ListenOverflows", overflows))
    }),
};

/// A retransmission after 200 ms.
pub const RETRANSMISSION_TIMEOUT: FindingKind = FindingKind {
    code: "retransmission-timeout",
    severity: Severity::Warning,
    clearest: None,
    title: "operations waited for a retransmission",
    explain: "Service times gather just above 200 ms, the least time after which Linux sends a segment again, \
              and the counter TCPTimeouts rose with them: segments were lost, and nothing but the timer \
              noticed. That time belongs to the way, not to the target's work.",
    check: Check::Trial(|case| {
        let cluster = case.facts.shape.retransmission?;
        let timeouts = case.counter("TCPTimeouts");
        if timeouts * 2 < cluster.count || case.counter("ListenOverflows") > 0 {
            return None;
        }
        let claim = format!(
            "{} operations took just above 200 ms, the least retransmission time-out, which expired {} times",
            count(cluster.count),
            count(timeouts)
        );
        let advice =
            "look for loss on the network path to the target; none is expected within one machine";
        Some(evidence(Noticed::new(claim, advice), &[cluster]).with("TCPTimeouts", timeouts))
    }),
};

/// An acknowledgement delayed by 40 ms.
pub const DELAYED_ACK: FindingKind = FindingKind {
    code: "delayed-acknowledgement",
    severity: Severity::Info,
    clearest: None,
    title: "answers may have waited for a delayed acknowledgement",
    explain: "Service times gather just above 40 ms, the least time for which Linux holds an acknowledgement \
              back, though the first bytes of those answers came earlier, and this kernel held as many \
              acknowledgements back (DelayedACKs). A server that writes its answer in several small pieces has \
              the later ones kept by Nagle's algorithm until the first is acknowledged. A server that sends its \
              head at once and takes 40 ms for the rest looks the same. Set TCP_NODELAY in the server, or write \
              each answer at once: if the cluster vanishes, that was it.",
    check: Check::Trial(|case| {
        let cluster = case.facts.shape.delayed_ack?;
        // The server waits for the client's acknowledgement, so the counter is on this machine wherever the target
        // is.
        let held = case.counter("DelayedACKs");
        if held * 2 < cluster.count {
            return None;
        }
        let share = cluster.count as f64 / case.trial.total.succeeded.max(1) as f64;
        let claim = format!(
            "{} of answers ended just above 40 ms although they had begun earlier, and {} acknowledgements were \
             held back: the server's Nagle algorithm may have waited for them",
            percent(share),
            count(held)
        );
        let advice = "set TCP_NODELAY in the server, or let it write each answer at once";
        let noticed = evidence(Noticed::new(claim, advice), &[cluster]);
        Some(noticed.with("share", share).with("DelayedACKs", held))
    }),
};

/// A CPU quota with a period of 100 ms.
pub const QUOTA: FindingKind = FindingKind {
    code: "cpu-quota",
    severity: Severity::Warning,
    clearest: None,
    title: "operations waited for the next period of a CPU quota",
    explain: "Response times gather just above multiples of 100 ms, the period of CPU quotas, and the control \
              group of this process was throttled meanwhile. What runs in the group stands still until the \
              next period. Raise the quota.",
    check: Check::Trial(|case| {
        let throttled = case.trial.generator.throttled_ns;
        let clusters = &case.facts.shape.quota;
        if throttled == 0 || clusters.is_empty() {
            return None;
        }
        let claim = format!(
            "{} operations took just above {}, and the control group was throttled for {}",
            count(total(clusters)),
            instants(clusters),
            duration(throttled)
        );
        let noticed = Noticed::new(claim, "raise the CPU quota of the container");
        Some(evidence(noticed, clusters).with("throttled_ns", throttled))
    }),
};

/// Times in regular steps.
pub const COMB: FindingKind = FindingKind {
    code: "timer-steps",
    severity: Severity::Info,
    clearest: Some("share"),
    title: "service times come in steps",
    explain: "Most service times lie on three steps or more, whole multiples of 1, 4 or 10 ms apart, and \
              no process under test worked for half a step an operation, or had no processor time left. Something on the way sleeps in whole steps (a \
              coarse timer, a poll with a time-out, a kernel tick), or operations wait behind others that all take \
              exactly so long without a processor. Operations that wait for each other's work come in steps as well: \
              where processor time accounts for them, nothing is said. Of targets that the instrument did not start \
              it does not know.",
    check: Check::Trial(|case| {
        let comb = case.facts.shape.comb?;
        if work_of_each(case) * 2.0 >= comb.step_ns as f64 || busy(case).is_some() {
            return None;
        }
        let claim = format!(
            "{} of service times lie on {} steps, {} apart",
            percent(comb.share),
            comb.teeth,
            duration(comb.step_ns)
        );
        let advice = match case.trial.systems.is_empty() {
            true => {
                "look for timers and polls of that length in the target, or for work that takes exactly so long"
            }
            false => "look for timers and polls of that length in the target",
        };
        let noticed = Noticed::new(claim, advice)
            .with("step_ns", comb.step_ns)
            .with("teeth", comb.teeth)
            .with("share", comb.share);
        Some(noticed)
    }),
};

/// Time-outs of 5, 10 or 30 s.
pub const TIME_OUTS: FindingKind = FindingKind {
    code: "time-out-within",
    severity: Severity::Info,
    clearest: None,
    title: "operations took as long as a usual time-out",
    explain: "Service times gather just above 5, 10 or 30 s, while the median is below a quarter of that: those \
              are time-outs that programs and resolvers like (a resolver asks the next server after 5 s). \
              Something behind the target may have been waited for in vain before the answer was given all the \
              same. The time is all the evidence: work that takes so long looks the same.",
    check: Check::Trial(|case| {
        let clusters = &case.facts.shape.time_outs;
        if clusters.is_empty() {
            return None;
        }
        let claim = format!(
            "{} operations succeeded just after {} where the median is {}: a usual time-out may be \
             behind that",
            count(total(clusters)),
            instants(clusters),
            duration(median(case))
        );
        let advice =
            "look for a time-out of that length in the target, its clients and its resolver";
        Some(evidence(Noticed::new(claim, advice), clusters))
    }),
};

fn median(case: &Case<'_>) -> u64 {
    let quantiles = &case.trial.total.service_time.quantiles;
    quantiles.iter().find(|one| one.q == 0.5).and_then(|one| one.observed_ns).unwrap_or(u64::MAX)
}

fn total(clusters: &[Cluster]) -> u64 {
    clusters.iter().map(|cluster| cluster.count).sum()
}

/// `1, 2 and 3 s`
fn instants(clusters: &[Cluster]) -> String {
    let seconds: Vec<String> =
        clusters.iter().map(|cluster| significant(cluster.at_ns as f64 / 1e9)).collect();
    match seconds.split_last() {
        Some((last, [])) => format!("{last} s"),
        Some((last, others)) => format!("{} and {last} s", others.join(", ")),
        None => String::new(),
    }
}

fn evidence(noticed: Noticed, clusters: &[Cluster]) -> Noticed {
    let list = |of: fn(&Cluster) -> f64| clusters.iter().map(of).collect::<Vec<f64>>();
    noticed
        .with("at_s", list(|cluster| cluster.at_ns as f64 / 1e9))
        .with("counts", list(|cluster| cluster.count as f64))
        .with("background", list(|cluster| cluster.background))
}
