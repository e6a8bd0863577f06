//! How many connections each machine has: one alone must not take the places of all others.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::rc::Rc;

/// Of one machine, at a time. Viewers behind one proxy share them.
const MOST: usize = 128;

/// Connections by machine.
#[derive(Debug, Clone, Default)]
pub struct Peers(Rc<RefCell<BTreeMap<IpAddr, usize>>>);

/// A connection, which counts as long as this is kept.
#[derive(Debug)]
pub struct Peer {
    address: IpAddr,
    peers: Peers,
}

impl Peers {
    /// Counts a connection; `None` if its machine has too many. This machine has as many as there are.
    pub fn enter(&self, address: IpAddr) -> Option<Peer> {
        let mut counts = self.0.borrow_mut();
        let count = counts.entry(address).or_default();
        if *count >= MOST && !address.is_loopback() {
            return None;
        }
        *count += 1;
        Some(Peer { address, peers: self.clone() })
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        let mut counts = self.peers.0.borrow_mut();
        if let Some(count) = counts.get_mut(&self.address) {
            *count -= 1;
            if *count == 0 {
                counts.remove(&self.address);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_machine_leaves_places_to_others() {
        let peers = Peers::default();
        let at = |text: &str| peers.enter(text.parse().expect("an address"));
        let mut all: Vec<Peer> = (0..MOST).filter_map(|_| at("192.0.2.1")).collect();
        assert_eq!(all.len(), MOST);
        assert!(at("192.0.2.1").is_none());
        assert!(at("192.0.2.2").is_some());
        all.pop();
        assert!(at("192.0.2.1").is_some());
        let own: Vec<Peer> = (0..2 * MOST).filter_map(|_| at("127.0.0.1")).collect();
        assert_eq!(own.len(), 2 * MOST);
        drop((all, own));
        assert!(peers.0.borrow().is_empty(), "nobody is remembered");
    }
}
