//! Typical graphs look as they looked when a person last looked at them.
//!
//! The reference pictures are in tests/pictures. `UPDATE_PICTURES=1 cargo test --test library pictures` draws them again; look at
//! them before they are committed. Pictures are compared as an eye does from a distance: by the mean colours of small
//! squares, so that a font rasterised a little otherwise is no difference and a line that is gone is one.

mod axes;
mod options;

use std::path::{Path, PathBuf};

use crate::golden::server;

/// Name of the file, and the query without its time.
const GRAPHS: [(&str, &str); 15] = [
    ("single", "target=gd.srv.web01.cpu.user&width=500&height=250&template=plain"),
    (
        "twenty",
        "target=gd.srv.*.cpu.*&target=gd.disk.*.reads&target=gd.min.*.load&target=gd.half.a.load\
         &width=800&height=500&hideLegend=false&title=Twenty lines",
    ),
    (
        "stacked",
        "target=aliasByNode(gd.srv.*.cpu.system,2)&areaMode=stacked&width=600&height=300&template=plain\
         &title=Stacked&vtitle=percent",
    ),
    (
        "second-axis",
        "target=alias(gd.srv.web01.cpu.user,\"user\")&target=secondYAxis(alias(scale(gd.srv.web01.cpu.idle,1000),\"idle\"))\
         &width=600&height=300&template=plain",
    ),
    (
        "nulls",
        "target=gd.gap.blocks&target=gd.srv.web02.cpu.user&lineMode=connected&connectedLimit=2&width=600&height=300",
    ),
    (
        "staircase",
        "target=gd.min.a.load&lineMode=staircase&areaMode=first&width=500&height=250&template=plain",
    ),
    (
        "pie",
        "target=aliasByNode(gd.srv.*.cpu.user,2)&target=fixed:25&graphType=pie&width=400&height=350&template=plain&title=Pie",
    ),
    (
        "dark",
        "target=gd.srv.*.cpu.user&template=noc&width=600&height=300&title=Dark&areaMode=all&areaAlpha=0.3",
    ),
    (
        "logarithm",
        "target=scale(gd.shape.ramp,0.01)&target=gd.srv.web01.cpu.user&target=scale(gd.srv.web01.cpu.user,1000)\
         &logBase=10&width=600&height=300&template=plain",
    ),
    ("tiny", "target=gd.srv.web01.cpu.user&width=100&height=60"),
    ("many", "target=gd.srv.*.cpu.*&width=600&height=300&template=plain&title=Twelve series"),
    (
        "letters",
        "target=alias(gd.srv.web01.cpu.user,\"Größe → ∑ ✓ ☃\")&title=Ελλάδα, Москва, 😀&fontBold=true&fontItalic=true\
         &width=500&height=250&template=plain",
    ),
    (
        "day",
        "target=sin(\"wave\",5,600)&from=1794787200&until=1794873600&width=1000&height=300&template=plain",
    ),
    (
        "huge",
        "target=gd.srv.*.cpu.user&width=4000&height=2000&fontSize=40&lineWidth=5&template=plain&margin=60",
    ),
    (
        "styles",
        "target=dashed(gd.srv.web01.cpu.user)&target=lineWidth(color(gd.srv.db01.cpu.user,\"red\"),4)\
         &target=alpha(gd.srv.web01.cpu.idle,0.3)&target=drawAsInfinite(gd.gap.single)&target=threshold(60,\"limit\",\"orange\")\
         &yMin=0&yMax=100&width=600&height=300&template=plain&tz=Asia/Kolkata",
    ),
];

/// Side of the squares, in pixels of a picture of usual size.
const SQUARE: usize = 8;
/// How far the mean colour of a square may be off, of 255.
const TOLERANCE: f64 = 40.0;
/// And that of all squares.
const MEAN_TOLERANCE: f64 = 1.5;

/// A decoded picture.
struct Picture {
    width: usize,
    height: usize,
    /// Red, green, blue, alpha.
    bytes: Vec<u8>,
}

#[test]
fn graphs_look_as_they_did() {
    let mut wrong = Vec::new();
    for (name, query) in GRAPHS {
        let drawn = server::bytes(&url(query, "png"));
        let path = folder().join(format!("{name}.png"));
        if std::env::var_os("UPDATE_PICTURES").is_some() {
            std::fs::write(&path, &drawn).expect("the picture can be written");
        }
        let reference = std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        if let Some(difference) = difference(&decode(&reference), &decode(&drawn)) {
            wrong.push(format!("{name}: {difference}"));
        }
    }
    assert!(
        wrong.is_empty(),
        "{wrong:#?}\nlook at them: UPDATE_PICTURES=1 cargo test --test library pictures"
    );
}

#[test]
fn a_difference_is_seen() {
    let graph = |query: &str| decode(&server::bytes(&url(query, "png")));
    let base = "width=400&height=250&template=plain&target=gd.srv.web01.cpu.user";
    assert!(difference(&graph(base), &graph(base)).is_none());
    for other in
        ["&target=gd.srv.web01.cpu.idle", "&yMax=500", "&title=More", "&bgcolor=eeeeff", "&lineWidth=6"]
    {
        assert!(difference(&graph(base), &graph(&format!("{base}{other}"))).is_some(), "{other}");
    }
}

#[test]
fn svg_is_drawn_alike_and_holds_the_names_as_text() {
    for (name, query) in GRAPHS {
        let svg = String::from_utf8(server::bytes(&url(query, "svg"))).expect("text");
        assert!(svg.starts_with("<?xml") && svg.trim_end().ends_with("</svg>"), "{name}");
        assert_eq!(svg.matches("<g ").count(), svg.matches("</g>").count(), "{name}");
        assert!(svg.contains("<path"), "{name}");
    }
    let evil = server::bytes(&url("target=alias(gd.shape.const,\"<script>alert(1)</script>\")", "svg"));
    let evil = String::from_utf8(evil).expect("text");
    assert!(!evil.contains("<script>") && evil.contains("&lt;script&gt;"), "{evil}");
}

#[test]
fn pictures_without_data_say_so() {
    for (query, says) in [("target=nothing.here", "No series"), ("target=gd.gap.none", "No data")] {
        let svg = String::from_utf8(server::bytes(&url(query, "svg"))).expect("text");
        assert!(svg.contains(says), "{svg}");
    }
}

fn url(query: &str, format: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_graphic() && !b"\"<>{}".contains(&byte);
    let encoded = |byte: u8| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") };
    let query: String = query.bytes().map(encoded).collect();
    format!("/render?from=1794787200&until=1794788940&format={format}&{query}")
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/pictures")
}

fn decode(bytes: &[u8]) -> Picture {
    let mut reader = png::Decoder::new(std::io::Cursor::new(bytes)).read_info().expect("a PNG");
    let mut pixels = vec![0; reader.output_buffer_size().expect("it fits into memory")];
    let info = reader.next_frame(&mut pixels).expect("a whole PNG");
    let bytes = match info.color_type {
        png::ColorType::Rgb => pixels.chunks_exact(3).flat_map(|rgb| [rgb[0], rgb[1], rgb[2], 255]).collect(),
        other => {
            assert_eq!(other, png::ColorType::Rgba);
            pixels
        }
    };
    Picture { width: info.width as usize, height: info.height as usize, bytes }
}

fn difference(a: &Picture, b: &Picture) -> Option<String> {
    if (a.width, a.height) != (b.width, b.height) {
        return Some(format!("{} by {} became {} by {}", a.width, a.height, b.width, b.height));
    }
    let side = SQUARE * a.width.div_ceil(800);
    let (mut worst, mut sum, mut count) = (0.0_f64, 0.0, 0.0);
    for top in (0..a.height).step_by(side) {
        for left in (0..a.width).step_by(side) {
            let (a, b) = (a.mean(left, top, side), b.mean(left, top, side));
            let off = a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            (worst, sum, count) = (worst.max(off), sum + off, count + 1.0);
        }
    }
    let mean = sum / count;
    (worst > TOLERANCE || mean > MEAN_TOLERANCE)
        .then(|| format!("a square is {worst:.0} off, all of them {mean:.2}"))
}

impl Picture {
    /// The mean colour of a square.
    fn mean(&self, left: usize, top: usize, side: usize) -> [f64; 4] {
        let mut sum = [0.0; 4];
        let (right, bottom) = ((left + side).min(self.width), (top + side).min(self.height));
        for y in top..bottom {
            for pixel in self.bytes[(y * self.width + left) * 4..(y * self.width + right) * 4].chunks_exact(4)
            {
                sum.iter_mut().zip(pixel).for_each(|(sum, byte)| *sum += f64::from(*byte));
            }
        }
        sum.map(|sum| sum / ((right - left) * (bottom - top)) as f64)
    }
}
