//! From the list of protocols to one driver that speaks those of an arm.

use engine::driver::Driver;
use plan::protocol::ProtocolTraits;

/// Makes `protocol_names` and `AnyDriver` from lines `"name" => Variant(driver, probe)`.
macro_rules! drivers {
    ($($name:literal => $variant:ident($driver:path, $probe:path)),+ $(,)?) => {
        mod any {
            use std::any::Any;

            use engine::clock::Clock;
            use engine::driver::{Call, CompileContext, NewConnection, Driver, Exchange};
            use engine::transport::{Endpoint, Stream};
            use plan::diagnostic::Diagnostic;
            use plan::document::Table;
            use plan::operation::Part;
            use plan::protocol::ProtocolTraits;
            use record::{FailureKind, Outcome};

            use super::*;

            /// The name of each protocol: the key of its table in the experiment file.
            pub fn protocol_names() -> &'static [&'static str] {
                &[$($name),+]
            }

            /// Names of the spans that this protocol stamps after those of connecting, for an operation with this
            /// table.
            pub fn span_names(protocol: &str, table: &Table) -> &'static [&'static str] {
                match protocol {
                    $($name => <$driver>::spans(table),)+
                    _ => &[],
                }
            }

            /// How this protocol is spoken.
            pub fn protocol_traits(protocol: &str) -> ProtocolTraits {
                match protocol {
                    $($name => crate::list::traits(&<$driver>::default()),)+
                    _ => ProtocolTraits::default(),
                }
            }

            /// Parts of the target that an operation of this protocol reads the times of.
            pub fn parts(protocol: &str, table: &Table) -> Vec<Part> {
                match protocol {
                    $($name => <$driver>::default().parts(table),)+
                    _ => Vec::new(),
                }
            }

            /// Place of each protocol in the list.
            #[derive(Debug, Clone, Copy)]
            enum Place { $($variant),+ }

            const PROTOCOLS: usize = [$(Place::$variant),+].len();

            /// A driver of several protocols: each operation, and the connection made for it, is handled by its own.
            #[derive(Debug, Clone)]
            pub struct AnyDriver {
                spans: Vec<&'static str>,
                /// By protocol: how many spans stand before its own.
                before: [usize; PROTOCOLS],
            }

            /// An operation of any protocol.
            #[derive(Debug)]
            pub enum AnyOperation { $(#[doc = $name] $variant(<$driver as Driver>::Operation)),+ }

            /// A connection of any protocol.
            #[derive(Debug)]
            pub enum AnyConnection { $(#[doc = $name] $variant(<$driver as Driver>::Connection)),+ }

            /// A stream of any protocol.
            #[derive(Debug)]
            pub enum AnyStream { $(#[doc = $name] $variant(<$driver as Driver>::Stream)),+ }

            impl AnyDriver {
                /// The driver of operations with these protocols and tables.
                ///
                /// Errors: the first name that is in no line of the list
                pub fn of<'n>(
                    operations: impl IntoIterator<Item = (&'n str, &'n Table)>,
                ) -> Result<Self, &'n str> {
                    // Of two operations of one protocol, the spans of one begin with those of the other.
                    let mut longest: [&[&str]; PROTOCOLS] = [&[]; PROTOCOLS];
                    for (name, table) in operations {
                        let (place, own) = match name {
                            $($name => (Place::$variant as usize, <$driver>::spans(table)),)+
                            unknown => return Err(unknown),
                        };
                        if own.len() > longest[place].len() {
                            longest[place] = own;
                        }
                    }
                    let (spans, before) = crate::list::places(longest);
                    Ok(Self { spans, before })
                }

                /// Performs the encoded operation on this stream and shows all of it.
                pub async fn probe<C: Clock>(
                    &self,
                    operation: &AnyOperation,
                    stream: &mut AnyStream,
                    exchange: &mut Exchange<C>,
                ) -> crate::probe::Probe {
                    match (operation, stream) {
                        $((AnyOperation::$variant(operation), AnyStream::$variant(stream)) => {
                            exchange.own_spans_after(self.before[Place::$variant as usize]);
                            $probe(operation, stream, exchange).await
                        })+
                        _ => unreachable!("an operation and a stream of two protocols"),
                    }
                }
            }

            impl Driver for AnyDriver {
                type Operation = AnyOperation;
                type Connection = AnyConnection;
                type Stream = AnyStream;

                fn span_names(&self) -> &[&'static str] {
                    &self.spans
                }

                fn compile(&self, compile: CompileContext<'_>) -> Result<AnyOperation, Vec<Diagnostic>> {
                    match compile.operation.protocol.as_str() {
                        $($name => <$driver>::default().compile(compile).map(AnyOperation::$variant),)+
                        unknown => {
                            let what = format!("no protocol is called `{unknown}`");
                            let span = compile.operation.table.span;
                            Err(vec![Diagnostic::new(span, what, "in this operation")])
                        }
                    }
                }

                fn note(&self, operation: &AnyOperation) -> Option<String> {
                    match operation {
                        $(AnyOperation::$variant(operation) => <$driver>::default().note(operation),)+
                    }
                }

                async fn connect<C: Clock>(
                    &self,
                    operation: &AnyOperation,
                    endpoint: &Endpoint,
                    stream: Stream,
                    exchange: &mut Exchange<C>,
                ) -> Result<NewConnection<AnyConnection>, (FailureKind, String)> {
                    match operation {
                        $(AnyOperation::$variant(operation) => {
                            exchange.own_spans_after(self.before[Place::$variant as usize]);
                            let driver = <$driver>::default();
                            let connected =
                                driver.connect(operation, endpoint, stream, exchange).await?;
                            Ok(NewConnection {
                                connection: AnyConnection::$variant(connected.connection),
                                background: connected.background,
                            })
                        })+
                    }
                }

                fn open_stream(&self, connection: &mut AnyConnection) -> Option<AnyStream> {
                    match connection {
                        $(AnyConnection::$variant(connection) => {
                            <$driver>::default().open_stream(connection).map(AnyStream::$variant)
                        })+
                    }
                }

                fn outlives_streams(&self, connection: &mut AnyConnection) -> bool {
                    match connection {
                        $(AnyConnection::$variant(connection) => {
                            <$driver>::default().outlives_streams(connection)
                        })+
                    }
                }

                fn shares_connection(&self, one: &AnyOperation, other: &AnyOperation) -> bool {
                    match (one, other) {
                        $((AnyOperation::$variant(one), AnyOperation::$variant(other)) => {
                            <$driver>::default().shares_connection(one, other)
                        })+
                        _ => false,
                    }
                }

                fn encode(&self, operation: &AnyOperation, stream: &mut AnyStream, call: &Call) {
                    match (operation, stream) {
                        $((AnyOperation::$variant(operation), AnyStream::$variant(stream)) => {
                            <$driver>::default().encode(operation, stream, call);
                        })+
                        _ => unreachable!("an operation and a stream of two protocols"),
                    }
                }

                fn origin(
                    &self,
                    operation: &AnyOperation,
                    call: &Call,
                    own: &Endpoint,
                ) -> Option<String> {
                    match operation {
                        $(AnyOperation::$variant(operation) => {
                            <$driver>::default().origin(operation, call, own)
                        })+
                    }
                }

                fn resume(
                    &self,
                    operation: &AnyOperation,
                    stream: &mut AnyStream,
                    call: &Call,
                    state: Box<dyn Any>,
                ) {
                    match (operation, stream) {
                        $((AnyOperation::$variant(operation), AnyStream::$variant(stream)) => {
                            <$driver>::default().resume(operation, stream, call, state);
                        })+
                        _ => unreachable!("an operation and a stream of two protocols"),
                    }
                }

                async fn perform<C: Clock>(
                    &self,
                    operation: &AnyOperation,
                    stream: &mut AnyStream,
                    exchange: &mut Exchange<C>,
                ) -> Outcome {
                    match (operation, stream) {
                        $((AnyOperation::$variant(operation), AnyStream::$variant(stream)) => {
                            exchange.own_spans_after(self.before[Place::$variant as usize]);
                            <$driver>::default().perform(operation, stream, exchange).await
                        })+
                        _ => unreachable!("an operation and a stream of two protocols"),
                    }
                }

                async fn idle(&self, stream: &mut AnyStream) {
                    match stream {
                        $(AnyStream::$variant(stream) => <$driver>::default().idle(stream).await,)+
                    }
                }
            }
        }

        pub use any::{
            AnyConnection, AnyDriver, AnyOperation, AnyStream, parts, protocol_names, protocol_traits,
            span_names,
        };
    };
}

pub(crate) use drivers;

/// The spans of several protocols in one list, and how many stand before those of each.
pub(crate) fn places<const N: usize>(own: [&[&'static str]; N]) -> (Vec<&'static str>, [usize; N]) {
    let mut spans = Vec::new();
    let mut before = [0; N];
    // Those that begin another's come after it.
    let mut order: Vec<usize> = (0..N).collect();
    order.sort_by_key(|&protocol| {
        let begins =
            |other: &[&str]| other.len() > own[protocol].len() && other.starts_with(own[protocol]);
        own.iter().any(|other| begins(other))
    });
    for protocol in order {
        before[protocol] = place(&mut spans, own[protocol]);
    }
    (spans, before)
}

/// The place of a protocol's spans among those of others, which it shares with one that stamps the same.
fn place(spans: &mut Vec<&'static str>, own: &[&'static str]) -> usize {
    let known = spans.windows(own.len().max(1)).position(|some| some == own);
    known.unwrap_or_else(|| {
        spans.extend_from_slice(own);
        spans.len() - own.len()
    })
}

/// What the plan needs to know of this driver's protocol.
pub(crate) fn traits(driver: &impl Driver) -> ProtocolTraits {
    ProtocolTraits {
        schemes: driver.schemes(),
        files: driver.files(),
        alpn: driver.alpn(),
        multiplexes: driver.multiplexes(),
        carries_traces: driver.carries_traces(),
        short_form: driver.short_form(),
    }
}
