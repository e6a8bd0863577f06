//! Random sequences of what a client can do, held against a model of lists.

use std::collections::VecDeque;
use std::time::Duration;

use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use shm_channel::{Answer, AnswerBuffer, Client, Error, Producer, Reply, Worker};

use super::{Folder, small};

const SLOTS: usize = 4;
const REQUEST_ROOM: usize = 128;
const ANSWER_ROOM: usize = 256;

#[derive(Debug, Clone)]
enum Step {
    /// A request of so many bytes, with room for so many; the answer is three times as long.
    Submit(usize, usize),
    /// The worker answers one.
    Turn,
    Take,
    /// Drops one of the answers that are held.
    Drop(prop::sample::Index),
    /// Gives up one of the requests that are under way.
    Abandon(prop::sample::Index),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0..600usize, 0..1200usize).prop_map(|(request, room)| Step::Submit(request, room)),
        4 => (0..100usize, 0..200usize).prop_map(|(request, room)| Step::Submit(request, room)),
        6 => Just(Step::Turn),
        6 => Just(Step::Take),
        4 => any::<prop::sample::Index>().prop_map(Step::Drop),
        1 => any::<prop::sample::Index>().prop_map(Step::Abandon),
    ]
}

#[derive(Debug, Clone)]
struct Exchange {
    ticket: u64,
    first: usize,
    run: usize,
    request: Vec<u8>,
    is_abandoned: bool,
}

impl Exchange {
    /// What comes of it; an error has the bytes that are needed.
    fn outcome(&self) -> Result<Vec<u8>, u64> {
        let answer = self.request.repeat(3);
        if answer.len() > self.run * ANSWER_ROOM { Err(answer.len() as u64) } else { Ok(answer) }
    }
}

/// What a client has to be like.
#[derive(Default)]
struct Model {
    free: [bool; SLOTS],
    latest: u64,
    submitted: VecDeque<Exchange>,
    answered: VecDeque<Exchange>,
    done: VecDeque<Exchange>,
}

impl Model {
    fn find(&self, run: usize) -> Option<usize> {
        (0..=SLOTS - run).find(|first| self.free[*first..first + run].iter().all(|free| *free))
    }

    fn submit(&mut self, request: &[u8], room: usize) -> Result<u64, &'static str> {
        let run = request.len().div_ceil(REQUEST_ROOM).max(room.div_ceil(ANSWER_ROOM)).max(1);
        if run > SLOTS {
            return Err("too large");
        }
        if self.find(run).is_none() {
            self.collect();
        }
        let first = self.find(run).ok_or("no slot")?;
        self.free[first..first + run].fill(false);
        self.latest += 1;
        let (ticket, request) = (self.latest, request.to_vec());
        self.submitted.push_back(Exchange { ticket, first, run, request, is_abandoned: false });
        Ok(ticket)
    }

    fn collect(&mut self) {
        for exchange in std::mem::take(&mut self.answered) {
            if exchange.is_abandoned || exchange.outcome().is_err() {
                self.give(&exchange);
            }
            if !exchange.is_abandoned {
                self.done.push_back(exchange);
            }
        }
    }

    fn take(&mut self) -> Option<Exchange> {
        if self.done.is_empty() {
            self.collect();
        }
        self.done.pop_front()
    }

    fn give(&mut self, exchange: &Exchange) {
        self.free[exchange.first..exchange.first + exchange.run].fill(true);
    }

    fn abandon(&mut self, at: prop::sample::Index) -> Option<u64> {
        let under_way: Vec<_> = self.submitted.iter_mut().chain(&mut self.answered).collect();
        let at = (!under_way.is_empty()).then(|| at.index(under_way.len()))?;
        let exchange = under_way.into_iter().nth(at)?;
        exchange.is_abandoned = true;
        Some(exchange.ticket)
    }
}

/// Client, worker and model, held against each other after each step.
struct Pair {
    client: Client,
    worker: Worker,
    model: Model,
    held: Vec<(Answer, Exchange)>,
    salt: u8,
}

impl Pair {
    fn step(&mut self, step: Step) {
        match step {
            Step::Submit(length, room) => self.submit(length, room),
            Step::Turn => {
                let turned = self.worker.turn(&mut thrice);
                let expected = self.model.submitted.pop_front();
                assert_eq!(turned, usize::from(expected.is_some()));
                self.model.answered.extend(expected);
            }
            Step::Take => self.take(),
            Step::Drop(at) if !self.held.is_empty() => {
                let (answer, exchange) = self.held.swap_remove(at.index(self.held.len()));
                drop(answer);
                self.model.give(&exchange);
            }
            Step::Drop(_) => {}
            Step::Abandon(at) => {
                if let Some(ticket) = self.model.abandon(at) {
                    self.client.abandon(ticket);
                }
            }
        }
        let free = self.model.free.iter().filter(|free| **free).count();
        assert_eq!(self.client.free_slots(), free);
        for (answer, exchange) in &self.held {
            assert_eq!(Ok(answer.to_vec()), exchange.outcome(), "an answer changed while held");
        }
    }

    fn submit(&mut self, length: usize, room: usize) {
        self.salt = self.salt.wrapping_mul(31).wrapping_add(7);
        let request: Vec<u8> = (0..length).map(|at| self.salt ^ at as u8).collect();
        let expected = self.model.submit(&request, room);
        let submitted = self.client.submit(&request, room).map_err(|error| match error {
            Error::TooLarge { .. } => "too large",
            Error::NoSlot { .. } => "no slot",
            other => panic!("{other}"),
        });
        assert_eq!(submitted, expected);
    }

    fn take(&mut self) {
        let expected = self.model.take();
        let taken = self.client.take().unwrap();
        assert_eq!(taken.as_ref().map(|it| it.ticket), expected.as_ref().map(|it| it.ticket));
        let Some((taken, expected)) = taken.zip(expected) else { return };
        match taken.outcome {
            Ok(answer) => self.held.push((answer, expected)),
            Err(Error::TooLarge { needed, .. }) => assert_eq!(expected.outcome(), Err(needed)),
            Err(other) => panic!("{other}"),
        }
    }
}

fn thrice(request: &[u8], buffer: &mut AnswerBuffer<'_>) -> Reply {
    buffer.put(&request.repeat(3))
}

/// Short form: 200 sequences; `PROOFLOAD_PROOF=1`: 5,000.
#[test]
fn a_client_is_like_its_model() {
    let is_long = std::env::var_os("PROOFLOAD_PROOF").is_some();
    let cases = if is_long { 5000 } else { 200 };
    let folder = Folder::new("model");
    let config = ProptestConfig {
        cases,
        failure_persistence: None,
        rng_seed: RngSeed::Fixed(7),
        ..ProptestConfig::default()
    };
    proptest!(config, |(steps in prop::collection::vec(step(), 1..120))| {
        let (_producer, mut workers) = Producer::bind(folder.socket(), small()).unwrap();
        let client = Client::connect(folder.socket(), Duration::ZERO).unwrap();
        let model = Model { free: [true; SLOTS], ..Model::default() };
        let worker = workers.remove(0);
        let mut pair = Pair { client, worker, model, held: Vec::new(), salt: 1 };
        steps.into_iter().for_each(|step| pair.step(step));
    });
}
