//! Assigns processors to the generator's workers, and leaves the others to the processes that a run
//! starts.

use std::io;

use record::summary::Placement;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// Processors that this process may use, ascending.
///
/// Errors: what the kernel says; never empty otherwise
pub fn allowed_cores() -> io::Result<Vec<usize>> {
    let set = sched_getaffinity(None)?;
    Ok((0..CpuSet::MAX_CPU).filter(|&core| set.is_set(core)).collect())
}

/// Workers without a requested number: one fewer than the processors that this process may use, or than those for which
/// its control group has time (a container's limit), and at least one.
pub fn usual_workers(allowed: &[usize]) -> usize {
    let paid = std::thread::available_parallelism().map_or(allowed.len(), usize::from);
    fewer(allowed.len(), paid)
}

fn fewer(allowed: usize, paid: usize) -> usize {
    allowed.min(paid).saturating_sub(1).max(1)
}

/// Assigns processors: workers get them from the last one down, systems get the rest.
///
/// Without a requested number there is one worker fewer than processors, and at least one. If there
/// are more workers than processors, several workers share one. If no processor is left for the
/// systems, they get all of them, and both sides disturb each other; the record shows that.
///
/// Shape:  `allowed` ascending and not empty; one processor a worker
pub fn place(allowed: &[usize], workers: Option<usize>) -> Placement {
    let wanted = workers.unwrap_or(allowed.len().saturating_sub(1)).max(1);
    let mut given: Vec<usize> = allowed.iter().rev().cycle().take(wanted).copied().collect();
    given.reverse();
    let left: Vec<usize> = allowed.iter().filter(|core| !given.contains(core)).copied().collect();
    Placement { workers: given, systems: if left.is_empty() { allowed.to_vec() } else { left } }
}

/// Keeps the current thread on these processors.
///
/// Errors: what the kernel says, for example if none of them is allowed
pub fn pin(cores: &[usize]) -> io::Result<()> {
    sched_setaffinity(None, &core_set(cores))?;
    Ok(())
}

/// Keeps the current thread off the workers' processors until this is dropped.
///
/// Storing a window takes some hundred microseconds, which would delay everything that is due
/// meanwhile on the same processor.
#[derive(Debug)]
pub struct Aside {
    allowed: Vec<usize>,
}

impl Aside {
    /// Moves the thread to the systems' processors; that changes nothing if both sides share all
    /// processors.
    ///
    /// Errors: what the kernel says
    pub fn of(placement: &Placement) -> io::Result<Self> {
        let allowed = allowed_cores()?;
        pin(&placement.systems)?;
        Ok(Self { allowed })
    }
}

impl Drop for Aside {
    fn drop(&mut self) {
        // The thread had these processors before, so only an outside change can refuse them now.
        let _ = pin(&self.allowed);
    }
}

/// The kernel's set of these processors.
pub(crate) fn core_set(cores: &[usize]) -> CpuSet {
    let mut set = CpuSet::new();
    for &core in cores.iter().filter(|&&core| core < CpuSet::MAX_CPU) {
        set.set(core);
    }
    set
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(allowed: &[usize], workers: Option<usize>, expect: (&[usize], &[usize])) {
        let placement = place(allowed, workers);
        assert_eq!((&placement.workers[..], &placement.systems[..]), expect);
    }

    #[test]
    fn one_worker_fewer_than_processors_from_the_last_one_down() {
        check(&[0, 1, 2, 3], None, (&[1, 2, 3], &[0]));
        check(&[2, 5], None, (&[5], &[2]));
    }

    #[test]
    fn a_control_group_with_less_time_has_fewer_workers() {
        assert_eq!(
            [(64, 64), (64, 4), (4, 64), (1, 1)].map(|(of, paid)| fewer(of, paid)),
            [63, 3, 3, 1]
        );
    }

    #[test]
    fn a_single_processor_serves_both_sides() {
        check(&[3], None, (&[3], &[3]));
    }

    #[test]
    fn the_experiment_may_fix_the_workers() {
        check(&[0, 1, 2, 3], Some(1), (&[3], &[0, 1, 2]));
        check(&[0, 1], Some(2), (&[0, 1], &[0, 1]));
        check(&[0, 1], Some(3), (&[1, 0, 1], &[0, 1]));
    }

    #[test]
    fn a_thread_steps_aside_and_comes_back() {
        let allowed = allowed_cores().unwrap();
        let placement = place(&allowed, None);
        let systems = placement.systems.clone();
        std::thread::spawn(move || {
            let aside = Aside::of(&placement).unwrap();
            assert_eq!(allowed_cores().unwrap(), systems);
            drop(aside);
            assert_eq!(allowed_cores().unwrap(), allowed);
        })
        .join()
        .unwrap();
    }

    #[test]
    fn a_pinned_thread_sees_only_its_processor() {
        let last = *allowed_cores().unwrap().last().unwrap();
        std::thread::spawn(move || {
            pin(&[last]).unwrap();
            assert_eq!(allowed_cores().unwrap(), [last]);
        })
        .join()
        .unwrap();
    }
}
