//! Fonts of the system, for letters that the embedded font does not have: Chinese, Japanese, Korean and rare symbols.
//!
//! They are looked for when the first such letter is to be drawn. A few files are read then, to learn which characters they
//! have; the bytes of a font are kept once it is used. What a request asks for never decides which files are read.

use std::path::{Path, PathBuf};
use std::sync::{LazyLock, OnceLock};

use ab_glyph::{Font as _, FontRef};

/// Where fonts are on Linux, the BSDs and macOS.
const FOLDERS: [&str; 5] = [
    "/usr/share/fonts",
    "/usr/local/share/fonts",
    "/usr/X11R6/lib/X11/fonts",
    "/System/Library/Fonts",
    "/Library/Fonts",
];
/// Words in the names of files that have many letters, best first.
const WANTED: [&str; 12] = [
    "sanscjk",
    "wqy",
    "droidsansfallback",
    "ipag",
    "nanumgothic",
    "pingfang",
    "hiragino",
    "arialuni",
    "notoemoji",
    "notosanssymbols",
    "symbola",
    "unifont",
];
/// Words in the names of files that have the letters of others in another style, or as small pictures.
const UNWANTED: [&str; 9] =
    ["bold", "italic", "oblique", "mono", "serif", "condensed", "light", "thin", "color"];

/// Fonts that are looked at, and the bytes that all of them may have together: they may all come to be kept.
const MOST_FONTS: usize = 16;
const MOST_BYTES: u64 = 64 << 20;
/// Files and folders that are looked through, and how deep.
const MOST_ENTRIES: usize = 20_000;
const DEEPEST: usize = 6;

static FONTS: LazyLock<Vec<SystemFont>> = LazyLock::new(|| look_in(&FOLDERS.map(PathBuf::from)));

/// A font, and which characters it has.
struct SystemFont {
    path: PathBuf,
    /// First and last of each run of characters, in order.
    runs: Vec<(u32, u32)>,
    loaded: OnceLock<Option<FontRef<'static>>>,
}

/// A font of the system that has this character.
pub(super) fn with(c: char) -> Option<&'static FontRef<'static>> {
    FONTS.iter().filter(|font| font.has(c)).find_map(SystemFont::font)
}

impl SystemFont {
    fn read(path: PathBuf) -> Option<Self> {
        let bytes = std::fs::read(&path).ok()?;
        let font = FontRef::try_from_slice_and_index(&bytes, 0).ok()?;
        let mut known: Vec<u32> = font.codepoint_ids().map(|(_, c)| u32::from(c)).collect();
        known.sort_unstable();
        let mut runs: Vec<(u32, u32)> = Vec::new();
        for code in known {
            match runs.last_mut() {
                Some((_, last)) if code <= *last + 1 => *last = code,
                _ => runs.push((code, code)),
            }
        }
        Some(Self { path, runs, loaded: OnceLock::new() })
    }

    fn has(&self, c: char) -> bool {
        let code = u32::from(c);
        let after = self.runs.partition_point(|(first, _)| *first <= code);
        after > 0 && self.runs[after - 1].1 >= code
    }

    /// The font, which is kept from now on.
    fn font(&self) -> Option<&FontRef<'static>> {
        let load = || {
            let bytes: &'static [u8] = std::fs::read(&self.path).ok()?.leak();
            FontRef::try_from_slice_and_index(bytes, 0).ok()
        };
        self.loaded.get_or_init(load).as_ref()
    }
}

/// The fonts in these folders, those with the most letters first.
fn look_in(folders: &[PathBuf]) -> Vec<SystemFont> {
    let mut files = Vec::new();
    let mut left = MOST_ENTRIES;
    folders.iter().for_each(|folder| collect(folder, DEEPEST, &mut left, &mut files));
    files.sort();
    files.dedup();
    let mut room = MOST_BYTES;
    let mut fonts = Vec::new();
    for (_, path) in files {
        let size = std::fs::metadata(&path).map_or(u64::MAX, |file| file.len());
        if size > room || fonts.len() == MOST_FONTS {
            continue;
        }
        if let Some(font) = SystemFont::read(path) {
            room -= size;
            fonts.push(font);
        }
    }
    fonts
}

/// Adds the fonts below a folder with their ranks.
fn collect(folder: &Path, depth: usize, left: &mut usize, files: &mut Vec<(usize, PathBuf)>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        if *left == 0 {
            return;
        }
        *left -= 1;
        let path = entry.path();
        match entry.file_type() {
            Ok(kind) if kind.is_dir() && depth > 0 => collect(&path, depth - 1, left, files),
            Ok(kind) if !kind.is_dir() => files.extend(rank(&path).map(|rank| (rank, path))),
            _ => {}
        }
    }
}

/// How early a file is looked at, if it is a font that we want.
fn rank(path: &Path) -> Option<usize> {
    let name = path.file_name()?.to_str()?.to_ascii_lowercase();
    let (stem, kind) = name.rsplit_once('.')?;
    let is_font = matches!(kind, "ttf" | "otf" | "ttc" | "otc");
    let plain: String = stem.chars().filter(char::is_ascii_alphanumeric).collect();
    if !is_font || UNWANTED.iter().any(|word| plain.contains(word)) {
        return None;
    }
    Some(WANTED.iter().position(|word| plain.contains(word)).unwrap_or(WANTED.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fonts_with_many_letters_come_first() {
        let rank = |name: &str| rank(Path::new(name));
        assert!(rank("NotoSansCJK-Regular.ttc") < rank("unifont.otf"));
        assert!(rank("unifont.otf") < rank("Ubuntu-R.ttf"));
        for other in ["NotoSansCJK-Bold.ttc", "NotoColorEmoji.ttf", "README", "fonts.dir"] {
            assert_eq!(rank(other), None, "{other}");
        }
    }

    #[test]
    fn a_font_in_a_folder_is_found_by_what_it_has() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fonts");
        let fonts = look_in(&[folder]);
        let [font] = fonts.as_slice() else { panic!("one font, not {}", fonts.len()) };
        assert!(font.has('中') && !font.has('国') && !font.has('a'));
        let loaded = font.font().unwrap();
        assert!(loaded.outline(loaded.glyph_id('中')).is_some());
        assert!(look_in(&[PathBuf::from("/nowhere/at/all")]).is_empty());
    }
}
