//! Gets the pages out of a block that cannot be used as it is: its header, index or trailer is damaged, or some of its pages are.
//!
//! Pages follow each other from the header on, and each has its own length and checksum. So nothing else is needed to read them, and what
//! the header says is in the path of the file as well.

use std::io;
use std::path::Path;
use std::sync::Arc;

use super::layout::{ENTRY_LEN, FRAME_LEN, HEADER_LEN, TRAILER_LEN, read_header, read_trailer};
use super::page::{Page, unframe};
use super::{BlockMeta, BlockWriter};
use crate::disk::{self, Disk};
use plumbago_model::count;

/// What came out of a damaged block.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Salvaged {
    /// Chunks that were saved.
    pub chunks: u64,
    /// What was not, one line each.
    pub lost: Vec<String>,
}

/// Writes every page of the block at `path` that can be read into a new block of the store at `target`. `named` is what the path says
/// about it. `None` if it is no block of this place and this store, or nothing of it can be read.
pub fn salvage(
    disk: &Arc<dyn Disk>,
    path: &Path,
    named: BlockMeta,
    store: u32,
    target: &Path,
) -> io::Result<Option<Salvaged>> {
    let bytes = disk::read(&**disk, path)?;
    if bytes.get(..HEADER_LEN).and_then(|header| read_header(header).ok()).is_some_and(|meta| meta != named) {
        return Ok(None);
    }
    let trailer = bytes.last_chunk::<TRAILER_LEN>().and_then(|trailer| read_trailer(trailer).ok());
    if trailer.is_some_and(|trailer| trailer.store != 0 && store != 0 && trailer.store != store) {
        return Ok(None);
    }
    let mut writer = BlockWriter::create(disk, target, named)?.of_store(store);
    let mut salvaged = Salvaged::default();
    let (mut at, mut pages) = (HEADER_LEN, 0);
    while let Some(rest) = bytes.get(at..).filter(|rest| !rest.is_empty()) {
        let len = frame_len(rest).filter(|&len| len <= rest.len());
        match len.and_then(|len| rest.get(..len)).and_then(|frame| unframe(frame).ok()) {
            Some(body) => add(body, pages, &mut writer, &mut salvaged)?,
            None if rest.len() == pages * ENTRY_LEN + 4 + TRAILER_LEN => break,
            None => match len {
                Some(_) => salvaged.lost.push(format!("page {pages} at byte {at}")),
                None => {
                    salvaged.lost.push(format!("all from byte {at} on, {}", count(rest.len(), "byte")));
                    break;
                }
            },
        }
        pages += 1;
        at += len.unwrap_or(rest.len());
    }
    if salvaged.chunks == 0 {
        return Ok(None);
    }
    writer.finish()?;
    Ok(Some(salvaged))
}

/// The length of the page that some bytes begin with, its frame included.
fn frame_len(bytes: &[u8]) -> Option<usize> {
    let len = u32::from_le_bytes(*bytes.first_chunk()?);
    FRAME_LEN.checked_add(usize::try_from(len).ok()?)
}

/// A chunk that does not fit behind the ones before is of a page that is not the one it should be.
fn add(body: &[u8], page: usize, writer: &mut BlockWriter, salvaged: &mut Salvaged) -> io::Result<()> {
    let chunks = Page::parse(body).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    for (metric, chunk) in chunks.unwrap_or_default() {
        match writer.put(metric, chunk) {
            Ok(()) => salvaged.chunks += 1,
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => {
                salvaged.lost.push(format!("metric {metric} in page {page}: {error}"));
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
