//! From the list of protocols to one driver that can be any of them.

/// Makes `protocol_names` and `AnyDriver` from lines `"name" => Variant(driver, probe)`.
macro_rules! drivers {
    ($($name:literal => $variant:ident($driver:path, $probe:path)),+ $(,)?) => {
        mod any {
            use engine::clock::Clock;
            use engine::driver::{Call, Compile, Connected, Driver, Exchange};
            use engine::transport::{Endpoint, Stream};
            use plan::diagnostic::Diagnostic;
            use record::{FailureKind, Outcome};

            use super::*;

            /// The name of each protocol: the key of its table in the experiment file.
            pub fn protocol_names() -> &'static [&'static str] {
                &[$($name),+]
            }

            /// A driver of any protocol. What one of them compiled or connected is used with it alone.
            #[derive(Debug, Clone, Copy)]
            pub enum AnyDriver { $(#[doc = $name] $variant($driver)),+ }

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
                /// The driver of the protocol with this name.
                pub fn named(name: &str) -> Option<Self> {
                    match name {
                        $($name => Some(Self::$variant(<$driver>::default())),)+
                        _ => None,
                    }
                }

                /// Performs one operation on this stream and shows all of it.
                pub async fn probe<C: Clock>(
                    &self,
                    operation: &AnyOperation,
                    stream: &mut AnyStream,
                    call: &Call,
                    exchange: &mut Exchange<C>,
                ) -> crate::probe::Probe {
                    match (operation, stream) {
                        $((AnyOperation::$variant(operation), AnyStream::$variant(stream)) => {
                            $probe(operation, stream, call, exchange).await
                        })+
                        #[expect(unreachable_patterns, reason = "reached with two protocols")]
                        _ => unreachable!("an operation and a stream of two protocols"),
                    }
                }
            }

            impl Driver for AnyDriver {
                type Operation = AnyOperation;
                type Connection = AnyConnection;
                type Stream = AnyStream;

                fn span_names(&self) -> &'static [&'static str] {
                    match self { $(Self::$variant(driver) => driver.span_names()),+ }
                }

                fn compile(&self, compile: Compile<'_>) -> Result<AnyOperation, Vec<Diagnostic>> {
                    match self {
                        $(Self::$variant(driver) => {
                            driver.compile(compile).map(AnyOperation::$variant)
                        })+
                    }
                }

                async fn connect<C: Clock>(
                    &self,
                    endpoint: &Endpoint,
                    stream: Stream,
                    exchange: &mut Exchange<C>,
                ) -> Result<Connected<AnyConnection>, (FailureKind, String)> {
                    match self {
                        $(Self::$variant(driver) => {
                            let connected = driver.connect(endpoint, stream, exchange).await?;
                            Ok(Connected {
                                connection: AnyConnection::$variant(connected.connection),
                                background: connected.background,
                            })
                        })+
                    }
                }

                fn open_stream(&self, connection: &mut AnyConnection) -> Option<AnyStream> {
                    match (self, connection) {
                        $((Self::$variant(driver), AnyConnection::$variant(connection)) => {
                            driver.open_stream(connection).map(AnyStream::$variant)
                        })+
                        #[expect(unreachable_patterns, reason = "reached with two protocols")]
                        _ => unreachable!("a connection of another protocol"),
                    }
                }

                fn encode(&self, operation: &AnyOperation, stream: &mut AnyStream, call: &Call) {
                    match (self, operation, stream) {
                        $((
                            Self::$variant(driver),
                            AnyOperation::$variant(operation),
                            AnyStream::$variant(stream),
                        ) => driver.encode(operation, stream, call),)+
                        #[expect(unreachable_patterns, reason = "reached with two protocols")]
                        _ => unreachable!("an operation or a stream of another protocol"),
                    }
                }

                async fn perform<C: Clock>(
                    &self,
                    operation: &AnyOperation,
                    stream: &mut AnyStream,
                    exchange: &mut Exchange<C>,
                ) -> Outcome {
                    match (self, operation, stream) {
                        $((
                            Self::$variant(driver),
                            AnyOperation::$variant(operation),
                            AnyStream::$variant(stream),
                        ) => driver.perform(operation, stream, exchange).await,)+
                        #[expect(unreachable_patterns, reason = "reached with two protocols")]
                        _ => unreachable!("an operation or a stream of another protocol"),
                    }
                }

                async fn idle(&self, stream: &mut AnyStream) {
                    match (self, stream) {
                        $((Self::$variant(driver), AnyStream::$variant(stream)) => {
                            driver.idle(stream).await;
                        })+
                        #[expect(unreachable_patterns, reason = "reached with two protocols")]
                        _ => unreachable!("a stream of another protocol"),
                    }
                }
            }
        }

        pub use any::{AnyConnection, AnyDriver, AnyOperation, AnyStream, protocol_names};
    };
}

pub(crate) use drivers;
