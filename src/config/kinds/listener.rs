//! Where a listener listens: an address, the name of a host, a port alone, or off.

use std::net::{IpAddr, Ipv4Addr, SocketAddr, ToSocketAddrs as _};

use serde::Deserialize;
use toml::Value;

use super::{Kind, expected};

/// `host:port`, or off. A name is resolved when the configuration is read, and written back as the address it gave.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "Value")]
pub(in crate::config) struct Listener(pub(in crate::config) Option<SocketAddr>);

impl TryFrom<Value> for Listener {
    type Error = String;

    fn try_from(value: Value) -> Result<Self, String> {
        match &value {
            Value::String(text) if matches!(text.as_str(), "" | "off") => Ok(Self(None)),
            Value::String(text) => address(text).map(|address| Self(Some(address))),
            other => Err(expected("an address such as \"127.0.0.1:8080\", or \"off\"", other)),
        }
    }
}

impl From<Listener> for Value {
    fn from(listener: Listener) -> Value {
        Value::String(listener.0.map_or_else(|| "off".to_owned(), |addr| addr.to_string()))
    }
}

impl Kind for Listener {
    const NAME: &'static str = "address or \"off\"";
}

fn address(text: &str) -> Result<SocketAddr, String> {
    if let Ok(address) = text.parse() {
        return Ok(address);
    }
    let wrong = || {
        format!(
            "`{text}` is not an address; write host:port such as \"127.0.0.1:8080\", \"localhost:8080\", \
             \":8080\" or \"[::1]:8080\", or \"off\""
        )
    };
    let (host, port) = text.rsplit_once(':').ok_or_else(wrong)?;
    let port: u16 = port.parse().map_err(|_| wrong())?;
    match host {
        "" => Ok((Ipv4Addr::UNSPECIFIED, port).into()),
        // Every machine means the same by it, so nobody has to be asked.
        "localhost" => Ok((Ipv4Addr::LOCALHOST, port).into()),
        _ if is_host_name(host) => resolve(host, port).map_err(|why| format!("`{text}`: {why}")),
        _ => Err(wrong()),
    }
}

/// Letters, digits, dashes and dots, and not all of it digits: `127.0.0` and `300.1.1.1` are mistyped addresses.
fn is_host_name(host: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_');
    host.chars().all(plain) && host.contains(|c: char| c.is_ascii_alphabetic())
}

/// A listener has one address. Of several the first of IPv4 is taken, which senders that know the name reach in any case.
fn resolve(host: &str, port: u16) -> Result<SocketAddr, String> {
    let found: Vec<SocketAddr> = match (host, port).to_socket_addrs() {
        Ok(found) => found.collect(),
        Err(error) => return Err(format!("the name `{host}` has no address ({error})")),
    };
    choose(&found).ok_or_else(|| format!("the name `{host}` has no address"))
}

fn choose(found: &[SocketAddr]) -> Option<SocketAddr> {
    let is_v4 = |address: &&SocketAddr| matches!(address.ip(), IpAddr::V4(_));
    found.iter().find(is_v4).or_else(|| found.first()).copied()
}

#[cfg(test)]
mod tests {
    use super::super::canonical;
    use super::*;

    #[test]
    fn listeners_are_addresses_or_off() {
        for (text, kept) in [
            ("127.0.0.1:80", "127.0.0.1:80"),
            ("[::1]:80", "[::1]:80"),
            ("localhost:80", "127.0.0.1:80"),
            (":80", "0.0.0.0:80"),
            ("", "off"),
            ("off", "off"),
        ] {
            assert_eq!(canonical::<Listener>(&format!("'{text}'")), format!("\"{kept}\""));
        }
        assert!(canonical::<Listener>("8080").contains("found 8080"));
    }

    #[test]
    fn what_is_no_address_is_refused_without_asking_for_a_name() {
        for wrong in
            ["localhost", "8080", "::1:80", "127.0.0:80", "a b:80", "localhost:http", "localhost:99999"]
        {
            let text = canonical::<Listener>(&format!("'{wrong}'"));
            assert!(text.contains(&format!("`{wrong}` is not an address; write host:port")), "{text}");
        }
    }

    #[test]
    fn a_name_without_an_address_is_named() {
        // Names below `.invalid` never exist.
        let text = canonical::<Listener>("'plumbago.invalid:80'");
        assert!(text.contains("the name `plumbago.invalid` has no address"), "{text}");
    }

    #[test]
    fn of_several_addresses_the_first_of_ipv4_is_taken() {
        let [six, four, other] = ["[::1]:80", "10.0.0.1:80", "10.0.0.2:80"].map(|a| a.parse().unwrap());
        assert_eq!(choose(&[six, four, other]), Some(four));
        assert_eq!(choose(&[six]), Some(six));
        assert_eq!(choose(&[]), None);
    }
}
