//! Series as a picture: PNG or SVG, lines or a pie.
//!
//! A picture is laid out once, in numbers ([`chart`], [`pie`]), and put on a [`canvas::Canvas`], of which there are two:
//! pixels and SVG text. Text is measured with the same fonts for both, so the two look alike.

mod axes;
mod canvas;
mod chart;
mod colour;
mod curve;
mod font;
mod hairline;
mod layout;
mod legend;
pub mod option_rows;
mod options;
mod pie;
mod plots;
mod raster;
mod reader;
mod svg;
mod system_fonts;
mod ticks;
mod time_axis;
mod units;

use jiff::tz::TimeZone;
use plumbago_model::Cancel;

use crate::error::RenderError;
use crate::series::Series;
use canvas::Canvas;
pub use options::{GraphType, Options};
pub use system_fonts::{FontLimits, limit_system_fonts, system_fonts_left_out};

/// What a picture is written as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Pixels.
    Png,
    /// Shapes.
    Svg,
}

/// Draws `series`, as graphite-web lays them out; times are shown in `tz`. It stops when nobody waits for it any more.
pub fn draw(
    series: &[Series],
    options: &Options,
    tz: &TimeZone,
    format: Format,
    cancel: &Cancel,
) -> Result<Vec<u8>, RenderError> {
    let size = (options.width, options.height);
    let mut canvas: Box<dyn Canvas> = match format {
        Format::Png => Box::new(raster::Raster::new(size, options.pixel_ratio, options.letters)?),
        Format::Svg => Box::new(svg::Svg::new(size, options.letters)),
    };
    canvas.background(options.background);
    match options.graph_type {
        GraphType::Pie => pie::draw(canvas.as_mut(), series, options),
        GraphType::Line => chart::draw(canvas.as_mut(), series, options, tz, cancel)?,
    }
    canvas.finish()
}
