//! Lines of the form `Name: 123 kB`, as in `/proc/PID/status`, `/proc/meminfo`, `/proc/cpuinfo`.

/// The number on the first line with this name, without its unit.
pub(crate) fn field(text: &str, name: &str) -> Option<u64> {
    words(text, name)?.split_ascii_whitespace().next()?.parse().ok()
}

/// The value on the first line with this name.
pub(super) fn words<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    text.lines().find_map(|line| {
        let (left, right) = line.split_once(':')?;
        (left.trim_end() == name).then(|| right.trim())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_found_by_its_whole_name() {
        let text = "VmPeak:\t 10 kB\nVmHWM:\t  1234 kB\nmodel name\t: A: B\n";
        assert_eq!(field(text, "VmHWM"), Some(1234));
        assert_eq!(field(text, "Vm"), None);
        assert_eq!(words(text, "model name"), Some("A: B"));
        assert_eq!(field(text, "model name"), None);
    }
}
