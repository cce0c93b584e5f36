//! Addresses of this machine, of its networks, and of the public internet.

use std::net::{IpAddr, Ipv4Addr};

/// Returns `true` if an address is on the public internet: neither of this machine, nor of a private or local network, nor
/// reserved, nor an IPv6 form of such an IPv4 address.
pub(crate) fn is_public(address: IpAddr) -> bool {
    let v4 = |high: u16, low: u16| is_public_v4(Ipv4Addr::from((u32::from(high) << 16) | u32::from(low)));
    let segments = match address {
        IpAddr::V4(address) => return is_public_v4(address),
        IpAddr::V6(address) => address.segments(),
    };
    match segments {
        [0, 0, 0, 0, 0, 0xffff, high, low] | [0x64, 0xff9b, 0, 0, 0, 0, high, low] => v4(high, low),
        // 6to4 has the IPv4 address behind its prefix.
        [0x2002, high, low, ..] => v4(high, low),
        // Teredo, benchmarking, ORCHID and documentation.
        [0x2001, second, ..] if second < 0x200 || second == 0xdb8 => false,
        [0x3fff, second, ..] if second < 0x1000 => false,
        // Everything else that is public is in 2000::/3.
        [first, ..] => first & 0xe000 == 0x2000,
    }
}

/// Returns `true` if the host of a URL is this machine, by its name or its address.
#[cfg(feature = "http")]
pub(crate) fn is_this_machine(host: &str) -> bool {
    let name = host.trim_end_matches('.');
    let address = host.trim_matches(['[', ']']).parse::<IpAddr>();
    name == "localhost" || name.ends_with(".localhost") || address.is_ok_and(|ip| ip.to_canonical().is_loopback())
}

/// Returns `true` for a public address, by the IANA registry of special addresses (RFC 6890 and its successors).
fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    !(address.is_private()
        || address.is_loopback()
        || address.is_link_local()
        || address.is_broadcast()
        || address.is_documentation()
        || address.is_multicast()
        || a == 0
        || a >= 240
        || (a == 100 && (64..128).contains(&b))
        || (a == 192 && b == 0 && c == 0)
        || (a == 192 && b == 88 && c == 99)
        || (a == 198 && (b == 18 || b == 19)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn private_and_reserved_addresses_are_not_public() {
        for address in [
            "0.0.0.0",
            "10.1.2.3",
            "100.64.0.1",
            "100.127.255.255",
            "127.0.0.1",
            "127.9.9.9",
            "169.254.169.254",
            "172.16.0.1",
            "172.31.255.255",
            "192.0.0.1",
            "192.0.2.1",
            "192.88.99.1",
            "192.168.1.1",
            "198.18.0.1",
            "198.51.100.1",
            "203.0.113.1",
            "224.0.0.1",
            "240.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::ffff:10.0.0.1",
            "::ffff:127.0.0.1",
            "::127.0.0.1",
            "64:ff9b::a00:1",
            "64:ff9b:1::1",
            "100::1",
            "2001::1",
            "2001:db8::1",
            "2002:7f00:1::",
            "2002:a00:1::",
            "3fff::1",
            "fc00::1",
            "fd12::1",
            "fe80::1",
            "fec0::1",
            "ff02::1",
        ] {
            assert!(!is_public(address.parse().unwrap()), "{address}");
        }
        for address in [
            "1.1.1.1",
            "8.8.8.8",
            "100.63.0.1",
            "172.32.0.1",
            "192.169.0.1",
            "2001:200::1",
            "2606:4700::1111",
            "2002:808:808::",
            "3fff:1000::1",
            "::ffff:8.8.8.8",
            "64:ff9b::808:808",
        ] {
            assert!(is_public(address.parse().unwrap()), "{address}");
        }
    }
}
