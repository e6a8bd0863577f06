//! What a protocol declares of itself: the schemes of its addresses, the files that its tables name, how it travels.
//!
//! Not here: the meaning of its tables, which its driver compiles.

/// The properties of a protocol that a plan needs.
#[derive(Debug, Clone, Copy)]
pub struct ProtocolTraits {
    /// The schemes of its addresses, the usual one first; at least one.
    pub schemes: &'static [Scheme],
    /// Keys of its tables that name files.
    pub files: &'static [FileKey],
    /// The protocol that TLS must negotiate (ALPN), if there is one.
    pub alpn: Option<&'static str>,
    /// Whether a connection carries several operations at the same time.
    pub multiplexes: bool,
    /// Whether requests of this protocol can carry a trace id.
    pub carries_traces: bool,
    /// The key under which a list stands that is written in the place of its table.
    pub short_form: Option<&'static str>,
}

impl Default for ProtocolTraits {
    /// A protocol of which nothing is known but that it is spoken at addresses of the web.
    fn default() -> Self {
        Self {
            schemes: &WEB,
            files: &[],
            alpn: None,
            multiplexes: false,
            carries_traces: false,
            short_form: None,
        }
    }
}

impl ProtocolTraits {
    /// The scheme of an address where none is written.
    pub fn usual_scheme(&self) -> &'static str {
        self.schemes.first().unwrap_or(&WEB[0]).name
    }

    /// Whether its addresses may be those of web sites.
    pub fn is_of_the_web(&self) -> bool {
        self.schemes.iter().any(|scheme| is_web(scheme.name))
    }
}

/// A scheme of addresses: what stands before `://`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Scheme {
    /// In small letters, without `://`.
    pub name: &'static str,
    /// What stands after `://`.
    pub place: Place,
    /// Where user and password are written, which never stand in an address.
    pub credentials: &'static str,
}

/// What an address names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// A host.
    Host {
        /// Where it listens by default.
        port: u16,
        /// When TLS begins.
        tls: TlsUse,
    },
    /// A channel over shared memory, by the path of its Unix socket.
    Channel,
}

/// When TLS begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TlsUse {
    /// Never.
    Never,
    /// Before the first byte of the protocol.
    AtOnce,
    /// When the protocol switches to it, if it does.
    Later,
}

/// Addresses of web sites.
pub const WEB: [Scheme; 2] = [
    Scheme::at("http", 80, TlsUse::Never, HEADER),
    Scheme::at("https", 443, TlsUse::AtOnce, HEADER),
];
const HEADER: &str = "send a header such as authorization instead";

impl Scheme {
    /// A scheme whose addresses name a host, with its default port.
    pub const fn at(name: &'static str, port: u16, tls: TlsUse, credentials: &'static str) -> Self {
        Self { name, place: Place::Host { port, tls }, credentials }
    }

    /// The one of these with which this address begins.
    pub fn of<'s>(address: &str, schemes: impl IntoIterator<Item = &'s Self>) -> Option<&'s Self> {
        let (name, _) = address.split_once("://")?;
        schemes.into_iter().find(|scheme| scheme.name.eq_ignore_ascii_case(name))
    }
}

/// Whether this is a scheme of web sites, whose addresses have an origin (RFC 6454).
pub fn is_web(scheme: &str) -> bool {
    WEB.iter().any(|web| web.name == scheme)
}

/// A key of a protocol's table that names a file, or a list of files. Their content takes the place of their names.
#[derive(Debug, Clone, Copy)]
pub struct FileKey {
    /// The key.
    pub key: &'static str,
    /// The key that the content comes under.
    pub content: &'static str,
    /// What the content becomes.
    pub form: FileForm,
}

/// What the content of a file becomes.
#[derive(Debug, Clone, Copy)]
pub enum FileForm {
    /// Text, word for word: its braces are no placeholders.
    Text,
    /// Base64.
    Base64,
    /// A list of `{ name, content }`: the file, and those that it names, and those that these name, each once. Names
    /// are relative to the folder of the file, or to a folder above it. One that cannot be found is left out.
    Sources(fn(content: &str) -> Vec<String>),
    /// The value is a table of parts, or lists of parts; each may have a `file`, whose base64 comes under `content` and
    /// whose own name under `name`, if it has none.
    Parts,
}
