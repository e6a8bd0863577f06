//! Describes the machine.

use std::fs;

use record::summary::{Machine, Placement};

use super::status::{field, words};

/// Facts about the machine of the generator; a value that cannot be read is empty or 0.
pub fn machine(placement: Placement) -> Machine {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let line = |path: &str| read(path).trim().to_owned();
    let processors = read("/proc/cpuinfo");
    Machine {
        cpu: cpu_model(&processors),
        cores: cpu_count(&processors),
        kernel: line("/proc/sys/kernel/osrelease"),
        memory_bytes: field(&read("/proc/meminfo"), "MemTotal").unwrap_or(0) * 1024,
        clock_source: line("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
        placement,
    }
}

/// Which machine this is. What cannot be read is empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// The name that it calls itself.
    pub host: String,
    /// The mark of its kernel since it was started.
    pub boot_id: String,
    /// The network namespace, whose counters belong to all of its processes.
    pub network: String,
}

/// Which machine this is.
pub fn identity() -> Identity {
    let line = |path: &str| fs::read_to_string(path).unwrap_or_default().trim().to_owned();
    let network = fs::read_link("/proc/self/ns/net").unwrap_or_default();
    Identity {
        host: line("/proc/sys/kernel/hostname"),
        boot_id: line("/proc/sys/kernel/random/boot_id"),
        network: network.display().to_string(),
    }
}

/// Some architectures do not name their model there.
fn cpu_model(cpuinfo: &str) -> String {
    let names = ["model name", "Model", "Hardware", "cpu model", "uarch"];
    names.iter().find_map(|name| words(cpuinfo, name)).unwrap_or("").to_owned()
}

fn cpu_count(cpuinfo: &str) -> u32 {
    let is_processor =
        |line: &&str| line.split_once(':').is_some_and(|(name, _)| name.trim_end() == "processor");
    u32::try_from(cpuinfo.lines().filter(is_processor).count()).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processors_are_counted_and_named() {
        let text = "processor\t: 0\nmodel name\t: AMD EPYC 9R14\n\nprocessor\t: 1\n";
        assert_eq!(cpu_count(text), 2);
        assert_eq!(cpu_model(text), "AMD EPYC 9R14");
        assert_eq!((cpu_count(""), cpu_model("").as_str()), (0, ""));
    }

    #[test]
    fn this_machine_has_a_kernel_and_memory() {
        let placement = Placement { workers: vec![1], systems: vec![0] };
        let machine = machine(placement.clone());
        assert!(machine.cores > 0 && machine.memory_bytes > 0 && !machine.kernel.is_empty());
        assert_eq!(machine.placement, placement);
    }
}
