//! The kernel's TCP counters, which distinguish lost segments from a slow target.

use std::collections::BTreeMap;
use std::fs;

/// From `/proc/net/netstat`, group `TcpExt`.
const EXTENDED: [&str; 16] = [
    "DelayedACKs",
    "ListenOverflows",
    "ListenDrops",
    "TCPReqQFullDrop",
    "TCPReqQFullDoCookies",
    "TCPSynRetrans",
    "TCPTimeouts",
    "TCPLossProbes",
    "TCPLostRetransmit",
    "TCPAbortOnTimeout",
    "TCPAbortOnMemory",
    "TCPAbortOnData",
    "TCPAbortOnClose",
    "TCPBacklogDrop",
    "TCPRcvQDrop",
    "TCPZeroWindowDrop",
];
/// From `/proc/net/snmp`, group `Tcp`. `RetransSegs` is judged as a share of `OutSegs`.
const PLAIN: [&str; 5] = ["RetransSegs", "OutSegs", "AttemptFails", "EstabResets", "OutRsts"];

/// Counters by name, at one instant.
pub(super) type Counters = BTreeMap<String, i64>;

/// Reads the counters; counters that this kernel lacks are absent.
pub(super) fn read() -> Counters {
    let mut counters = Counters::new();
    for (file, group, names) in
        [("/proc/net/netstat", "TcpExt", &EXTENDED[..]), ("/proc/net/snmp", "Tcp", &PLAIN[..])]
    {
        let text = fs::read_to_string(file).unwrap_or_default();
        counters.extend(parse(&text, group).filter(|(name, _)| names.contains(&name.as_str())));
    }
    counters
}

/// The number of SYN retries that this kernel sends one second apart; none if it lacks the setting.
pub(super) fn syn_linear_timeouts() -> u32 {
    let setting = fs::read_to_string("/proc/sys/net/ipv4/tcp_syn_linear_timeouts");
    setting.ok().and_then(|text| text.trim().parse().ok()).unwrap_or(0)
}

/// The growth of each counter that both readings have.
pub(super) fn deltas(begin: &Counters, end: &Counters) -> Counters {
    end.iter().filter_map(|(name, value)| Some((name.clone(), value - begin.get(name)?))).collect()
}

/// Parses a line of names and a line of values that both begin with the group's name. The order of counters depends on
/// the kernel version.
fn parse<'a>(text: &'a str, group: &str) -> impl Iterator<Item = (String, i64)> + use<'a> {
    let prefix = format!("{group}:");
    let mut lines = text.lines().filter_map(move |line| line.strip_prefix(prefix.as_str()));
    let (names, values) = (lines.next().unwrap_or(""), lines.next().unwrap_or(""));
    names
        .split_ascii_whitespace()
        .zip(values.split_ascii_whitespace())
        .filter_map(|(name, value)| Some((name.to_owned(), value.parse().ok()?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "Ip: Forwarding DefaultTTL\nIp: 1 64\n\
                        Tcp: RtoAlgorithm MaxConn RetransSegs\nTcp: 1 -1 7\n";

    #[test]
    fn counters_are_found_by_their_header() {
        let found: Counters = parse(TEXT, "Tcp").collect();
        assert_eq!(found["RetransSegs"], 7);
        assert_eq!(found["MaxConn"], -1);
        assert_eq!(found.len(), 3);
        assert_eq!(parse(TEXT, "TcpExt").count(), 0);
        assert_eq!(parse("Tcp: A B\n", "Tcp").count(), 0);
    }

    #[test]
    fn a_delta_needs_both_readings() {
        let begin = Counters::from([("a".into(), 2), ("b".into(), 5)]);
        let end = Counters::from([("a".into(), 9), ("c".into(), 1)]);
        assert_eq!(deltas(&begin, &end), Counters::from([("a".into(), 7)]));
    }

    #[test]
    fn this_kernel_counts_its_segments() {
        let counters = read();
        let known = ["RetransSegs", "ListenDrops", "DelayedACKs"];
        assert!(known.iter().all(|&name| counters.contains_key(name)), "{counters:?}");
    }
}
