//! What is not kept: a list that is too long for memory, in memory while it is short and then in a file without a name,
//! which goes with the process; and folders that are removed at the end.

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::FileExt;

use plan::arrival_list::Scratch;
use tempfile::TempDir;

use crate::problem::Problem;

/// Bytes that are held in memory.
const SHORT: usize = 4 << 20;

/// In memory or in a file of the folder that `TMPDIR` names, without it `/tmp`.
#[derive(Debug, Default)]
pub struct ScratchFile {
    memory: Vec<u8>,
    /// All of the bytes, once there are many.
    disk: Option<File>,
}

impl Scratch for ScratchFile {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        if let Some(disk) = &mut self.disk {
            return disk.write_all(bytes);
        }
        self.memory.extend_from_slice(bytes);
        if self.memory.len() > SHORT {
            let mut disk = tempfile::tempfile()?;
            disk.write_all(&self.memory)?;
            (self.memory, self.disk) = (Vec::new(), Some(disk));
        }
        Ok(())
    }

    fn read_at(&self, bytes: &mut [u8], at: u64) -> io::Result<()> {
        match &self.disk {
            Some(disk) => disk.read_exact_at(bytes, at),
            None => self.memory.read_at(bytes, at),
        }
    }
}

/// A folder that is removed when this is dropped, and that nobody else may look into; its name begins with this.
pub fn folder(prefix: &str) -> Result<TempDir, Problem> {
    let root = std::env::temp_dir();
    tempfile::Builder::new().prefix(prefix).tempdir().map_err(|error| {
        Problem::environment(format!("cannot make a folder in {}: {error}", root.display()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_read_in_memory_and_on_disk() {
        let mut scratch = ScratchFile::default();
        let (mut written, mut chunk) = (0_u64, [0; 4096]);
        while written <= 2 * SHORT as u64 {
            chunk[..8].copy_from_slice(&written.to_le_bytes());
            scratch.append(&chunk).unwrap();
            written += chunk.len() as u64;
            for at in [0, written / 8192 * 4096, written - 4096] {
                let mut found = [0; 8];
                scratch.read_at(&mut found, at).unwrap();
                assert_eq!(u64::from_le_bytes(found), at);
            }
        }
        assert!(scratch.disk.is_some() && scratch.memory.is_empty());
        assert!(scratch.read_at(&mut chunk, written - 1).is_err(), "beyond the end");
    }
}
