//! Codes of findings that other modules look for.

use std::collections::BTreeSet;

use record::summary::Finding;

/// Code of the finding that the user stopped the run.
pub const INTERRUPTED: &str = "interrupted";
/// Code of the finding that a process under test ended.
pub const PROCESS_DIED: &str = "process-died";
/// Key of its evidence for the role of the process.
pub(crate) const ROLE: &str = "role";
/// Code of the finding that a criterion could not be decided.
pub const UNDECIDED_CRITERION: &str = "undecided-criterion";
/// Code of the finding that a trial could not begin, which ended the run.
pub const NOT_EXECUTED: &str = "trial-not-executed";
/// Code of the finding that a block was executed again.
pub const REPEATED: &str = "block-repeated";
/// Code of the finding that the experiment did something to its own processes.
pub const PLANNED_FAULTS: &str = "planned-faults";
/// Code of the finding that our own numbers contradict each other.
pub const AUDIT_CONTRADICTION: &str = "audit-contradiction";

/// Code of the finding that a closed load waited for its processor.
pub(crate) const CROWDED: &str = "closed-load-crowded";
/// Code of the finding that the system under test waited for its processors.
pub(crate) const SYSTEM_CROWDED: &str = "system-crowded";
/// Code of the finding that every operation failed in the same way.
pub const ALL_FAILED: &str = "all-failed";

/// The numbers of the trials whose closed load waited for its processor.
pub(crate) fn crowded(findings: &[Finding]) -> BTreeSet<u32> {
    trials_with(findings, CROWDED)
}

/// The numbers of the trials with a finding of this code.
pub(crate) fn trials_with(findings: &[Finding], code: &str) -> BTreeSet<u32> {
    findings.iter().filter(|one| one.code == code).filter_map(|one| one.trial).collect()
}
