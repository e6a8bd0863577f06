//! x
use crate::row::Row;
pub(super) fn row(_s: u64, n: u64) -> Row {
    Row { id: format!("w-{n:07}"), ..Row::default() }
}
