//! The graph options of a request. `option_rows.rs` says what each of them does.

use super::colour::{Colour, Theme};
use super::font::Style;
use super::reader::Reader;
use super::ticks::Wish;
use super::units::UnitSystem;

/// Lines or a pie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GraphType {
    /// Lines over time.
    Line,
    /// A slice for each series.
    Pie,
}

impl GraphType {
    /// As the parameter `graphType` names them.
    pub fn named(name: Option<&str>) -> Result<Self, String> {
        match name {
            None | Some("line" | "") => Ok(Self::Line),
            Some("pie") => Ok(Self::Pie),
            Some(other) => Err(format!("the graphType `{other}` does not exist; use line or pie")),
        }
    }
}

/// How points become a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LineMode {
    /// From point to point; nulls leave a gap.
    Slope,
    /// Each value for the whole of its step.
    Staircase,
    /// Over gaps as well.
    Connected,
}

/// What is filled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AreaMode {
    None,
    First,
    All,
    Stacked,
}

/// What a slice of a pie is the size of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PieMode {
    Average,
    Maximum,
    Minimum,
}

/// What is written on a slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SliceLabel {
    None,
    Number,
    Percent,
}

/// How the lines of one side are drawn if there are two axes. What is absent is as the series says.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct SideStyle {
    pub(super) colour: Option<Colour>,
    pub(super) width: Option<f64>,
    pub(super) dash: Option<f64>,
}

/// An axis of values: where it goes, what is written beside it, how its lines look.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Side {
    pub(super) wish: Wish,
    pub(super) title: String,
    pub(super) style: SideStyle,
}

/// How a pie is drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Slices {
    pub(super) size: PieMode,
    pub(super) label: SliceLabel,
    /// Slices below this, in percent or as a number, have no label.
    pub(super) least: f64,
    pub(super) colour: Colour,
    /// Are labels written along the slices?
    pub(super) rotated: bool,
}

/// All options.
#[derive(Clone, Debug)]
pub struct Options {
    /// In pixels.
    pub width: u32,
    /// In pixels.
    pub height: u32,
    /// Pixels of a PNG for each of these.
    pub pixel_ratio: f32,
    /// Lines or a pie.
    pub graph_type: GraphType,
    pub(super) background: Colour,
    pub(super) foreground: Colour,
    pub(super) major: Colour,
    pub(super) minor: Colour,
    pub(super) palette: Vec<Colour>,
    pub(super) title: String,
    pub(super) margin: f32,
    pub(super) font_size: f32,
    pub(super) letters: Style,
    pub(super) hide_legend: Option<bool>,
    pub(super) unique_legend: bool,
    pub(super) nulls_in_legend: bool,
    /// Is there nothing but the lines?
    pub(super) bare: bool,
    pub(super) hide_grid: bool,
    pub(super) hide_x_axis: bool,
    pub(super) hide_y_axis: bool,
    pub(super) axis_on_the_right: bool,
    pub(super) line_mode: LineMode,
    pub(super) area_mode: AreaMode,
    pub(super) area_alpha: Option<f64>,
    pub(super) line_width: f32,
    pub(super) connected_limit: usize,
    pub(super) nulls_are_zero: bool,
    pub(super) x_format: Option<String>,
    /// The fewest pixels from one point of a line to the next.
    pub(super) x_step: f64,
    pub(super) minor_lines: u32,
    pub(super) units: UnitSystem,
    /// The left axis, and the right one.
    pub(super) sides: [Side; 2],
    pub(super) slices: Slices,
}

/// Largest picture: enough for a wall, and bounded in memory.
pub(super) const MAX_SIDE: u32 = 8000;
const MAX_PIXELS: f64 = 32e6;

/// Bytes of a pixel: its colour, the mask of the drawing area, and the compressed picture beside its rows.
const PIXEL_BYTES: f64 = 10.0;

impl Options {
    /// Bytes that a picture takes beside its points.
    pub fn room(&self) -> usize {
        (self.pixels() * PIXEL_BYTES) as usize
    }

    fn pixels(&self) -> f64 {
        f64::from(self.width) * f64::from(self.height) * f64::from(self.pixel_ratio).powi(2)
    }

    /// Reads the options through `get`, which knows the parameters of the request. The error is a text for the client.
    pub fn read<'p>(get: &dyn Fn(&str) -> Option<&'p str>) -> Result<Self, String> {
        let reader = Reader { get };
        let theme = Theme::named(reader.text("template").unwrap_or("default"))?;
        let bare = reader.switch("graphOnly");
        let visible = |name: &str| if bare { "" } else { get(name).unwrap_or_default() };
        let clamped = |name: &str, default: f64, low: f64, high: f64| -> Result<f64, String> {
            Ok(reader.number(name)?.unwrap_or(default).clamp(low, high))
        };
        let hide_axes = bare || reader.switch("hideAxes");
        let options = Self {
            width: reader.side("width", 330)?,
            height: reader.side("height", 250)?,
            pixel_ratio: clamped("pixelRatio", 1.0, 0.25, 8.0)? as f32,
            graph_type: GraphType::named(get("graphType"))?,
            background: reader.colour("bgcolor")?.unwrap_or(theme.background),
            foreground: reader.colour("fgcolor")?.unwrap_or(theme.foreground),
            major: reader.colour("majorGridLineColor")?.unwrap_or(theme.major),
            minor: reader.colour("minorGridLineColor")?.unwrap_or(theme.minor),
            palette: reader.colours("colorList")?.unwrap_or_else(|| theme.lines.to_vec()),
            title: visible("title").to_owned(),
            margin: if bare { 0.0 } else { clamped("margin", 10.0, 0.0, 500.0)? as f32 },
            font_size: clamped("fontSize", 10.0, 4.0, 72.0)? as f32,
            letters: Style { bold: reader.switch("fontBold"), italic: reader.switch("fontItalic") },
            hide_legend: if bare { Some(true) } else { reader.switched("hideLegend") },
            unique_legend: reader.switch("uniqueLegend"),
            nulls_in_legend: !reader.switch("hideNullFromLegend"),
            bare,
            hide_grid: hide_axes || reader.switch("hideGrid"),
            hide_x_axis: hide_axes || reader.switch("hideXAxis"),
            hide_y_axis: hide_axes || reader.switch("hideYAxis"),
            axis_on_the_right: reader.text("yAxisSide") == Some("right"),
            line_mode: reader.choice("lineMode", LINE_MODES, LineMode::Slope)?,
            area_mode: reader.choice("areaMode", AREA_MODES, AreaMode::None)?,
            area_alpha: reader.number("areaAlpha")?,
            line_width: reader.first_number(&["lineWidth", "thickness"])?.unwrap_or(1.2).clamp(0.1, 100.0)
                as f32,
            connected_limit: reader
                .number("connectedLimit")?
                .map_or(usize::MAX, |limit| limit.max(0.0) as usize),
            nulls_are_zero: reader.switch("drawNullAsZero"),
            x_format: reader.text("xFormat").map(str::to_owned),
            x_step: clamped("minXStep", 1.0, 0.01, 1000.0)?,
            minor_lines: clamped("minorY", 1.0, 0.0, 20.0)? as u32,
            units: UnitSystem::named(reader.text("yUnitSystem").unwrap_or("si")),
            sides: [
                Side {
                    wish: reader.axis("Left", true)?,
                    title: visible("vtitle").to_owned(),
                    style: side_style(&reader, "left")?,
                },
                Side {
                    wish: reader.axis("Right", false)?,
                    title: visible("vtitleRight").to_owned(),
                    style: side_style(&reader, "right")?,
                },
            ],
            slices: slices(&reader, bare)?,
        };
        options.check_size()
    }

    fn check_size(self) -> Result<Self, String> {
        if self.pixels() > MAX_PIXELS {
            return Err(format!(
                "a picture of {} by {} pixels at pixelRatio {} is too large; {MAX_PIXELS} pixels are drawn at most",
                self.width, self.height, self.pixel_ratio
            ));
        }
        Ok(self)
    }
}

const LINE_MODES: &[(&str, LineMode)] =
    &[("slope", LineMode::Slope), ("staircase", LineMode::Staircase), ("connected", LineMode::Connected)];
const AREA_MODES: &[(&str, AreaMode)] = &[
    ("none", AreaMode::None),
    ("first", AreaMode::First),
    ("all", AreaMode::All),
    ("stacked", AreaMode::Stacked),
];
const PIE_MODES: &[(&str, PieMode)] =
    &[("average", PieMode::Average), ("maximum", PieMode::Maximum), ("minimum", PieMode::Minimum)];
const SLICE_LABELS: &[(&str, SliceLabel)] =
    &[("none", SliceLabel::None), ("number", SliceLabel::Number), ("percent", SliceLabel::Percent)];
const PIE_LABELS: &[(&str, Option<bool>)] =
    &[("horizontal", Some(false)), ("rotated", Some(true)), ("none", None)];

fn side_style(reader: &Reader<'_, '_>, side: &str) -> Result<SideStyle, String> {
    Ok(SideStyle {
        colour: reader.colour(&format!("{side}Color"))?,
        width: reader.number(&format!("{side}Width"))?,
        dash: reader.number(&format!("{side}Dashed"))?.filter(|dash| *dash > 0.0),
    })
}

fn slices(reader: &Reader<'_, '_>, bare: bool) -> Result<Slices, String> {
    let way = reader.choice("pieLabels", PIE_LABELS, Some(false))?;
    let label = reader.choice("valueLabels", SLICE_LABELS, SliceLabel::Percent)?;
    Ok(Slices {
        size: reader.choice("pieMode", PIE_MODES, PieMode::Average)?,
        label: if bare || way.is_none() { SliceLabel::None } else { label },
        least: reader.number("valueLabelsMin")?.unwrap_or(5.0),
        colour: reader.colour("valueLabelsColor")?.unwrap_or(Colour::BLACK),
        rotated: way == Some(true),
    })
}

#[cfg(test)]
mod tests {
    use super::super::ticks::Top;
    use super::*;

    fn read(pairs: &[(&str, &'static str)]) -> Result<Options, String> {
        Options::read(&|name| pairs.iter().find(|(key, _)| *key == name).map(|(_, value)| *value))
    }

    #[test]
    fn options_have_defaults_and_limits() {
        let options = read(&[]).unwrap();
        assert_eq!((options.width, options.height, options.graph_type), (330, 250, GraphType::Line));
        for (name, value, says) in [
            ("width", "0", "between 1 and 8000"),
            ("height", "wide", "`wide`"),
            ("bgcolor", "reddish", "`reddish`"),
            ("colorList", "red,nope", "`nope`"),
            ("graphType", "donut", "`donut`"),
            ("pieMode", "sum", "`sum`"),
            ("lineMode", "dotted", "slope, staircase, connected"),
            ("template", "nosuch", "default, noc, plain, summary, alphas"),
            ("yDivisors", "4,0", "`0`"),
            ("yMin", "low", "`yMin`"),
        ] {
            let error = read(&[(name, value)]).unwrap_err();
            assert!(error.contains(says), "{error}");
        }
        assert!(read(&[("width", "8000"), ("height", "8000")]).unwrap_err().contains("too large"));
    }

    #[test]
    fn axes_have_sides_and_old_names() {
        let options = read(&[("yMin", "1"), ("yMaxRight", "9"), ("logBase", "e")]).unwrap();
        let [left, right] = options.sides.map(|side| side.wish);
        assert_eq!((left.min, right.min, right.max), (Some(1.0), None, Top::At(9.0)));
        assert_eq!(left.log_base, Some(std::f64::consts::E));
        let options = read(&[("min", "1"), ("max", "7"), ("yMax", "max"), ("thickness", "3")]).unwrap();
        assert_eq!((options.sides[0].wish.min, options.sides[0].wish.max), (Some(1.0), Top::Value));
        assert!((options.line_width - 3.0).abs() < 1e-6);
    }
}
