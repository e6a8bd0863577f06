//! Who sent the request of a line: an address and the name of a program, or a field of JSON.

use std::net::SocketAddr;

use serde_json::Value;

use super::line::{Reason, found, virtual_host};
use crate::stamp::iso;

/// Keys of an address in logs of JSON.
const ADDRESSES: [&str; 11] = [
    // Behind a proxy, the address of the connection is the proxy's.
    "x_forwarded_for",
    "http_x_forwarded_for",
    "remote_addr",
    "client_ip",
    "clientip",
    "remote_ip",
    "client_addr",
    "ClientHost",
    "downstream_remote_address",
    "remote",
    "ip",
];
/// Keys of a program's name.
const AGENTS: [&str; 5] =
    ["http_user_agent", "user_agent", "agent", "request_User-Agent", "useragent"];

/// Longer names are cut; in characters.
const LONGEST: usize = 500;

/// The client of a line: the value of this field, or address and program.
///
/// Errors: why the line names none
pub(super) fn of(line: &str, field: Option<&str>) -> Result<String, Reason> {
    let named = match (line.starts_with('{'), field) {
        (true, _) => json(line, field),
        (false, None) => text(line),
        (false, Some(_)) => return Err("it is no JSON, so it has no such field"),
    };
    let named = named.ok_or("it names no client")?;
    Ok(if named.len() > LONGEST { named.chars().take(LONGEST).collect() } else { named })
}

fn text(line: &str) -> Option<String> {
    let quoted = quoted(line);
    let quote = |place: usize| quoted.get(place).copied().unwrap_or_default();
    let before: Vec<&str> = line.split('"').next()?.split(' ').collect();
    // Load balancers of AWS begin with the time, or with it behind the kind of the connection.
    let is_balanced = before.iter().take(2).any(|word| iso(word).is_some());
    let address = || before.iter().copied().find(|word| word.parse::<SocketAddr>().is_ok());
    // Behind the request, Envoy says who forwarded it, combined logs say the page before it.
    let (address, agent) = match before.first()? {
        first if first.starts_with('[') => (quote(1), quote(2)),
        _ if is_balanced => (address()?, quote(1)),
        _ if virtual_host(line.split('"').next()?).is_some() => (*before.get(1)?, quote(2)),
        first => (*first, quote(2)),
    };
    named(address, agent)
}

fn json(line: &str, field: Option<&str>) -> Option<String> {
    let value: Value = serde_json::from_str(line).ok()?;
    let text = |key: &str| match found(&value, &[key])? {
        Value::String(text) if !text.is_empty() && text != "-" => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    };
    if let Some(field) = field {
        return text(field);
    }
    let first = |keys: &[&str]| keys.iter().find_map(|key| text(key));
    let header = || value.pointer("/request/headers/User-Agent/0")?.as_str().map(str::to_owned);
    named(&first(&ADDRESSES)?, &first(&AGENTS).or_else(header).unwrap_or_default())
}

fn named(address: &str, agent: &str) -> Option<String> {
    let address = address.split(',').next()?.trim();
    // The port differs from connection to connection.
    let address = match address.parse::<SocketAddr>() {
        Ok(place) => place.ip().to_string(),
        Err(_) => address.to_owned(),
    };
    (!address.is_empty() && address != "-").then(|| format!("{address}\n{agent}"))
}

/// The texts in quotes, in order.
fn quoted(line: &str) -> Vec<&str> {
    let (bytes, mut found, mut begin, mut at) = (line.as_bytes(), Vec::new(), None, 0);
    while at < bytes.len() {
        match (bytes[at], begin) {
            (b'"', None) => begin = Some(at + 1),
            (b'"', Some(from)) => {
                found.push(&line[from..at]);
                begin = None;
            }
            (b'\\', Some(_)) => at += 1,
            _ => {}
        }
        at += 1;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_every_format_name_their_client() {
        let combined = "192.0.2.7 - ann [10/Oct/2000:13:55:36 -0700] \"GET /\\\"a HTTP/1.0\" 200 2326 \"http://h/\" \"Mozilla (X; Y)\"";
        let common = "192.0.2.7 - - [10/Oct/2000:13:55:36 -0700] \"GET / HTTP/1.0\" 200 2326";
        let envoy = "[2016-04-15T20:17:00.310Z] \"POST /api HTTP/2\" 204 - 154 0 226 100 \"10.0.35.28, 10.0.0.1\" \"nsq2http\" \"cc21d9b0\" \"locations\" \"tcp://10.0.2.1:80\"";
        let alb = "http 2018-07-02T22:23:00.186641Z app/lb/50dc 192.168.131.39:2817 10.0.0.1:80 0.0 0.0 0.0 200 200 34 366 \"GET http://h:80/ HTTP/1.1\" \"curl/7.46.0\" - -";
        let six = "2015-05-13T23:39:43.945958Z lb [2001:db8::1]:2817 10.0.0.1:80 0 0 0 200 200 0 29 \"GET http://h:80/ HTTP/1.1\" \"curl/7.38.0\" - -";
        for (line, client) in [
            (combined, Some("192.0.2.7\nMozilla (X; Y)")),
            (common, Some("192.0.2.7\n")),
            (envoy, Some("10.0.35.28\nnsq2http")),
            (alb, Some("192.168.131.39\ncurl/7.46.0")),
            (six, Some("2001:db8::1\ncurl/7.38.0")),
            ("- - - [10/Oct/2000:13:55:36 -0700] \"GET / HTTP/1.0\" 200 1", None),
            ("{\"remote_addr\":\"192.0.2.7:80\",\"http_user_agent\":\"a\"}", Some("192.0.2.7\na")),
            (
                "example.org:80 192.0.2.7 - - [10/Oct/2000:13:55:36 -0700] \"GET / HTTP/1.0\" 200 1 \"-\" \"b\"",
                Some("192.0.2.7\nb"),
            ),
            (
                "{\"request\":{\"client_ip\":\"::1\",\"headers\":{\"User-Agent\":[\"curl\"]}}}",
                Some("::1\ncurl"),
            ),
            ("{\"client_ip\":\"\",\"ip\":\"::1\"}", Some("::1\n")),
            ("{\"user_agent\":\"a\"}", None),
            ("{\"a", None),
        ] {
            assert_eq!(of(line, None).ok().as_deref(), client, "{line}");
        }
    }

    #[test]
    fn a_field_names_it_alone() {
        let line =
            "{\"remote_addr\":\"192.0.2.7\",\"user\":17,\"sid\":\"x1\",\"none\":\"-\",\"list\":[]}";
        for (field, client) in [
            ("user", Some("17")),
            ("sid", Some("x1")),
            ("none", None),
            ("list", None),
            ("no", None),
        ] {
            assert_eq!(of(line, Some(field)).ok().as_deref(), client, "{field}");
        }
        let plain = "192.0.2.7 - - [x] \"GET / HTTP/1.0\" 200 1";
        assert_eq!(of(plain, Some("user")), Err("it is no JSON, so it has no such field"));
    }

    #[test]
    fn behind_a_proxy_the_client_is_who_it_asks_for() {
        let line = "{\"remote_addr\":\"10.0.0.1\",\"x_forwarded_for\":\"192.0.2.7, 10.0.0.2\"}";
        assert_eq!(of(line, None).as_deref(), Ok("192.0.2.7\n"));
        let alone = "{\"remote_addr\":\"10.0.0.1\",\"x_forwarded_for\":\"-\"}";
        assert_eq!(of(alone, None).as_deref(), Ok("10.0.0.1\n"));
    }

    #[test]
    fn a_long_name_is_cut() {
        let line = format!("{{\"user\":\"{}\"}}", "é".repeat(10_000));
        assert_eq!(of(&line, Some("user")), Ok("é".repeat(LONGEST)));
    }
}
