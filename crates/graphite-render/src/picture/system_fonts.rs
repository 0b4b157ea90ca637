//! Fonts of the system, for letters that the embedded font does not have: Chinese, Japanese, Korean and rare symbols.
//!
//! They are looked for when the first such letter is to be drawn. A few files are read then, to learn which characters they
//! have; the bytes of a font are kept once it is used. What a request asks for never decides which files are read.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

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

/// Files and folders that are looked through, and how deep.
const MOST_ENTRIES: usize = 20_000;
const DEEPEST: usize = 6;

/// What of the system's fonts may be read. All of it may come to be kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FontLimits {
    /// Most files.
    pub files: usize,
    /// Most bytes of all of them together.
    pub bytes: u64,
}

impl Default for FontLimits {
    fn default() -> Self {
        Self { files: 16, bytes: 64 << 20 }
    }
}

static LIMITS: OnceLock<FontLimits> = OnceLock::new();
static FONTS: OnceLock<Vec<SystemFont>> = OnceLock::new();
static LEFT_OUT: AtomicU64 = AtomicU64::new(0);

/// Limits what this process reads. It comes too late once a letter of the system's fonts was drawn, or after another call.
pub fn limit_system_fonts(limits: FontLimits) {
    // All pictures of a process share what was read, so the first limits hold.
    let _ = LIMITS.set(limits);
}

/// Fonts of the system that were not read because of the limits.
pub fn system_fonts_left_out() -> u64 {
    LEFT_OUT.load(Ordering::Relaxed)
}

/// All fonts that the limits allow, looked for when the first one is needed.
fn fonts() -> &'static [SystemFont] {
    FONTS.get_or_init(|| {
        let limits = *LIMITS.get_or_init(FontLimits::default);
        let (fonts, left_out) = look_in(&FOLDERS.map(PathBuf::from), limits);
        LEFT_OUT.store(left_out, Ordering::Relaxed);
        fonts
    })
}

/// A font, and which characters it has.
struct SystemFont {
    path: PathBuf,
    /// First and last of each run of characters, in order.
    runs: Vec<(u32, u32)>,
    loaded: OnceLock<Option<FontRef<'static>>>,
}

/// A font of the system that has this character.
pub(super) fn with(c: char) -> Option<&'static FontRef<'static>> {
    fonts().iter().filter(|font| font.has(c)).find_map(SystemFont::font)
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

/// The fonts in these folders, those with the most letters first, and how many the limits left out.
fn look_in(folders: &[PathBuf], limits: FontLimits) -> (Vec<SystemFont>, u64) {
    let mut files = Vec::new();
    let mut left = MOST_ENTRIES;
    folders.iter().for_each(|folder| collect(folder, DEEPEST, &mut left, &mut files));
    files.sort();
    files.dedup();
    let mut room = limits.bytes;
    let mut fonts = Vec::new();
    let mut left_out = 0;
    for (_, path) in files {
        let size = std::fs::metadata(&path).map_or(u64::MAX, |file| file.len());
        if size > room || fonts.len() >= limits.files {
            left_out += 1;
            continue;
        }
        if let Some(font) = SystemFont::read(path) {
            room -= size;
            fonts.push(font);
        }
    }
    (fonts, left_out)
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
        let (fonts, left_out) = look_in(&[folder], FontLimits::default());
        assert_eq!(left_out, 0);
        let [font] = fonts.as_slice() else { panic!("one font, not {}", fonts.len()) };
        assert!(font.has('中') && !font.has('国') && !font.has('a'));
        let loaded = font.font().unwrap();
        assert!(loaded.outline(loaded.glyph_id('中')).is_some());
        assert!(look_in(&[PathBuf::from("/nowhere/at/all")], FontLimits::default()).0.is_empty());
    }

    #[test]
    fn what_the_limits_leave_out_is_counted() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fonts");
        let size = std::fs::metadata(folder.join("Middle.ttf")).unwrap().len();
        // The same font under three paths.
        let folders = [folder.clone(), folder.join("../fonts"), folder.join("../fonts/../fonts")];
        for (files, bytes, read) in
            [(16, 3 * size, 3), (2, 3 * size, 2), (0, 3 * size, 0), (16, 3 * size - 1, 2), (16, size - 1, 0)]
        {
            let (fonts, left_out) = look_in(&folders, FontLimits { files, bytes });
            assert_eq!((fonts.len(), left_out), (read, 3 - read as u64), "{files} files, {bytes} bytes");
        }
    }
}
