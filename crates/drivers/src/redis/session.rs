//! What comes before the first command: the version of the protocol, who we are, and the database.

use engine::clock::Clock;
use engine::driver::Exchange;

use super::codec::command::command;
use super::failure::Failure;
use super::stream::CommandStream;

/// How a connection is opened. Operations that want it alike share their connections.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Session {
    /// Who we are.
    pub auth: Option<Auth>,
    /// The database.
    pub db: u32,
}

/// A user and a password.
#[derive(Clone, PartialEq, Eq)]
pub struct Auth {
    /// The user; none for the default one.
    pub user: Option<String>,
    /// The password.
    pub password: String,
}

impl std::fmt::Debug for Session {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let has_auth = self.auth.is_some();
        formatter.debug_struct("Session").field("auth", &has_auth).field("db", &self.db).finish()
    }
}

impl Session {
    /// Opens a session on a fresh connection. A server that does not know RESP3 is spoken to in RESP2.
    ///
    /// Errors: the server's refusal, or how the connection has ended
    pub async fn open<C: Clock>(
        &self,
        stream: &mut CommandStream,
        exchange: &mut Exchange<C>,
    ) -> Result<(), Failure> {
        let auth = self.auth.as_ref();
        let user = auth.map(|auth| auth.user.as_deref().unwrap_or("default"));
        let pair = auth.zip(user).map(|(auth, user)| [user.as_bytes(), auth.password.as_bytes()]);
        let hello = match pair {
            Some([user, password]) => command(&[b"HELLO", b"3", b"AUTH", user, password]),
            None => command(&[b"HELLO", b"3"]),
        };
        let shown = user.map_or("HELLO 3".to_owned(), |user| format!("HELLO 3 AUTH {user} …"));
        match self.ask(hello, &shown, stream, exchange).await {
            Err(failure) if is_unknown(&failure) => {
                if let Some(auth) = auth {
                    let password = auth.password.as_bytes();
                    let words = auth.user.as_deref().map(|user| user.as_bytes());
                    let words: Vec<&[u8]> =
                        [Some(&b"AUTH"[..]), words, Some(password)].into_iter().flatten().collect();
                    self.ask(command(&words), "AUTH …", stream, exchange).await?;
                }
            }
            other => other?,
        }
        if self.db > 0 {
            let db = self.db.to_string();
            let select = command(&[b"SELECT", db.as_bytes()]);
            self.ask(select, &format!("SELECT {db}"), stream, exchange).await?;
        }
        Ok(())
    }

    async fn ask<C: Clock>(
        &self,
        command: Vec<u8>,
        shown: &str,
        stream: &mut CommandStream,
        exchange: &mut Exchange<C>,
    ) -> Result<(), Failure> {
        exchange.note_dialogue(true, shown.as_bytes());
        stream.command = command;
        let asked = stream.exchange_alone(exchange).await;
        stream.command.clear();
        asked.map_err(|failure| {
            let verb = shown.split(' ').next().unwrap_or_default();
            let detail = format!("{verb}: {}", self.without_password(failure.detail));
            Failure { detail, ..failure }
        })
    }

    /// A server that does not know a command repeats its arguments.
    fn without_password(&self, text: String) -> String {
        match &self.auth {
            Some(auth) if !auth.password.is_empty() => text.replace(&auth.password, "…"),
            _ => text,
        }
    }
}

/// Whether the server does not know `HELLO`, or not this version of the protocol.
fn is_unknown(failure: &Failure) -> bool {
    let status = failure.status.to_string();
    let names_command = failure.detail.to_ascii_lowercase().contains("unknown command");
    status == "NOPROTO" || (status == "ERR" && names_command)
}
