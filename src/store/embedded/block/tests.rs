//! Whole block files: round trips, damage of every kind, and what is left behind.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use tempfile::TempDir;

use super::layout::{HEADER_LEN, TRAILER_LEN};
use super::*;
use crate::disk;
use crate::store::embedded::codec::Encoder;

type Chunks = BTreeMap<u32, Vec<u8>>;

fn meta() -> BlockMeta {
    let stage = "11520*60s_0".parse().unwrap();
    BlockMeta { stage, partition_start: 1_700_006_400, partition_secs: 86_400, cut_from: 7, cut_to: 9 }
}

fn chunk(first_slot: u32, values: &[f64]) -> Vec<u8> {
    let slots: Vec<u32> = (first_slot..).take(values.len()).collect();
    let mut bytes = Vec::new();
    Encoder::new().encode(&slots, values, None, &mut bytes).unwrap();
    bytes
}

fn write(path: &Path, chunks: &Chunks) -> BlockInfo {
    let mut writer = BlockWriter::create(&disk::real(), path, meta()).unwrap();
    chunks.iter().for_each(|(&metric, chunk)| writer.put(metric, chunk).unwrap());
    writer.finish().unwrap()
}

/// A block of `metrics` chunks, and where it is.
fn sample(metrics: u32) -> (TempDir, PathBuf, Chunks) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.blk");
    let chunks: Chunks = (0..metrics).map(|i| (i * 3 + 5, chunk(i, &[f64::from(i), 0.5, 7.0]))).collect();
    write(&path, &chunks);
    (dir, path, chunks)
}

/// Everything a cursor finds, and the errors on the way.
fn read_all(block: &Block) -> (Chunks, Vec<BlockError>) {
    let (mut chunks, mut errors) = (Chunks::new(), Vec::new());
    let mut cursor = block.cursor();
    assert!(cursor.current().is_none());
    loop {
        match cursor.advance() {
            Ok(true) => {
                let (metric, chunk) = cursor.current().unwrap();
                assert!(chunks.last_key_value().is_none_or(|(last, _)| *last < metric));
                chunks.insert(metric, chunk.to_vec());
            }
            Ok(false) => break,
            Err(error) => errors.push(error),
        }
    }
    assert!(cursor.current().is_none());
    (chunks, errors)
}

fn names_in(dir: &TempDir) -> Vec<String> {
    fs::read_dir(dir.path()).unwrap().map(|f| f.unwrap().file_name().into_string().unwrap()).collect()
}

#[test]
fn blocks_of_many_pages_round_trip() {
    let (dir, path, chunks) = sample(1000);
    assert_eq!(names_in(&dir), ["a.blk"]);
    let block = Block::open(&*disk::real(), &path).unwrap();
    let info = block.info();
    assert_eq!(*info, write(&path, &chunks), "the writer and the reader tell the same");
    assert_eq!((info.meta, info.chunks, info.pages), (meta(), 1000, 16));
    assert_eq!((info.first_metric, info.last_metric), (5, 999 * 3 + 5));
    assert_eq!((info.first_slot, info.last_slot), (0, 1001));
    assert_eq!(info.bytes, fs::metadata(&path).unwrap().len());
    let mut buf = Vec::new();
    for metric in 0..3010 {
        assert_eq!(
            block.chunk(metric, &mut buf).unwrap(),
            chunks.get(&metric).map(Vec::as_slice),
            "{metric}"
        );
    }
    let (all, errors) = read_all(&block);
    assert!(all == chunks && errors.is_empty());
    block.verify().unwrap();
}

#[test]
fn an_empty_block_is_a_block() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.blk");
    let info = write(&path, &Chunks::new());
    assert_eq!((info.chunks, info.pages), (0, 0));
    let block = Block::open(&*disk::real(), &path).unwrap();
    assert_eq!(block.chunk(0, &mut Vec::new()).unwrap(), None);
    block.chunks(&[0, 1], &mut Vec::new(), |_, _| panic!("nothing to visit")).unwrap();
    block.verify().unwrap();
    assert!(read_all(&block).0.is_empty());
}

#[test]
fn a_large_block_is_written_in_parts() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.blk");
    let noise: Vec<f64> = (0..1440).map(|i| f64::from(i).sin()).collect();
    let chunks: Chunks = (0..60).map(|metric| (metric, chunk(0, &noise))).collect();
    let mut writer = BlockWriter::create(&disk::real(), &path, meta()).unwrap();
    chunks.iter().for_each(|(&metric, chunk)| writer.put(metric, chunk).unwrap());
    let before = fs::metadata(path.with_extension("blk.tmp")).unwrap().len();
    let info = writer.finish().unwrap();
    assert!(before > 0 && before < info.bytes, "{before} of {}", info.bytes);
    let block = Block::open(&*disk::real(), &path).unwrap();
    assert_eq!(read_all(&block).0, chunks);
    block.verify().unwrap();
}

#[test]
fn metrics_out_of_order_and_junk_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let mut writer = BlockWriter::create(&disk::real(), &dir.path().join("a.blk"), meta()).unwrap();
    let good = chunk(0, &[1.0]);
    writer.put(5, &good).unwrap();
    assert!(writer.put(5, &good).unwrap_err().to_string().contains("metric 5 after metric 5"));
    assert!(writer.put(4, &good).is_err());
    assert!(writer.put(6, b"junk").is_err());
    writer.put(6, &good).unwrap();
    assert_eq!(writer.finish().unwrap().chunks, 2);
}

#[test]
fn an_unfinished_block_leaves_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.blk");
    let mut writer = BlockWriter::create(&disk::real(), &path, meta()).unwrap();
    writer.put(1, &chunk(0, &[1.0])).unwrap();
    assert_eq!(names_in(&dir), ["a.blk.tmp"]);
    drop(writer);
    assert!(names_in(&dir).is_empty());
}

#[test]
fn the_rest_of_a_crashed_attempt_is_overwritten() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.blk");
    fs::write(path.with_extension("blk.tmp"), vec![0xee; 100_000]).unwrap();
    let chunks = Chunks::from([(1, chunk(0, &[1.0]))]);
    write(&path, &chunks);
    assert_eq!(read_all(&Block::open(&*disk::real(), &path).unwrap()).0, chunks);
    disk::real().sync_dir(dir.path()).unwrap();
}

#[test]
fn a_block_stays_readable_after_it_is_unlinked() {
    let (_dir, path, chunks) = sample(100);
    let block = Block::open(&*disk::real(), &path).unwrap();
    fs::remove_file(&path).unwrap();
    assert_eq!(read_all(&block).0, chunks);
}

#[test]
fn no_flipped_byte_yields_a_wrong_chunk() {
    let (_dir, path, chunks) = sample(70);
    let metrics: Vec<u32> = chunks.keys().copied().collect();
    let whole = fs::read(&path).unwrap();
    for at in 0..whole.len() {
        for flip in [0x01, 0xff] {
            let mut bytes = whole.clone();
            bytes[at] ^= flip;
            fs::write(&path, &bytes).unwrap();
            let Ok(block) = Block::open(&*disk::real(), &path) else { continue };
            assert!(block.verify().is_err(), "byte {at}");
            let lost =
                block.chunks(&metrics, &mut Vec::new(), |i, chunk| assert_eq!(chunk, chunks[&metrics[i]]));
            assert!(lost.unwrap_err()[0].to_string().contains("a.blk is damaged: page"), "byte {at}");
            let (found, errors) = read_all(&block);
            assert!(found.iter().all(|(metric, chunk)| chunks[metric] == *chunk), "byte {at}");
            assert_eq!(errors.len(), 1, "byte {at}");
        }
    }
}

#[test]
fn a_file_cut_short_is_refused() {
    let (_dir, path, _) = sample(70);
    let whole = fs::read(&path).unwrap();
    for len in 0..whole.len() {
        fs::write(&path, &whole[..len]).unwrap();
        assert!(Block::open(&*disk::real(), &path).is_err(), "{len} of {} bytes", whole.len());
    }
    fs::write(&path, [&whole[..], &[0]].concat()).unwrap();
    assert!(Block::open(&*disk::real(), &path).is_err(), "one byte too many");
}

#[test]
fn a_damaged_page_loses_its_metrics_only() {
    let (_dir, path, chunks) = sample(200);
    let mut bytes = fs::read(&path).unwrap();
    // Pages are of 64 chunks: this is in the middle of the second of four.
    let at = bytes.len() * 3 / 8;
    bytes[at] ^= 0xff;
    fs::write(&path, &bytes).unwrap();
    let block = Block::open(&*disk::real(), &path).unwrap();
    let lost = 5 + 64 * 3..5 + 128 * 3;
    let text = block.chunk(5 + 64 * 3, &mut Vec::new()).unwrap_err().to_string();
    assert!(
        text.contains("a.blk is damaged: page 1 (metrics 197 to 388): its checksum does not match"),
        "{text}"
    );

    let kept: Chunks = chunks.clone().into_iter().filter(|(metric, _)| !lost.contains(metric)).collect();
    let metrics: Vec<u32> = chunks.keys().copied().collect();
    let mut visited = Chunks::new();
    let errors = block.chunks(&metrics, &mut Vec::new(), |at, chunk| {
        visited.insert(metrics[at], chunk.to_vec());
    });
    assert_eq!(errors.unwrap_err().len(), 1);
    assert_eq!(visited, kept);
    let (found, errors) = read_all(&block);
    assert_eq!((found, errors.len()), (kept, 1));
    assert_eq!(block.verify().unwrap_err().len(), 1);
}

#[test]
fn other_versions_and_other_files_are_named_as_such() {
    let (dir, path, _) = sample(3);
    let mut bytes = fs::read(&path).unwrap();
    bytes[8] = 9;
    let sum = crc32c::crc32c(&bytes[..HEADER_LEN - 4]);
    bytes[HEADER_LEN - 4..HEADER_LEN].copy_from_slice(&sum.to_le_bytes());
    fs::write(&path, &bytes).unwrap();
    let text = Block::open(&*disk::real(), &path).unwrap_err().to_string();
    assert!(text.ends_with("a.blk was written by format version 9; this build reads 1; upgrade"), "{text}");
    fs::write(&path, "something else").unwrap();
    assert!(Block::open(&*disk::real(), &path).unwrap_err().to_string().ends_with("is not a block file"));
    let missing = Block::open(&*disk::real(), &dir.path().join("b.blk")).unwrap_err();
    assert!(matches!(missing, BlockError::Io { action: "open", .. }), "{missing}");
}

#[test]
fn verify_sees_counts_in_the_wrong_stage() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.blk");
    let aggregated = BlockMeta { stage: "720*3600s_aggr".parse().unwrap(), ..meta() };
    let mut writer = BlockWriter::create(&disk::real(), &path, aggregated).unwrap();
    writer.put(1, &chunk(0, &[1.0])).unwrap();
    writer.finish().unwrap();
    let errors = Block::open(&*disk::real(), &path).unwrap().verify().unwrap_err();
    assert!(errors[0].to_string().contains("metric 1: counts in a raw stage"), "{}", errors[0]);
}

fn any_chunk() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        (0..5000u32, vec(-1000..1000i32, 1..40)).prop_map(|(first, whole)| chunk(
            first,
            &whole.iter().map(|&n| f64::from(n)).collect::<Vec<_>>()
        )),
        (0..5000u32, vec(any::<f64>(), 1..900)).prop_map(|(first, values)| chunk(first, &values)),
    ]
}

fn metric() -> impl Strategy<Value = u32> {
    prop_oneof![4 => 0..400u32, 1 => any::<u32>()]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn any_set_of_chunks_comes_back(
        chunks in btree_map(metric(), any_chunk(), 0..150),
        mut asked in vec(metric(), 0..200),
    ) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.blk");
        write(&path, &chunks);
        let block = Block::open(&*disk::real(), &path).unwrap();
        prop_assert!(block.verify().is_ok());
        prop_assert_eq!(&read_all(&block).0, &chunks);

        asked.extend(chunks.keys().step_by(3));
        asked.sort_unstable();
        let mut visited = vec![None; asked.len()];
        block.chunks(&asked, &mut Vec::new(), |at, chunk| visited[at] = Some(chunk.to_vec())).unwrap();
        let mut buf = Vec::new();
        for (metric, visited) in asked.iter().zip(visited) {
            prop_assert_eq!(visited.as_ref(), chunks.get(metric));
            prop_assert_eq!(block.chunk(*metric, &mut buf).unwrap(), visited.as_deref());
        }
    }

    #[test]
    fn pages_of_junk_never_panic(body in vec(any::<u8>(), 0..300)) {
        if let Ok(page) = Page::parse(&body) {
            let chunks = page.take_while(Result::is_ok).map(|entry| entry.unwrap().1.len()).sum::<usize>();
            prop_assert!(chunks <= body.len());
        }
    }
}

#[test]
fn a_block_without_header_index_or_trailer_gives_back_every_chunk() {
    let (dir, path, chunks) = sample(200);
    let good = fs::read(&path).unwrap();
    let meta = Block::open(&*disk::real(), &path).unwrap().info().meta;
    let index = good.len() - TRAILER_LEN - 4;
    for at in [0, 8, 9, 20, HEADER_LEN - 1, index, index - 16, good.len() - TRAILER_LEN, good.len() - 1] {
        let mut bad = good.clone();
        bad[at] ^= 0x40;
        fs::write(&path, &bad).unwrap();
        assert!(Block::open(&*disk::real(), &path).is_err(), "byte {at}");
        let target = dir.path().join("saved.blk");
        let saved = salvage(&disk::real(), &path, meta, 0, &target).unwrap().unwrap();
        assert_eq!(saved, Salvaged { chunks: 200, lost: vec![] }, "byte {at}");
        let (found, errors) = read_all(&Block::open(&*disk::real(), &target).unwrap());
        assert!(found == chunks && errors.is_empty(), "byte {at}");
    }
}

#[test]
fn what_is_saved_of_a_block_cut_short_is_right_and_the_rest_is_named() {
    let (dir, path, chunks) = sample(200);
    let good = fs::read(&path).unwrap();
    let meta = Block::open(&*disk::real(), &path).unwrap().info().meta;
    for len in (0..good.len()).step_by(97) {
        fs::write(&path, &good[..len]).unwrap();
        let target = dir.path().join("saved.blk");
        let Some(saved) = salvage(&disk::real(), &path, meta, 0, &target).unwrap() else { continue };
        let (got, errors) = read_all(&Block::open(&*disk::real(), &target).unwrap());
        assert!(errors.is_empty(), "{len} bytes: {errors:?}");
        assert!(got.iter().all(|(metric, chunk)| chunks[metric] == *chunk), "{len} bytes");
        assert!(got.len() == 200 || !saved.lost.is_empty(), "{len} bytes: {saved:?}");
    }
}
