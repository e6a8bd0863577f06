//! A graph's nodes as words in a file: vectors, and links between them.

use std::io;
use std::sync::Arc;

use super::{Graph, NOWHERE, Shape};

/// Most links in a file's word for a count: none has as many.
const MOST: u32 = 1 << 16;

/// In the place of the number of lasting links: it may be lost.
const LOST: u32 = u32::MAX;

impl Graph {
    /// Writes the first so many nodes. Others may be added meanwhile: links to them are left out.
    ///
    /// Shape: for each node its vector, how many links are permanent, and for each of its levels
    ///        the number of links and the links; all in words of 4 bytes, the lowest first
    /// Errors: those of `out`
    pub fn write(&self, nodes: u32, out: &mut dyn io::Write) -> io::Result<()> {
        for number in 0..nodes {
            let node = self.at(number);
            for one in node.vector.iter() {
                out.write_all(&one.to_le_bytes())?;
            }
            for word in self.words(number, nodes) {
                out.write_all(&word.to_le_bytes())?;
            }
        }
        Ok(())
    }

    /// A node's links to the first so many: how many last, and for each level their number and they.
    fn words(&self, number: u32, nodes: u32) -> Vec<u32> {
        let (m, node) = (self.shape.m, self.at(number));
        let lasting = node.lasting();
        let count = |count| node.links(m, 0).take(count).filter(|link| *link < nodes).count();
        let mut words = vec![lasting.map_or(LOST, |lasting| count(lasting) as u32)];
        for level in 0..=self.level(number) {
            let links: Vec<u32> = node.links(m, level).filter(|link| *link < nodes).collect();
            words.push(links.len() as u32);
            words.extend(links);
        }
        words
    }

    /// Reads so many nodes, as [`Self::write`] wrote them for a graph of this shape. It does not
    /// see every change of a byte: whoever keeps the file keeps a checksum of it.
    ///
    /// Errors: those of `from`; `InvalidData` for links to what there is not
    pub fn read(shape: Shape, nodes: u32, from: &mut dyn io::Read) -> io::Result<Self> {
        let graph = Self::new(shape);
        let mut highest = (0, NOWHERE);
        let mut bytes = vec![0; 4 * shape.dimension];
        for number in 0..nodes {
            from.read_exact(&mut bytes)?;
            let numbers = bytes.as_chunks::<4>().0.iter().map(|four| f32::from_le_bytes(*four));
            graph.put(number, numbers.collect::<Arc<[f32]>>());
            let level = graph.level(number);
            let node = graph.at(number);
            let lasting = read_word(from)?;
            for level in 0..=level {
                let links = read_links(nodes, from)?;
                node.set(shape.m, level, links.into_iter());
            }
            let count = || node.links(shape.m, 0).take((lasting as usize).min(shape.m)).count();
            *node.lasting() = (lasting != LOST).then(count);
            if highest.1 == NOWHERE || level > highest.0 {
                highest = (level, u64::from(number));
            }
        }
        if highest.1 != NOWHERE {
            graph.begin_at(highest.0, highest.1 as u32);
        }
        Ok(graph)
    }
}

fn read_word(from: &mut dyn io::Read) -> io::Result<u32> {
    let mut word = [0; 4];
    from.read_exact(&mut word).map(|()| u32::from_le_bytes(word))
}

fn read_links(nodes: u32, from: &mut dyn io::Read) -> io::Result<Vec<u32>> {
    let invalid = |what: &str| io::Error::new(io::ErrorKind::InvalidData, what.to_owned());
    let count = read_word(from)?;
    if count > MOST {
        return Err(invalid("a node has too many links"));
    }
    let links = (0..count).map(|_| read_word(from)).collect::<io::Result<Vec<u32>>>()?;
    match links.iter().all(|link| *link < nodes) {
        true => Ok(links),
        false => Err(invalid("a link to a missing node")),
    }
}
