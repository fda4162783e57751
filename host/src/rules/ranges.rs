//! Address ranges that are not the public internet: IANA's special-purpose registries, and every
//! way to write an IPv4 address inside an IPv6 one.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// What an address stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Range {
    /// A host on the public internet.
    Public,
    /// Where a cloud has a metadata service: never reachable, whatever policy says.
    Metadata,
    /// Anything else that is not public, with the range's name.
    Special(&'static str),
}

const V4: [(u32, u32, &str); 15] = [
    (v4(0, 0, 0, 0), 8, "this network"),
    (v4(10, 0, 0, 0), 8, "private"),
    (v4(100, 64, 0, 0), 10, "shared by carriers"),
    (v4(127, 0, 0, 0), 8, "loopback"),
    (v4(172, 16, 0, 0), 12, "private"),
    (v4(192, 0, 0, 0), 24, "protocol assignments"),
    (v4(192, 0, 2, 0), 24, "documentation"),
    (v4(192, 31, 196, 0), 24, "AS112"),
    (v4(192, 88, 99, 0), 24, "6to4 relay"),
    (v4(192, 168, 0, 0), 16, "private"),
    (v4(198, 18, 0, 0), 15, "benchmarking"),
    (v4(198, 51, 100, 0), 24, "documentation"),
    (v4(203, 0, 113, 0), 24, "documentation"),
    (v4(224, 0, 0, 0), 4, "multicast"),
    (v4(240, 0, 0, 0), 4, "reserved"),
];

const fn v4(a: u8, b: u8, c: u8, d: u8) -> u32 {
    u32::from_be_bytes([a, b, c, d])
}

/// What is link-local: each cloud has its metadata services at addresses of its own in there, for machines, containers and
/// users, and there come more.
const LINK_LOCAL_V4: u32 = v4(169, 254, 0, 0);

/// Metadata services elsewhere: of Alibaba, Oracle, and Azure's wire server.
const METADATA_V4: [u32; 3] = [
    v4(100, 100, 100, 200),
    v4(192, 0, 0, 192),
    v4(168, 63, 129, 16),
];

/// Metadata services over IPv6.
const METADATA_V6: [Ipv6Addr; 5] = [
    // AWS: machines, and identities of pods.
    Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254),
    Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x23),
    // Google.
    Ipv6Addr::new(0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254),
    // Oracle.
    Ipv6Addr::new(0xfd00, 0xc1, 0, 0, 0, 0, 0xa9fe, 0xa9fe),
    // Scaleway.
    Ipv6Addr::new(0xfd00, 0x42, 0, 0, 0, 0, 0, 0x42),
];

/// What an address stands for.
#[must_use]
pub fn range(address: IpAddr) -> Range {
    match address {
        IpAddr::V4(address) => range_v4(address),
        IpAddr::V6(address) => range_v6(address),
    }
}

fn range_v4(address: Ipv4Addr) -> Range {
    let bits = address.to_bits();
    if METADATA_V4.contains(&bits) || bits >> 16 == LINK_LOCAL_V4 >> 16 {
        return Range::Metadata;
    }
    V4.iter()
        .find(|(base, length, _)| (bits ^ base).leading_zeros() >= *length)
        .map_or(Range::Public, |(_, _, name)| Range::Special(name))
}

fn range_v6(address: Ipv6Addr) -> Range {
    if METADATA_V6.contains(&address) {
        return Range::Metadata;
    }
    if let Some(inner) = embedded_v4(address) {
        // A disguise is never public: whoever means an IPv4 address writes one.
        return match range_v4(inner) {
            Range::Metadata => Range::Metadata,
            Range::Public => Range::Special("IPv4 inside IPv6"),
            special @ Range::Special(_) => special,
        };
    }
    let [first, second, ..] = address.segments();
    match (first, second) {
        (0, _) => Range::Special("loopback or unspecified"),
        (0x100, _) => Range::Special("discard"),
        (0x64, 0xff9b) => Range::Special("NAT64"),
        (0x2001, 0xdb8) | (0x3fff, 0..=0x0fff) => Range::Special("documentation"),
        (0x2001, 0..=0x1ff) => Range::Special("protocol assignments"),
        (0x5f00, _) => Range::Special("segment routing"),
        (0xfc00..=0xfdff, _) => Range::Special("unique local"),
        (0xfe80..=0xfebf, _) => Range::Special("link-local"),
        (0xfec0..=0xfeff, _) => Range::Special("site-local"),
        (0xff00..=0xffff, _) => Range::Special("multicast"),
        (0x2000..=0x3fff, _) => Range::Public,
        _ => Range::Special("unassigned"),
    }
}

/// The IPv4 address inside mapped, compatible, NAT64, 6to4, Teredo and ISATAP addresses.
fn embedded_v4(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let [a, b, c, d, e, f, g, h] = address.segments();
    let join = |high: u16, low: u16| Ipv4Addr::from_bits((u32::from(high) << 16) | u32::from(low));
    match (a, b, c, d, e, f) {
        (0, 0, 0, 0, 0, 0) if g != 0 => Some(join(g, h)),
        (0, 0, 0, 0, 0, 0xffff) | (0, 0, 0, 0, 0xffff, 0) => Some(join(g, h)),
        (0x64, 0xff9b, ..) => Some(join(g, h)),
        (0x2002, high, low, ..) => Some(join(high, low)),
        (0x2001, 0, ..) => Some(join(!g, !h)),
        (_, _, _, _, 0 | 0x200, 0x5efe) => Some(join(g, h)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(address: &str, expected: &str) {
        let got = match range(address.parse().unwrap()) {
            Range::Public => "public",
            Range::Metadata => "metadata",
            Range::Special(name) => name,
        };
        assert_eq!(got, expected, "{address}");
    }

    #[test]
    fn the_whole_table() {
        for (address, expected) in [
            ("8.8.8.8", "public"),
            ("1.1.1.1", "public"),
            ("9.255.255.255", "public"),
            ("11.0.0.0", "public"),
            ("100.63.255.255", "public"),
            ("100.64.0.1", "shared by carriers"),
            ("0.0.0.0", "this network"),
            ("10.1.2.3", "private"),
            ("127.0.0.1", "loopback"),
            ("127.255.255.255", "loopback"),
            ("169.253.255.255", "public"),
            ("169.254.0.0", "metadata"),
            ("169.254.42.42", "metadata"),
            ("169.254.169.254", "metadata"),
            ("169.254.170.2", "metadata"),
            ("169.254.170.23", "metadata"),
            ("169.255.0.0", "public"),
            ("192.0.0.192", "metadata"),
            ("100.100.100.200", "metadata"),
            ("168.63.129.16", "metadata"),
            ("172.15.255.255", "public"),
            ("172.16.0.0", "private"),
            ("172.31.255.255", "private"),
            ("172.32.0.0", "public"),
            ("192.0.0.8", "protocol assignments"),
            ("192.168.0.1", "private"),
            ("198.18.0.1", "benchmarking"),
            ("198.19.255.255", "benchmarking"),
            ("198.20.0.0", "public"),
            ("224.0.0.1", "multicast"),
            ("240.0.0.1", "reserved"),
            ("255.255.255.255", "reserved"),
            ("::", "loopback or unspecified"),
            ("::1", "loopback or unspecified"),
            ("::ffff:127.0.0.1", "loopback"),
            ("::ffff:8.8.8.8", "IPv4 inside IPv6"),
            ("::127.0.0.1", "loopback"),
            ("64:ff9b::7f00:1", "loopback"),
            ("64:ff9b::a9fe:a9fe", "metadata"),
            ("64:ff9b:1::1", "this network"),
            ("2002:7f00:1::", "loopback"),
            ("2002:0808:0808::", "IPv4 inside IPv6"),
            ("2001:0:4136:e378:8000:63bf:80ff:fffe", "loopback"),
            ("fe80::5efe:a00:1", "private"),
            ("fd00:ec2::254", "metadata"),
            ("fd00:ec2::23", "metadata"),
            ("fd00:ec2::24", "unique local"),
            ("fd20:ce::254", "metadata"),
            ("fd00:c1::a9fe:a9fe", "metadata"),
            ("fd00:42::42", "metadata"),
            ("::ffff:169.254.170.23", "metadata"),
            ("fd12::1", "unique local"),
            ("fe80::1", "link-local"),
            ("fec0::1", "site-local"),
            ("ff02::1", "multicast"),
            ("100::1", "discard"),
            ("2001:db8::1", "documentation"),
            ("2001:20::1", "protocol assignments"),
            ("3fff::1", "documentation"),
            ("4000::1", "unassigned"),
            ("2606:4700::1111", "public"),
        ] {
            check(address, expected);
        }
    }
}
