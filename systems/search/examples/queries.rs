//! Writes queries for staffing rows as CSV to standard output, each with the row that it finds first.
//!
//! `cargo run -p search --example queries -- [COUNT [ROWS [SEED]]] > FILE`: COUNT queries, all different, for the first
//! ROWS rows of the seed. `experiments/data/staffing-queries.csv` was written without arguments.

use std::error::Error;
use std::io::stdout;

use search::corpus::{SEED, queries};

fn main() -> Result<(), Box<dyn Error>> {
    let given = std::env::args().skip(1).map(|given| given.parse::<u64>());
    let given = given.collect::<Result<Vec<_>, _>>()?;
    let argument = |place: usize, otherwise| given.get(place).copied().unwrap_or(otherwise);
    let (count, rows, seed) = (argument(0, 2_000), argument(1, 200), argument(2, SEED));
    let mut table = csv::Writer::from_writer(stdout().lock());
    queries(seed, count, rows).try_for_each(|planted| table.serialize(planted))?;
    table.flush()?;
    Ok(())
}
