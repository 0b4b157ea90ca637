//! Tagged names, as an agent on every host would send them: a few measures with one tag for the part of the host, and tags for
//! where the host is.

/// Every so many hosts are in the same data centre.
const DATA_CENTRES: usize = 5;

/// Hosts of one rack.
const PER_RACK: usize = 40;

/// One kind of part of a host.
struct Part {
    kind: &'static str,
    measures: &'static [&'static str],
    /// The tag whose values are the parts.
    tag: &'static str,
    /// How many of them a host has.
    count: usize,
}

/// Sixty, eighty, twenty and forty series: [`PER_HOST`] in all.
static PARTS: [Part; 4] = [
    Part {
        kind: "disk",
        measures: &["used", "free", "reads", "writes", "read_bytes", "write_bytes"],
        tag: "device",
        count: 10,
    },
    Part { kind: "cpu", measures: &["user", "system", "iowait", "idle", "steal"], tag: "core", count: 16 },
    Part {
        kind: "net",
        measures: &["rx_bytes", "tx_bytes", "rx_errors", "tx_errors", "rx_dropped"],
        tag: "interface",
        count: 4,
    },
    Part { kind: "http", measures: &["requests", "errors"], tag: "handler", count: 20 },
];

/// Series of one host.
pub(crate) const PER_HOST: usize = {
    let (mut sum, mut i) = (0, 0);
    while i < PARTS.len() {
        sum += PARTS[i].measures.len() * PARTS[i].count;
        i += 1;
    }
    sum
};

/// All names of host number `host`, tags in alphabetical order:
/// `disk.used;dc=dc2;device=device3;env=prod;host=host42;rack=rack1`.
pub(crate) fn names(host: usize) -> impl Iterator<Item = String> {
    let numbered = PARTS.iter().flat_map(|part| (0..part.count).map(move |number| (part, number)));
    numbered.flat_map(move |(part, number)| {
        let tags = tags(host, part.tag, number);
        part.measures.iter().map(move |measure| format!("{}.{measure}{tags}", part.kind))
    })
}

fn tags(host: usize, tag: &str, number: usize) -> String {
    let environment = match host % 20 {
        0 => "test",
        1 => "staging",
        _ => "prod",
    };
    let mut tags = [
        format!(";dc=dc{}", host % DATA_CENTRES),
        format!(";env={environment}"),
        format!(";host=host{host}"),
        format!(";rack=rack{}", host / PER_RACK),
        format!(";{tag}={tag}{number}"),
    ];
    tags.sort_unstable();
    tags.concat()
}
