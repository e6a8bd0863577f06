//! The authority in a URL or a `Host`: a name or an address of a host, and after a colon a port.

use std::net::Ipv6Addr;

/// The host, one of IPv6 without its brackets, and the port if one is named.
///
/// Errors: `None` for anything else (RFC 3986 3.2.2 and 3.2.3): no host, one with characters that no name has, user
/// information, an invalid port
pub fn split(text: &str) -> Option<(&str, Option<u16>)> {
    let (host, rest) = match text.strip_prefix('[') {
        Some(inside) => {
            let (address, rest) = inside.split_once(']')?;
            address.parse::<Ipv6Addr>().ok()?;
            (address, rest)
        }
        None => {
            let (name, rest) = text.split_at(text.find(':').unwrap_or(text.len()));
            if !is_name(name) {
                return None;
            }
            (name, rest)
        }
    };
    match rest.strip_prefix(':') {
        None if rest.is_empty() => Some((host, None)),
        // As good as none, by the grammar.
        Some("") => Some((host, None)),
        Some(digits) if digits.bytes().all(|byte| byte.is_ascii_digit()) => {
            let port = digits.parse::<u16>().ok().filter(|port| *port > 0)?;
            Some((host, Some(port)))
        }
        _ => None,
    }
}

fn is_name(name: &str) -> bool {
    let is_sign = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=%".contains(&byte);
    let is_coded =
        |rest: &str| rest.len() >= 2 && rest.bytes().take(2).all(|byte| byte.is_ascii_hexdigit());
    !name.is_empty() && name.bytes().all(is_sign) && name.split('%').skip(1).all(is_coded)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_and_a_port_and_nothing_else() {
        for (text, parts) in [
            ("h", ("h", None)),
            ("Shop.example:8080", ("Shop.example", Some(8080))),
            ("127.0.0.1:65535", ("127.0.0.1", Some(65_535))),
            ("[::1]", ("::1", None)),
            ("[2001:db8::1]:80", ("2001:db8::1", Some(80))),
            ("my_service:1", ("my_service", Some(1))),
            ("a%2Db", ("a%2Db", None)),
            ("h:", ("h", None)),
        ] {
            assert_eq!(split(text), Some(parts), "{text}");
        }
        for text in [
            "",
            ":80",
            "h:99999",
            "h:0",
            "h:+80",
            "h:http",
            "h:80:80",
            "::1",
            "[::1",
            "[h]",
            "[::1]80",
            "user@h",
            "user:word@h",
            "h h",
            "h/",
            "h?",
            "h#",
            "h\\",
            "h\"",
            "<h>",
            "h%",
            "h%2",
            "h%zz",
            "ü",
            "[::1%25eth0]",
        ] {
            assert_eq!(split(text), None, "{text}");
        }
    }
}
