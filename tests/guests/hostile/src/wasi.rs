//! What the system is asked for, past the standard library.

use lazaret_sdk::prelude::*;
use wasip2::clocks::monotonic_clock;
use wasip2::filesystem::types::{DescriptorFlags, ErrorCode, OpenFlags, PathFlags};
use wasip2::sockets::network::{IpAddressFamily, IpSocketAddress, Ipv4SocketAddress};

/// Says what it finds around it.
#[tool(effect = "pure")]
pub fn surroundings() -> Value {
    let folders: Vec<String> = wasip2::filesystem::preopens::get_directories()
        .into_iter()
        .map(|(_, name)| name)
        .collect();
    let paths = [
        "/proc/self/environ",
        "/etc/passwd",
        "Cargo.toml",
        "/dev/null",
    ];
    let opened: Vec<&str> = paths
        .into_iter()
        .filter(|path| std::fs::read(path).is_ok())
        .collect();
    json!({
        "environment": wasip2::cli::environment::get_environment(),
        "arguments": wasip2::cli::environment::get_arguments(),
        "folder": wasip2::cli::environment::initial_cwd(),
        "folders": folders,
        "opened": opened,
        "clock_ms": wasip2::clocks::wall_clock::resolution().nanoseconds / 1_000_000,
    })
}

/// Asks for so many random bytes.
#[tool(effect = "pure")]
pub fn random(
    /// How many.
    bytes: u64,
) -> usize {
    wasip2::random::random::get_random_bytes(bytes).len()
}

/// Tries to connect and to look up a name.
#[tool(effect = "pure")]
pub fn connect(
    /// A port on this machine.
    port: u16,
) -> Vec<String> {
    let network = wasip2::sockets::instance_network::instance_network();
    let looked = wasip2::sockets::ip_name_lookup::resolve_addresses(&network, "localhost");
    let looked = match looked {
        Ok(stream) => {
            stream.subscribe().block();
            format!("look-up: {:?}", stream.resolve_next_address())
        }
        Err(code) => format!("look-up: refused {code:?}"),
    };
    let to = IpSocketAddress::Ipv4(Ipv4SocketAddress {
        port,
        address: (127, 0, 0, 1),
    });
    let socket = wasip2::sockets::tcp_create_socket::create_tcp_socket(IpAddressFamily::Ipv4);
    let connected = socket.and_then(|socket| {
        socket.start_connect(&network, to)?;
        socket.subscribe().block();
        socket.finish_connect()
    });
    let connected = match connected {
        Ok(_) => "tcp: connected".to_owned(),
        Err(code) => format!("tcp: refused {code:?}"),
    };
    vec![looked, connected]
}

/// Sleeps for a year.
#[tool(effect = "pure")]
pub fn sleep() -> bool {
    monotonic_clock::subscribe_duration(365 * 24 * 3600 * 1_000_000_000).block();
    true
}

/// Waits for so many things at once that never happen.
#[tool(effect = "pure")]
pub fn poll_many(
    /// How many.
    count: usize,
) -> usize {
    let year = 365 * 24 * 3600 * 1_000_000_000;
    let all: Vec<_> = (0..count)
        .map(|_| monotonic_clock::subscribe_duration(year))
        .collect();
    let all: Vec<_> = all.iter().collect();
    wasip2::io::poll::poll(&all).len()
}

/// Asks for one thing that happens at once, named so many times in one list, and says how often it is told of it.
#[tool(effect = "pure")]
pub fn poll_same(
    /// How often it is named.
    count: usize,
) -> usize {
    let one = monotonic_clock::subscribe_duration(1);
    wasip2::io::poll::poll(&vec![&one; count]).len()
}

/// Makes so many pollables and keeps them.
#[tool(effect = "pure")]
pub fn pollables(
    /// How many.
    count: usize,
) -> usize {
    let all: Vec<_> = (0..count)
        .map(|_| monotonic_clock::subscribe_duration(1))
        .collect();
    all.len()
}

/// Opens so many streams of one file of its first folder, and keeps them without reading any.
#[tool(effect = "read-only", risk = "read_only", mounts = "read")]
pub fn streams(
    /// The file.
    path: String,
    /// How many.
    count: usize,
) -> Result<usize, Failure> {
    let said = |code: ErrorCode| Failure::new(format!("{code:?}"));
    let folders = wasip2::filesystem::preopens::get_directories();
    let (folder, _) = folders.first().or_fail("no folder is open")?;
    let flags = (PathFlags::empty(), OpenFlags::empty());
    let file = folder.open_at(flags.0, &path, flags.1, DescriptorFlags::READ);
    let file = file.map_err(said)?;
    let all: Result<Vec<_>, _> = (0..count).map(|_| file.read_via_stream(0)).collect();
    Ok(all.map_err(said)?.len())
}

/// Ends the process.
#[tool(effect = "pure")]
pub fn exit(
    /// Whether well.
    well: bool,
) -> bool {
    wasip2::cli::exit::exit(if well { Ok(()) } else { Err(()) });
    #[allow(unreachable_code)]
    true
}
