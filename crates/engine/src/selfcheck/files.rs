//! File descriptors in use, and sockets in TIME_WAIT.

use std::fs;

/// File descriptors that this process has open; 0 if that cannot be read.
pub(crate) fn open_files() -> u64 {
    // Listing the folder needs a descriptor, too.
    fs::read_dir("/proc/self/fd").map_or(0, |entries| (entries.count() as u64).saturating_sub(1))
}

/// TCP sockets in TIME_WAIT, of the whole network namespace.
pub(crate) fn time_wait_sockets() -> Option<u64> {
    parse(&fs::read_to_string("/proc/net/sockstat").ok()?)
}

fn parse(sockstat: &str) -> Option<u64> {
    let line = sockstat.lines().find_map(|line| line.strip_prefix("TCP:"))?;
    let mut words = line.split_ascii_whitespace();
    words.find(|word| *word == "tw")?;
    words.next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_wait_is_found_by_name() {
        let text = "sockets: used 25\nTCP: inuse 1 orphan 0 tw 33 alloc 1 mem 152\nUDP: inuse 0\n";
        assert_eq!(parse(text), Some(33));
        assert_eq!(parse("UDP: tw 1\n"), None);
    }

    #[test]
    fn an_open_file_counts() {
        assert!(open_files() >= 3);
    }
}
