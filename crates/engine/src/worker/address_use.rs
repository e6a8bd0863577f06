//! Targets with several addresses: whose turn it is, and how many connections each address has had.

use std::cell::RefCell;

use crate::transport::Endpoint;

/// The addresses of each target, as one worker uses them.
pub(super) struct AddressUse(Vec<RefCell<OfTarget>>);

struct OfTarget {
    /// Counts connections; the network begins with the address at this place, modulo their number.
    turn: usize,
    /// By address, in the order of the endpoint.
    connections: Vec<u64>,
}

impl AddressUse {
    /// Workers begin with different addresses, so that few connections each are spread as well.
    pub(super) fn new(endpoints: &[Endpoint], first: usize) -> Self {
        let of_target = |endpoint: &Endpoint| {
            let connections = vec![0; endpoint.address.count()];
            RefCell::new(OfTarget { turn: first, connections })
        };
        Self(endpoints.iter().map(of_target).collect())
    }

    /// The turn of the next connection to this target.
    pub(super) fn turn(&self, target: usize) -> usize {
        let mut of_target = self.0[target].borrow_mut();
        let turn = of_target.turn;
        of_target.turn = turn.wrapping_add(1);
        turn
    }

    /// Counts a connection.
    pub(super) fn count(&self, target: usize, address: usize) {
        self.0[target].borrow_mut().connections[address] += 1;
    }

    /// Connections by target and address.
    pub(super) fn connections(&self) -> Vec<Vec<u64>> {
        self.0.iter().map(|of_target| of_target.borrow().connections.clone()).collect()
    }
}
