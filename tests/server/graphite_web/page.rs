//! The settings of docs/graphite-web.md, as people paste them: what the page says is what is tested.

use std::net::SocketAddr;
use std::path::Path;

/// The first block of code in a section, with Plumbago at `address`.
pub(crate) fn settings(section: &str, address: SocketAddr) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/graphite-web.md");
    let page = std::fs::read_to_string(path).unwrap();
    let (_, rest) = page.split_once(&format!("\n## {section}\n")).unwrap();
    let (section_text, _) = rest.split_once("\n## ").unwrap_or((rest, ""));
    let (_, block) = section_text.split_once("\n```").unwrap();
    let (_, block) = block.split_once('\n').unwrap();
    let (block, _) = block.split_once("\n```\n").unwrap();
    assert!(block.contains("127.0.0.1:8080"), "{section}: {block}");
    format!("{}\n", block.replace("127.0.0.1:8080", &address.to_string()))
}
