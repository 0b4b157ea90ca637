//! docs/PICTURES.md: every option, with a small picture of what it does.
//!
//! `UPDATE_DOCS=1 cargo test --test library pictures` writes the page and its pictures in docs/img/pictures. Look at them before
//! they are committed.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use graphite_render::picture::option_rows::{Base, GROUPS, OptionRow};

use super::{decode, difference, url};
use crate::golden::server;

const HEAD: &str = "\
# Pictures

<!-- Generated from crates/graphite-render/src/picture/option_rows.rs by `UPDATE_DOCS=1 cargo test --test library pictures`. -->

`/render` draws PNG and SVG (`format=png`, `format=svg`). Every option of graphite-web 1.1.10 is below: a query of graphite-web gives
the same axes, ticks and labels here, which a test compares for thirty graphs. The picture beside an option shows what it changes.

A colour is a name such as `red`, or `rrggbb` or `rrggbbaa` with or without `#`. Functions such as `color`, `alpha`, `dashed`,
`lineWidth`, `secondYAxis`, `stacked`, `drawAsInfinite` and `areaBetween` say the same for single series.

What a picture cannot obey is refused with 400 and a reason: an unknown `template`, `tz`, mode or colour, and what is no number.

**Letters** are those of DejaVu Sans. The part of it that is in the program (0.5 MB) has European scripts and symbols, some emoji among
them. Chinese, Japanese and Korean letters would take 20 MB, so these come from fonts of the system: Plumbago looks for them below
`/usr/share/fonts` and in similar places when the first such letter is to be drawn. On Debian, `apt install fonts-noto-cjk` is enough. It
reads at most `query.max_fonts` files (16), of `query.max_font_bytes` together (64 MiB). A letter that no font has is a box. In an SVG, the viewer's fonts are used.
";

const DIFFERENCES: &str = "\
## Where they differ from graphite-web's

- Hours of a whole day or of several have their dates below them.
- If there are more than ten series and the legend is not asked for, a note says how to show it.
- A legend takes at most half of the picture, and a long name is cut off.
- A point between two gaps is seen.
- On very wide pictures of long ranges, where graphite-web finds no labels that fit, there are some.
- `yMin` and `yMax` are the ends of the axis exactly. In graphite-web, the axis goes from the first label to the last.
- The colours of templates are close to graphite-web's but not the same.
";

/// All small pictures are of this size and in these colours, so that only the option makes a difference.
const COMMON: &str = "width=300&height=150&template=plain";

/// What the pictures of a base show.
fn base(base: Base) -> &'static str {
    match base {
        Base::Lines => "target=gd.srv.web01.cpu.user&target=gd.srv.db01.cpu.user",
        Base::Gaps => "target=gd.gap.blocks",
        Base::TwoAxes => {
            "target=gd.srv.web01.cpu.user&target=secondYAxis(alias(scale(gd.srv.db01.cpu.idle,1000),\"requests\"))"
        }
        Base::Same => "target=gd.srv.web01.cpu.user&target=gd.srv.web01.cpu.user&target=gd.gap.none",
        Base::Many => "target=gd.srv.*.cpu.*",
        Base::Areas => "target=gd.srv.web01.cpu.user&target=gd.srv.db01.cpu.user&areaMode=all",
        Base::Pie => {
            "target=aliasByNode(gd.srv.{web01,db01}.cpu.user,2)&target=other:8&graphType=pie&pieMode=average"
        }
    }
}

/// The query of a small picture; what comes last holds.
fn query(row: &OptionRow) -> Option<String> {
    row.shown_by.map(|(of, change)| format!("{COMMON}&{}&{change}", base(of)))
}

fn rows() -> impl Iterator<Item = &'static OptionRow> {
    GROUPS.iter().flat_map(|group| group.rows)
}

#[test]
fn every_option_has_an_effect_and_its_picture() {
    let update = std::env::var_os("UPDATE_DOCS").is_some();
    let mut wrong = Vec::new();
    for row in rows() {
        let (Some(query), Some((of, _))) = (query(row), row.shown_by) else { continue };
        let drawn = server::bytes(&url(&query, "png"));
        let without = server::bytes(&url(&format!("{COMMON}&{}", base(of)), "png"));
        if decode(&drawn).bytes == decode(&without).bytes {
            wrong.push(format!("{} has no effect", row.name));
        }
        let path = folder().join(format!("{}.png", row.name));
        if update {
            std::fs::create_dir_all(folder()).unwrap();
            std::fs::write(&path, &drawn).unwrap();
        }
        let reference = std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let difference = difference(&decode(&reference), &decode(&drawn));
        wrong.extend(difference.map(|difference| format!("{}: {difference}", row.name)));
    }
    assert!(wrong.is_empty(), "{wrong:#?}\nlook at them: UPDATE_DOCS=1 cargo test --test library pictures");
}

#[test]
fn every_option_of_graphite_web_is_in_the_table() {
    let known: serde_json::Value = serde_json::from_str(include_str!("axes.json")).unwrap();
    let theirs: Vec<&str> =
        known["options"].as_array().unwrap().iter().filter_map(|name| name.as_str()).collect();
    assert!(theirs.len() > 50, "{theirs:?}");
    let missing: Vec<_> = theirs.iter().filter(|name| !rows().any(|row| row.name == **name)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn the_page_of_pictures_is_current() {
    let mut text = HEAD.to_owned();
    for group in GROUPS {
        let _ = write!(text, "\n## {}\n\n| option | takes | otherwise | |\n|---|---|---|---|\n", group.title);
        for row in group.rows {
            let about = cell(row);
            let _ = writeln!(text, "| `{}` | {} | {} | {about} |", row.name, row.takes, row.default);
        }
    }
    let _ = write!(text, "\n{DIFFERENCES}");
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/PICTURES.md");
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, &text).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        written == text,
        "docs/PICTURES.md is out of date: UPDATE_DOCS=1 cargo test --test library pictures"
    );
}

fn cell(row: &OptionRow) -> String {
    match row.shown_by {
        None => format!("**No effect.** {}", row.about),
        Some((_, change)) => {
            format!("{} `{change}`<br>![{name}](img/pictures/{name}.png)", row.about, name = row.name)
        }
    }
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/img/pictures")
}
