//! Which machines are meant: single addresses and whole networks.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

/// An address, or all that begin with the same bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Network {
    address: IpAddr,
    bits: u8,
}

/// Some networks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Addresses(Vec<Network>);

impl Addresses {
    /// The addresses of a list.
    pub fn new(networks: Vec<Network>) -> Self {
        Self(networks)
    }

    /// This machine.
    pub fn here() -> Self {
        let network = |address: IpAddr, bits| Network { address, bits };
        Self(vec![network(Ipv4Addr::LOCALHOST.into(), 8), network(Ipv6Addr::LOCALHOST.into(), 128)])
    }

    /// Are there none?
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Is this one of them? An IPv4 address that arrives in the form of IPv6 counts as what it is.
    pub fn contains(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        self.0.iter().any(|network| network.contains(address))
    }

    /// Each of them.
    pub fn iter(&self) -> impl Iterator<Item = &Network> {
        self.0.iter()
    }
}

impl Network {
    fn contains(self, address: IpAddr) -> bool {
        match (self.address, address) {
            (IpAddr::V4(a), IpAddr::V4(b)) => {
                let differing = u64::from(u32::from(a) ^ u32::from(b));
                differing >> (32 - u32::from(self.bits)) == 0
            }
            (IpAddr::V6(a), IpAddr::V6(b)) => {
                let differing = u128::from(a) ^ u128::from(b);
                differing.checked_shr(128 - u32::from(self.bits)).unwrap_or_default() == 0
            }
            _ => false,
        }
    }
}

/// `10.0.0.0/8`, or an address alone.
impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.address)?;
        let all = if self.address.is_ipv4() { 32 } else { 128 };
        if self.bits == all { Ok(()) } else { write!(f, "/{}", self.bits) }
    }
}

impl FromStr for Network {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!(
                "`{text}` is not an address; write one such as \"10.1.2.3\", or a network such as \"10.0.0.0/8\""
            )
        };
        let (address, bits) =
            text.split_once('/').map_or((text, None), |(address, bits)| (address, Some(bits)));
        let address: IpAddr = address.parse().map_err(|_| wrong())?;
        let all = if address.is_ipv4() { 32 } else { 128 };
        let bits = bits.map_or(Ok(all), |bits| bits.parse().map_err(|_| wrong()))?;
        if bits > all { Err(wrong()) } else { Ok(Self { address, bits }) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_has_the_addresses_that_begin_like_it() {
        let has = |network: &str, address: &str| {
            Addresses(vec![network.parse().unwrap()]).contains(address.parse().unwrap())
        };
        assert!(has("10.0.0.0/8", "10.255.1.2") && !has("10.0.0.0/8", "11.0.0.1"));
        assert!(has("10.1.2.3", "10.1.2.3") && !has("10.1.2.3", "10.1.2.4"));
        assert!(has("0.0.0.0/0", "192.0.2.1") && !has("0.0.0.0/0", "::1"));
        assert!(has("10.0.0.0/8", "::ffff:10.0.0.1"));
        assert!(has("2001:db8::/32", "2001:db8:1::5") && !has("2001:db8::/32", "2001:db9::5"));
        assert!(has("::/0", "2001:db9::5") && has("::1", "::1") && !has("::1", "::2"));
        assert!(has("192.0.2.128/25", "192.0.2.200") && !has("192.0.2.128/25", "192.0.2.100"));
    }

    #[test]
    fn here_is_this_machine_alone() {
        let here = |address: &str| Addresses::here().contains(address.parse().unwrap());
        assert!(here("127.0.0.1") && here("127.3.2.1") && here("::1") && here("::ffff:127.0.0.1"));
        assert!(!here("10.0.0.1") && !here("::2") && !here("128.0.0.1"));
    }

    #[test]
    fn what_is_no_network_is_named() {
        for text in ["10.0.0.0/8", "10.1.2.3", "2001:db8::/32", "::1"] {
            assert_eq!(text.parse::<Network>().unwrap().to_string(), text);
        }
        for text in ["10.0.0", "10.0.0.0/33", "::1/129", "a", "", "10.0.0.0/x", "10.0.0.0/"] {
            assert!(text.parse::<Network>().unwrap_err().contains(&format!("`{text}`")), "{text}");
        }
    }
}
