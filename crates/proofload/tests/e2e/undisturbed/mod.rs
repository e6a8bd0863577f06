//! Tests that compare times: no other test of this suite runs meanwhile (`Lab::undisturbed`).
//!
//! They stand together because tests run in the order of their names: others wait for these once, not for each of them.

mod causes;
mod comparing;
mod coupling;
mod duets;
mod stalls;
