//! The real binary against real servers: what a user gets, from exit codes to pages.

mod audit;
mod bad_input;
mod capacity;
mod causes;
mod comparing;
mod duets;
mod early_end;
mod faults;
mod formats;
mod hostile;
mod interruptions;
mod lab;
mod loads;
mod mail;
mod mail_burst;
mod mail_server;
mod page;
mod peers;
mod registry;
mod resumption;
mod secrets;
mod stalls;
mod steadiness;
mod systems;
