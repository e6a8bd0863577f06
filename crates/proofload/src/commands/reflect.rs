//! `proofload reflect`: the descriptors of a gRPC server, for `protoset` in an experiment.

use std::io::{IsTerminal, Write, stdout};
use std::time::Duration;

use drivers::grpc::reflection::descriptors;
use engine::clock::Real;
use engine::transport::{Endpoint, Kernel};
use plan::target::Target;
use tokio::runtime::{Builder, LocalOptions};

use crate::Exit;
use crate::cli::ReflectArgs;
use crate::output;
use crate::problem::Problem;

/// Time limit for all answers.
const WITHIN: Duration = Duration::from_secs(30);

/// Asks the server and writes a `FileDescriptorSet` to stdout.
///
/// Errors: the address cannot be used, the server does not describe its services, or stdout is a terminal
pub fn reflect(args: &ReflectArgs) -> Result<Exit, Problem> {
    if stdout().is_terminal() {
        let problem = Problem::usage("descriptors are not text");
        return Err(problem.hint("write them to a file: proofload reflect URL > shop.pb"));
    }
    if !args.url.starts_with("http://") && !args.url.starts_with("https://") {
        let problem = Problem::usage(format!("{} is no address of a gRPC server", args.url));
        return Err(problem.hint("an address begins with http:// or https://"));
    }
    let target = Target {
        url: args.url.clone(),
        connect_to: args.connect_to.clone(),
        cacert: args.cacert.clone(),
        insecure: args.insecure,
        alpn: Some("h2"),
        ..Target::default()
    };
    let endpoint = Endpoint::resolve(&target).map_err(|error| Problem::target(&error))?;
    let environment = |error: &dyn std::fmt::Display| Problem::environment(error.to_string());
    let runtime = Builder::new_current_thread().enable_io().build_local(LocalOptions::default());
    let runtime = runtime.map_err(|error| environment(&error))?;
    let found = runtime.block_on(async {
        let clock = Real::start().map_err(|error| error.to_string())?;
        descriptors(&endpoint, &Kernel, &clock, WITHIN).await
    });
    let during = format!("asking {endpoint} for its descriptors");
    let set = found.map_err(|what| Problem::environment(what).during(during))?;
    let mut out = stdout().lock();
    output::written(out.write_all(&set).and_then(|()| out.flush()))?;
    Ok(Exit::Passed)
}
