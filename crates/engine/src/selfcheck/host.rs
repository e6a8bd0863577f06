//! The machine's processors: time used by programs, steal time, and pressure.

use std::fs;

use rustix::param::clock_ticks_per_second;

/// Time of all processors so far, in kernel ticks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct ProcessorTime {
    /// Time of programs and of the kernel on their behalf. Excludes interrupts: they belong to no program, and network
    /// traffic over loopback causes many.
    pub programs: u64,
    pub steal: u64,
    pub total: u64,
}

impl ProcessorTime {
    pub fn read() -> Option<Self> {
        Self::parse(&fs::read_to_string("/proc/stat").ok()?)
    }

    /// Parses the first line: user nice system idle iowait irq softirq steal guest guest_nice. user and nice already
    /// include the guests.
    fn parse(stat: &str) -> Option<Self> {
        let line = stat.lines().find_map(|line| line.strip_prefix("cpu "))?;
        let numbers: Option<Vec<u64>> =
            line.split_ascii_whitespace().take(8).map(|number| number.parse().ok()).collect();
        let numbers = numbers.filter(|numbers| numbers.len() == 8)?;
        let programs = numbers[..3].iter().sum();
        Some(Self { programs, steal: numbers[7], total: numbers.iter().sum() })
    }

    /// CPU time of programs since an earlier reading.
    pub fn programs_ns_since(self, earlier: Self) -> u64 {
        let tick_ns = 1_000_000_000 / clock_ticks_per_second().max(1);
        self.programs.saturating_sub(earlier.programs) * tick_ns
    }

    /// Share of the time since an earlier reading that was stolen.
    pub fn steal_ratio_since(self, earlier: Self) -> f64 {
        let total = self.total.saturating_sub(earlier.total);
        let steal = self.steal.saturating_sub(earlier.steal);
        if total == 0 { 0.0 } else { steal as f64 / total as f64 }
    }
}

/// Microseconds so far in which some task waited for a processor.
pub(super) fn pressure_us() -> Option<u64> {
    parse_pressure(&fs::read_to_string("/proc/pressure/cpu").ok()?)
}

fn parse_pressure(text: &str) -> Option<u64> {
    let line = text.lines().find(|line| line.starts_with("some "))?;
    line.split_ascii_whitespace().find_map(|word| word.strip_prefix("total="))?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steal_is_a_share_of_all_processor_time() {
        let earlier = ProcessorTime::parse("cpu  10 0 10 70 0 0 0 10 5 0\ncpu0 1 1\n").unwrap();
        assert_eq!(earlier, ProcessorTime { programs: 20, steal: 10, total: 100 });
        let later = ProcessorTime::parse("cpu  20 0 20 130 0 0 0 30 9 0\n").unwrap();
        assert!((later.steal_ratio_since(earlier) - 0.2).abs() < 1e-12);
        let ticks = later.programs_ns_since(earlier) * clock_ticks_per_second() / 1_000_000_000;
        assert_eq!(ticks, 20);
        assert_eq!(later.steal_ratio_since(later).to_bits(), 0.0_f64.to_bits());
        assert_eq!(ProcessorTime::parse("cpu  1 2 3\n"), None);
        assert_eq!(ProcessorTime::parse("intr 1\n"), None);
    }

    #[test]
    fn pressure_is_the_total_of_some() {
        let text = "some avg10=74.57 avg60=27.49 avg300=6.90 total=37353977\n\
                    full avg10=0.00 avg60=0.00 avg300=0.00 total=0\n";
        assert_eq!(parse_pressure(text), Some(37_353_977));
        assert_eq!(parse_pressure(""), None);
    }
}
