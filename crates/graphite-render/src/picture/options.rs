//! The graph options of a request.

use super::colour::{Colour, Theme};
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
    pub(super) vertical_title: String,
    pub(super) margin: f32,
    pub(super) font_size: f32,
    pub(super) hide_legend: Option<bool>,
    pub(super) unique_legend: bool,
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
    pub(super) minor_lines: u32,
    pub(super) units: UnitSystem,
    /// Of the left axis, and of the right one.
    pub(super) axes: [Wish; 2],
    pub(super) pie_mode: PieMode,
    pub(super) slice_labels: bool,
}

/// Largest picture: enough for a wall, and bounded in memory.
const MAX_SIDE: u32 = 8000;
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
        let theme = Theme::named(get("template").unwrap_or("default"));
        let bare = reader.switch("graphOnly");
        let size = reader.number("fontSize")?.unwrap_or(10.0).clamp(4.0, 72.0) as f32;
        let options = Self {
            width: reader.side("width", 330)?,
            height: reader.side("height", 250)?,
            pixel_ratio: reader.number("pixelRatio")?.unwrap_or(1.0).clamp(0.25, 8.0) as f32,
            graph_type: GraphType::named(get("graphType"))?,
            background: reader.colour("bgcolor")?.unwrap_or(theme.background),
            foreground: reader.colour("fgcolor")?.unwrap_or(theme.foreground),
            major: reader.colour("majorGridLineColor")?.unwrap_or(theme.major),
            minor: reader.colour("minorGridLineColor")?.unwrap_or(theme.minor),
            palette: reader.palette(theme)?,
            title: get("title").unwrap_or_default().to_owned(),
            vertical_title: get("vtitle").unwrap_or_default().to_owned(),
            margin: reader.number("margin")?.unwrap_or(if bare { 0.0 } else { 10.0 }).clamp(0.0, 500.0)
                as f32,
            font_size: size,
            hide_legend: if bare { Some(true) } else { get("hideLegend").map(is_true) },
            unique_legend: reader.switch("uniqueLegend"),
            hide_grid: bare || reader.switch("hideGrid"),
            hide_x_axis: bare || reader.switch("hideAxes") || reader.switch("hideXAxis"),
            hide_y_axis: bare || reader.switch("hideAxes") || reader.switch("hideYAxis"),
            axis_on_the_right: get("yAxisSide") == Some("right"),
            line_mode: line_mode(get("lineMode")),
            area_mode: area_mode(get("areaMode")),
            area_alpha: reader.number("areaAlpha")?,
            line_width: reader.number("lineWidth")?.unwrap_or(1.2).clamp(0.1, 100.0) as f32,
            connected_limit: reader
                .number("connectedLimit")?
                .map_or(usize::MAX, |limit| limit.max(0.0) as usize),
            nulls_are_zero: reader.switch("drawNullAsZero"),
            x_format: get("xFormat").filter(|format| !format.is_empty()).map(str::to_owned),
            minor_lines: reader.number("minorY")?.unwrap_or(1.0).clamp(0.0, 20.0) as u32,
            units: UnitSystem::named(get("yUnitSystem").unwrap_or("si")),
            axes: [reader.axis("Left", true)?, reader.axis("Right", false)?],
            pie_mode: pie_mode(get("pieMode"))?,
            slice_labels: get("pieLabels") != Some("none") && !bare,
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

struct Reader<'r, 'p> {
    get: &'r dyn Fn(&str) -> Option<&'p str>,
}

impl Reader<'_, '_> {
    fn switch(&self, name: &str) -> bool {
        (self.get)(name).is_some_and(is_true)
    }

    /// A number. Dashboards send parameters that are empty for those that are not set.
    fn number(&self, name: &str) -> Result<Option<f64>, String> {
        let Some(text) = (self.get)(name).map(str::trim).filter(|text| !text.is_empty()) else {
            return Ok(None);
        };
        // Graphite's own page writes infinity in many ways; none of them is an end of an axis.
        match text.parse::<f64>() {
            Ok(number) => Ok(Some(number).filter(|number| number.is_finite())),
            Err(_) => Err(format!("parameter `{name}` must be a number, not `{text}`")),
        }
    }

    fn side(&self, name: &str, default: u32) -> Result<u32, String> {
        match self.number(name)? {
            None => Ok(default),
            Some(side) if (1.0..=f64::from(MAX_SIDE)).contains(&side) => Ok(side as u32),
            Some(side) => Err(format!("parameter `{name}` must be between 1 and {MAX_SIDE}, not {side}")),
        }
    }

    fn colour(&self, name: &str) -> Result<Option<Colour>, String> {
        let Some(text) = (self.get)(name).filter(|text| !text.is_empty()) else { return Ok(None) };
        let bad = || {
            format!(
                "parameter `{name}`: `{text}` is no colour; use a name such as red, or digits such as ff8800"
            )
        };
        Colour::parse(text).ok_or_else(bad).map(Some)
    }

    fn palette(&self, theme: &Theme) -> Result<Vec<Colour>, String> {
        let Some(list) = (self.get)("colorList").filter(|list| !list.is_empty()) else {
            return Ok(theme.lines.to_vec());
        };
        list.split(',')
            .map(|text| {
                Colour::parse(text).ok_or_else(|| {
                    format!("parameter `colorList`: `{text}` is no colour; use names such as red, or digits such as ff8800")
                })
            })
            .collect()
    }

    /// The options of one axis of values; those without a side mean the left one, and the only one.
    fn axis(&self, side: &str, plain: bool) -> Result<Wish, String> {
        let of = |name: &str| -> Result<Option<f64>, String> {
            match self.number(&format!("{name}{side}"))? {
                None if plain => self.number(name),
                found => Ok(found),
            }
        };
        let log_base = match (self.get)("logBase") {
            Some("e") => Some(std::f64::consts::E),
            _ => self.number("logBase")?,
        };
        Ok(Wish { min: of("yMin")?, max: of("yMax")?, limit: of("yLimit")?, step: of("yStep")?, log_base })
    }
}

/// As Graphite reads switches.
fn is_true(text: &str) -> bool {
    matches!(text.to_ascii_lowercase().as_str(), "true" | "t" | "yes" | "y" | "1" | "on")
}

fn pie_mode(name: Option<&str>) -> Result<PieMode, String> {
    match name {
        None | Some("average" | "") => Ok(PieMode::Average),
        Some("maximum") => Ok(PieMode::Maximum),
        Some("minimum") => Ok(PieMode::Minimum),
        Some(other) => Err(format!("the pieMode `{other}` does not exist; use average, maximum or minimum")),
    }
}

fn line_mode(name: Option<&str>) -> LineMode {
    match name {
        Some("staircase") => LineMode::Staircase,
        Some("connected") => LineMode::Connected,
        _ => LineMode::Slope,
    }
}

fn area_mode(name: Option<&str>) -> AreaMode {
    match name {
        Some("first") => AreaMode::First,
        Some("all") => AreaMode::All,
        Some("stacked") => AreaMode::Stacked,
        _ => AreaMode::None,
    }
}

#[cfg(test)]
mod tests {
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
            ("yMin", "low", "`yMin`"),
        ] {
            let error = read(&[(name, value)]).unwrap_err();
            assert!(error.contains(says), "{error}");
        }
        assert!(read(&[("width", "8000"), ("height", "8000")]).unwrap_err().contains("too large"));
    }

    #[test]
    fn axes_have_sides() {
        let options = read(&[("yMin", "1"), ("yMaxRight", "9"), ("logBase", "e")]).unwrap();
        assert_eq!(
            (options.axes[0].min, options.axes[1].min, options.axes[1].max),
            (Some(1.0), None, Some(9.0))
        );
        assert_eq!(options.axes[0].log_base, Some(std::f64::consts::E));
    }
}
