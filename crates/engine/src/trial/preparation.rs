//! `[setup]` and `[teardown]`: operations that are performed one after the other, before and after the load, and not
//! measured.

use std::fmt;
use std::pin::pin;
use std::rc::Rc;

use plan::journey::{Memory, Preparation};
use plan::schedule::nanos;
use record::{FailureKind, Outcome};
use tokio::runtime::{Builder, LocalOptions};

use super::setup::Setup;
use crate::clock::{Clock, Real};
use crate::connect::Route;
use crate::driver::{Call, Driver, Exchange};
use crate::transport::{Endpoint, Kernel, Network};
use crate::worker::{First, PreparedOperation, either};

/// A step that failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailedStep {
    /// `setup` or `teardown`.
    pub table: &'static str,
    /// Name of the operation.
    pub operation: String,
    /// Number of the row, from 1, where there are rows.
    pub row: Option<usize>,
    /// Why.
    pub kind: FailureKind,
    /// What was seen.
    pub detail: String,
}

impl fmt::Display for FailedStep {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { table, operation, row, kind, detail } = self;
        write!(formatter, "[{table}] failed at `{operation}`")?;
        if let Some(row) = row {
            write!(formatter, ", row {row}")?;
        }
        write!(formatter, ": {}", kind.name())?;
        if detail.is_empty() { Ok(()) } else { write!(formatter, " ({detail})") }
    }
}

/// The mix as compiled, and where it goes.
pub(super) struct CompiledMix<'a, D: Driver> {
    pub(super) operations: &'a [PreparedOperation<D::Operation>],
    pub(super) endpoints: &'a [Endpoint],
}

// Not derived: that would ask for a driver that can be copied.
impl<D: Driver> Clone for CompiledMix<'_, D> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<D: Driver> Copy for CompiledMix<'_, D> {}

/// Performs a preparation against real servers, on this thread, and not before an instant.
///
/// Errors: the first step that failed; the rest is not performed
pub(super) fn perform<D: Driver>(
    setup: &Setup<'_, D>,
    (table, preparation): (&'static str, &Preparation),
    mix: CompiledMix<'_, D>,
    not_before: u64,
) -> std::io::Result<Result<(), FailedStep>> {
    let runtime = Builder::new_current_thread().enable_all().build_local(LocalOptions::default())?;
    runtime.block_on(async {
        // It needs the runtime for its timer.
        let clock = Real::start()?;
        clock.sleep_until(not_before).await;
        Ok(all(setup, (table, preparation), mix, &clock, &Kernel).await)
    })
}

/// The same on any clock and network.
pub(super) async fn all<C: Clock, N: Network, D: Driver>(
    setup: &Setup<'_, D>,
    (table, preparation): (&'static str, &Preparation),
    mix: CompiledMix<'_, D>,
    clock: &C,
    network: &N,
) -> Result<(), FailedStep> {
    let rows = preparation.rows.as_ref().map(|rows| rows.len());
    // Shares deal the rows; without rows, the first share performs it for all.
    let own = |row: &usize| setup.share.dealt(*row as u64).is_some();
    for row in (0..rows.unwrap_or(1)).filter(own) {
        let memory = Rc::default();
        for &operation in &preparation.steps {
            let failed = |(kind, detail)| FailedStep {
                table,
                operation: setup.arm.operations[operation].name.clone(),
                row: rows.map(|_| row + 1),
                kind,
                detail,
            };
            one(setup, mix, (clock, network), (operation, row), &memory).await.map_err(failed)?;
        }
    }
    Ok(())
}

/// One operation on a connection of its own, within the time-out.
async fn one<C: Clock, N: Network, D: Driver>(
    setup: &Setup<'_, D>,
    mix: CompiledMix<'_, D>,
    (clock, network): (&C, &N),
    (operation, row): (usize, usize),
    memory: &Rc<Memory>,
) -> Result<(), (FailureKind, String)> {
    let mut exchange = Exchange::new(clock.clone());
    exchange.parts_after(setup.driver.span_names().len());
    exchange.clear(mix.operations[operation].items);
    let call = Call {
        index: row as u64,
        operation,
        sequence: row as u64,
        row,
        trial: setup.trial.index,
        seed: setup.trial.seed,
        now: clock.now(),
        trace: None,
        memory: Some(Rc::clone(memory)),
    };
    let deadline = clock.now().saturating_add(nanos(setup.arm.load.timeout));
    let ended = {
        let conversing = pin!(converse(setup, mix, network, &call, &mut exchange));
        either(conversing, clock.sleep_until(deadline)).await
    };
    match ended {
        First::Left(Ok(Outcome::Succeeded)) => Ok(()),
        First::Left(Ok(Outcome::Failed(kind))) => {
            Err((kind, exchange.detail.take().unwrap_or_default()))
        }
        First::Left(Err(failed)) => Err(failed),
        First::Left(Ok(Outcome::Abandoned)) | First::Right(()) => {
            Err((FailureKind::Timeout, String::new()))
        }
    }
}

async fn converse<C: Clock, N: Network, D: Driver>(
    setup: &Setup<'_, D>,
    mix: CompiledMix<'_, D>,
    network: &N,
    call: &Call,
    exchange: &mut Exchange<C>,
) -> Result<Outcome, (FailureKind, String)> {
    let (driver, prepared) = (&setup.driver, &mix.operations[call.operation]);
    let (driver, operation) = (&**driver, &prepared.operation);
    let target = prepared.target.index(call.row);
    let route = Route { driver, operation, endpoints: mix.endpoints, target, network };
    let mut opened = route.begin(call, exchange).await?;
    driver.encode(operation, &mut opened.stream, call);
    exchange.started_at = exchange.now();
    loop {
        let outcome = driver.perform(operation, &mut opened.stream, exchange).await;
        let Some((next, state)) = route.go_on(exchange).await? else { return Ok(outcome) };
        opened = next;
        driver.resume(operation, &mut opened.stream, call, state);
    }
}
