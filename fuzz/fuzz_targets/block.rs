//! Block files: no damage to a good file makes it panic or yield a wrong chunk, and no junk makes a page panic.
//!
//! The input is taken twice: as the body of a page, past the checksum that would keep junk out; and as a list of changes,
//! three bytes each (where, where, what), to a good file.

#![no_main]

use std::path::PathBuf;
use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use plumbago::store::embedded::block::{Block, BlockMeta, BlockWriter, Page};
use plumbago::store::embedded::codec::Encoder;

const METRICS: u32 = 150;

static PATH: LazyLock<PathBuf> =
    LazyLock::new(|| std::env::temp_dir().join(format!("plumbago-fuzz-{}.blk", std::process::id())));
static GOOD: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let stage = "11520*60s_0".parse().expect("a stage");
    let meta = BlockMeta { stage, partition_start: 0, partition_secs: 86_400, cut_from: 1, cut_to: 1 };
    let mut writer = BlockWriter::create(&plumbago::disk::real(), &PATH, meta).expect("room for a file");
    (0..METRICS).for_each(|metric| writer.put(metric * 2, &chunk(metric)).expect("a good chunk"));
    writer.finish().expect("room for a file");
    std::fs::read(&*PATH).expect("the file just written")
});

fn chunk(metric: u32) -> Vec<u8> {
    let mut bytes = Vec::new();
    let values = [f64::from(metric), 0.5, f64::from(metric).sin()];
    Encoder::new()
        .encode(&[metric, metric + 1, metric + 5], &values, None, &mut bytes)
        .expect("good samples");
    bytes
}

fuzz_target!(|input: &[u8]| {
    if let Ok(page) = Page::parse(input) {
        page.for_each(drop);
    }

    let mut bytes = GOOD.clone();
    for change in input.chunks_exact(3) {
        let at = usize::from(u16::from_le_bytes([change[0], change[1]])) % bytes.len();
        bytes[at] = change[2];
    }
    std::fs::write(&*PATH, &bytes).expect("room for a file");
    let Ok(block) = Block::open(&*plumbago::disk::real(), &PATH) else { return };
    assert_eq!(block.verify().is_ok(), bytes == *GOOD);
    let mut buf = Vec::new();
    for metric in 0..METRICS {
        if let Ok(found) = block.chunk(metric * 2, &mut buf) {
            assert_eq!(found, Some(&chunk(metric)[..]));
        }
    }
});
