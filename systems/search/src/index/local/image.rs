//! Snapshots of the graph: files that make a start quick, each of them checked to its last byte.
//!
//! Shape: magic, version, dimension, m, ef_construction, sequence, nodes, rows; the nodes; for
//! each row its name, in which write it came, and its node; the checksum of all that (CRC-32).
//! A snapshot is a copy: the rows themselves are in their own file, and without any snapshot the
//! graph is made from them.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use crc32fast::Hasher;
use hnsw::{Graph, Shape};

use super::generation::Published;

const MAGIC: &[u8; 8] = b"plsearch";
const VERSION: u32 = 2;

/// How the name of a snapshot ends that is not whole yet.
const SCRATCH: &str = "tmp";

/// How many snapshots are kept.
const KEPT: usize = 2;

/// Longest name, in bytes: a longer one is damage.
const LONGEST_NAME: u32 = 1 << 16;

/// What a snapshot holds.
#[derive(Debug)]
pub(super) struct Image {
    pub(super) graph: Graph,
    pub(super) nodes: u32,
    /// Name to birth and node.
    pub(super) rows: HashMap<Box<str>, (u64, u32)>,
}

/// What was found on the disk, for people.
#[derive(Debug, Default, Clone, serde::Serialize)]
pub(super) struct LoadReport {
    /// Number of the write that the loaded snapshot was taken after.
    pub(super) snapshot: Option<u64>,
    /// Why others were not loaded.
    pub(super) refused: Vec<String>,
}

/// Writes a snapshot, and removes those that are too old.
///
/// Shape:  → its file and its length in bytes
/// Errors: the disk
pub(super) fn save(folder: &Path, published: &Published) -> io::Result<(PathBuf, u64)> {
    let path = folder.join(format!("graph-{:020}.snapshot", published.sequence));
    let scratch = path.with_extension(SCRATCH);
    let file = File::create(&scratch)?;
    let mut out = ChecksumStream { inner: BufWriter::new(file), sum: Hasher::new(), length: 0 };
    write(published, &mut out)?;
    let sum = out.sum.clone().finalize();
    out.write_all(&sum.to_le_bytes())?;
    let length = out.length;
    out.inner.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()?;
    fs::rename(&scratch, &path)?;
    File::open(folder)?.sync_all()?;
    for (_, old) in list(folder)?.into_iter().skip(KEPT) {
        fs::remove_file(old)?;
    }
    Ok((path, length))
}

fn write(published: &Published, out: &mut impl Write) -> io::Result<()> {
    let Published { generation, sequence, slots, linked, .. } = published;
    let Shape { dimension, m, ef_construction } = generation.graph.shape();
    let rows = (0..*slots).filter_map(|slot| generation.row(slot));
    let rows: Vec<_> = rows.filter(|row| row.is_there(*sequence) && row.node < *linked).collect();
    out.write_all(MAGIC)?;
    for word in [VERSION, dimension as u32, m as u32, ef_construction as u32] {
        out.write_all(&word.to_le_bytes())?;
    }
    out.write_all(&sequence.to_le_bytes())?;
    out.write_all(&linked.to_le_bytes())?;
    out.write_all(&(rows.len() as u32).to_le_bytes())?;
    generation.graph.write(*linked, out)?;
    for row in rows {
        out.write_all(&(row.id.len() as u32).to_le_bytes())?;
        out.write_all(row.id.as_bytes())?;
        out.write_all(&row.born.to_le_bytes())?;
        out.write_all(&row.node.to_le_bytes())?;
    }
    Ok(())
}

/// The newest snapshot that is whole and of this shape.
pub(super) fn load(folder: &Path, shape: Shape) -> (Option<Image>, LoadReport) {
    let mut loaded = LoadReport::default();
    for (sequence, path) in list(folder).unwrap_or_default() {
        let read = File::open(&path).map_err(|error| error.to_string());
        match read.and_then(|file| read_checked(BufReader::new(file), shape)) {
            Ok(image) => {
                loaded.snapshot = Some(sequence);
                return (Some(image), loaded);
            }
            Err(why) => loaded.refused.push(format!("snapshot {sequence} refused: {why}")),
        }
    }
    (None, loaded)
}

/// Removes what kills left of snapshots that were being written.
pub(super) fn sweep(folder: &Path) {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    for path in entries.filter(|path| path.extension().is_some_and(|end| end == SCRATCH)) {
        // A leftover file takes space and does no harm.
        let _ = fs::remove_file(path);
    }
}

/// Number of the newest snapshot, whole or not.
pub(super) fn newest(folder: &Path) -> Option<u64> {
    list(folder).ok()?.first().map(|(sequence, _)| *sequence)
}

/// Snapshots by their number, the newest first.
fn list(folder: &Path) -> io::Result<Vec<(u64, PathBuf)>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let number = name.strip_prefix("graph-").and_then(|rest| rest.strip_suffix(".snapshot"));
        if let Some(number) = number.and_then(|number| number.parse().ok()) {
            found.push((number, path));
        }
    }
    found.sort_unstable_by(|one, other| other.cmp(one));
    Ok(found)
}

/// Reads a snapshot to its last byte.
///
/// Errors: why it is refused, for people
pub(super) fn read_checked(from: impl Read, shape: Shape) -> Result<Image, String> {
    let mut from = ChecksumStream { inner: from, sum: Hasher::new(), length: 0 };
    let read = read(&mut from, shape);
    let at = from.length;
    let told = |error: io::Error| match error.kind() {
        io::ErrorKind::UnexpectedEof => format!("truncated at byte {at}"),
        _ => format!("{error}, before byte {at}"),
    };
    let image = read.map_err(told)?;
    let sum = from.sum.clone().finalize();
    if word(&mut from).map_err(told)? != sum {
        return Err(format!("its checksum does not match its {at} bytes"));
    }
    match from.inner.read(&mut [0]) {
        Ok(0) => Ok(image),
        _ => Err(format!("it has bytes after byte {}", at + 4)),
    }
}

fn read(from: &mut impl Read, shape: Shape) -> io::Result<Image> {
    let invalid = |what: String| Err(io::Error::new(io::ErrorKind::InvalidData, what));
    let mut magic = [0; 8];
    from.read_exact(&mut magic)?;
    if &magic != MAGIC {
        return invalid("it is not a snapshot".into());
    }
    let Shape { dimension, m, ef_construction } = shape;
    let wanted = [
        ("version", VERSION),
        ("dimension", dimension as u32),
        ("m", m as u32),
        ("ef_construction", ef_construction as u32),
    ];
    for (name, wanted) in wanted {
        let has = word(from)?;
        if has != wanted {
            return invalid(format!("it has {name} {has}, but the settings need {wanted}"));
        }
    }
    let _sequence = long(from)?;
    let (nodes, count) = (word(from)?, word(from)?);
    let graph = Graph::read(shape, nodes, from)?;
    let mut rows = HashMap::new();
    for _ in 0..count {
        let length = word(from)?;
        if length > LONGEST_NAME {
            return invalid("a name without an end".into());
        }
        let mut name = vec![0; length as usize];
        from.read_exact(&mut name)?;
        let Ok(name) = String::from_utf8(name) else {
            return invalid("a name is not UTF-8".into());
        };
        let row = (long(from)?, word(from)?);
        if row.1 >= nodes {
            return invalid("a row without a vector".into());
        }
        rows.insert(name.into_boxed_str(), row);
    }
    Ok(Image { graph, nodes, rows })
}

fn word(from: &mut impl Read) -> io::Result<u32> {
    let mut bytes = [0; 4];
    from.read_exact(&mut bytes).map(|()| u32::from_le_bytes(bytes))
}

fn long(from: &mut impl Read) -> io::Result<u64> {
    let mut bytes = [0; 8];
    from.read_exact(&mut bytes).map(|()| u64::from_le_bytes(bytes))
}

/// Sums up and counts what goes by.
struct ChecksumStream<T> {
    inner: T,
    sum: Hasher,
    length: u64,
}

impl<T: Write> Write for ChecksumStream<T> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.inner.write(bytes)?;
        self.sum.update(&bytes[..count]);
        self.length += count as u64;
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

impl<T: Read> Read for ChecksumStream<T> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(bytes)?;
        self.sum.update(&bytes[..count]);
        self.length += count as u64;
        Ok(count)
    }
}
