//! The data directory in bytes.

use super::text::Text;

const USED: (&str, &str) =
    ("plumbago_disk_used_bytes", "Bytes of the data directory: blocks, catalogue and log.");
const PART: (&str, &str) = ("plumbago_disk_part_bytes", "Bytes of the data directory, by part.");
const STAGE: (&str, &str) = ("plumbago_disk_stage_bytes", "Bytes of blocks, by stage.");
const SPOOL: (&str, &str) =
    ("plumbago_disk_spool_bytes", "Bytes of blocks that the cluster does not have yet.");
const FREE: (&str, &str) = ("plumbago_disk_free_bytes", "Bytes free on the volume of the data directory.");

/// What the data directory takes up, and what is left on its volume, in bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Disk {
    /// Blocks, by the name of their stage.
    pub stages: Vec<(String, u64)>,
    /// Of the blocks, those that the cluster does not have yet.
    pub spool: u64,
    /// The catalogue.
    pub catalogue: u64,
    /// The write-ahead log.
    pub log: u64,
    /// Free on the volume; `None` if the system does not say.
    pub free: Option<u64>,
}

impl Disk {
    /// All blocks.
    pub fn blocks(&self) -> u64 {
        self.stages.iter().map(|(_, bytes)| bytes).sum()
    }

    /// All of it.
    pub fn used(&self) -> u64 {
        self.blocks() + self.catalogue + self.log
    }

    pub(super) fn write(&self, text: &mut Text) {
        text.single("gauge", USED.0, USED.1, self.used());
        text.family("gauge", PART.0, PART.1);
        for (part, bytes) in [("blocks", self.blocks()), ("catalogue", self.catalogue), ("log", self.log)] {
            text.sample(PART.0, &[("part", part)], bytes);
        }
        text.family("gauge", STAGE.0, STAGE.1);
        for (stage, bytes) in &self.stages {
            text.sample(STAGE.0, &[("stage", stage)], bytes);
        }
        text.single("gauge", SPOOL.0, SPOOL.1, self.spool);
        text.family("gauge", FREE.0, FREE.1);
        if let Some(free) = self.free {
            text.sample(FREE.0, &[], free);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_add_up() {
        let stages = vec![("10s-8640-raw".to_owned(), 7), ("60s-43200-aggr".to_owned(), 5)];
        let disk = Disk { stages, spool: 3, catalogue: 20, log: 100, free: None };
        let mut text = Text::new();
        disk.write(&mut text);
        let text = text.finish();
        for line in [
            "plumbago_disk_used_bytes 132",
            "plumbago_disk_part_bytes{part=\"blocks\"} 12",
            "plumbago_disk_part_bytes{part=\"catalogue\"} 20",
            "plumbago_disk_part_bytes{part=\"log\"} 100",
            "plumbago_disk_stage_bytes{stage=\"60s-43200-aggr\"} 5",
            "plumbago_disk_spool_bytes 3",
        ] {
            assert!(text.lines().any(|written| written == line), "{line} is not in\n{text}");
        }
        assert!(!text.contains("\nplumbago_disk_free_bytes "), "nobody knows:\n{text}");
    }
}
