//! Time for which the control group was throttled, in either version of control groups.

use std::fs;
use std::path::{Path, PathBuf};

/// A `cpu.stat` with throttling figures.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Throttling(PathBuf);

impl Throttling {
    /// Finds the file of this process's group; `None` where there is none.
    pub fn find() -> Option<Self> {
        let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
        candidates(&groups).into_iter().map(Self).find(|file| file.read_ns().is_some())
    }

    /// Nanoseconds so far.
    pub fn read_ns(&self) -> Option<u64> {
        parse(&fs::read_to_string(&self.0).ok()?)
    }
}

/// Files to look in, the most specific first. Inside a container the path of the group may not
/// exist; then the root of the mount is the group itself.
fn candidates(groups: &str) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for line in groups.lines() {
        let mut parts = line.splitn(3, ':');
        let (Some(_), Some(controllers), Some(path)) = (parts.next(), parts.next(), parts.next())
        else {
            continue;
        };
        let mounts: Vec<String> = match controllers {
            "" => vec!["/sys/fs/cgroup".into(), "/sys/fs/cgroup/unified".into()],
            some if some.split(',').any(|one| one == "cpu") => {
                vec![format!("/sys/fs/cgroup/{some}"), "/sys/fs/cgroup/cpu".into()]
            }
            _ => continue,
        };
        for group in [path.trim_start_matches('/'), ""] {
            for mount in &mounts {
                files.push(Path::new(mount).join(group).join("cpu.stat"));
            }
        }
    }
    files.dedup();
    files
}

/// `throttled_usec` of version 2, `throttled_time` (nanoseconds) of version 1.
fn parse(stat: &str) -> Option<u64> {
    stat.lines().find_map(|line| {
        let (name, value) = line.split_once(' ')?;
        let value: u64 = value.trim().parse().ok()?;
        match name {
            "throttled_usec" => Some(value * 1_000),
            "throttled_time" => Some(value),
            _ => None,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_versions_give_nanoseconds() {
        assert_eq!(parse("usage_usec 9\nnr_throttled 2\nthrottled_usec 1500\n"), Some(1_500_000));
        assert_eq!(parse("nr_periods 0\nnr_throttled 0\nthrottled_time 42\n"), Some(42));
        assert_eq!(parse("usage_usec 9\n"), None);
    }

    #[track_caller]
    fn check(groups: &str, expect: &[&str]) {
        let expect: Vec<PathBuf> = expect.iter().map(PathBuf::from).collect();
        assert_eq!(candidates(groups), expect);
    }

    #[test]
    fn the_file_is_looked_for_where_either_version_keeps_it() {
        check(
            "0::/user.slice/a\n",
            &[
                "/sys/fs/cgroup/user.slice/a/cpu.stat",
                "/sys/fs/cgroup/unified/user.slice/a/cpu.stat",
                "/sys/fs/cgroup/cpu.stat",
                "/sys/fs/cgroup/unified/cpu.stat",
            ],
        );
        check(
            "4:memory:/m\n1:cpu,cpuacct:/x\n",
            &[
                "/sys/fs/cgroup/cpu,cpuacct/x/cpu.stat",
                "/sys/fs/cgroup/cpu/x/cpu.stat",
                "/sys/fs/cgroup/cpu,cpuacct/cpu.stat",
                "/sys/fs/cgroup/cpu/cpu.stat",
            ],
        );
        check("9:name=systemd:/\n", &[]);
    }
}
