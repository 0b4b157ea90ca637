//! Series as a picture: PNG or SVG, lines or a pie.
//!
//! A picture is laid out once, in numbers ([`chart`], [`pie`]), and put on a [`canvas::Canvas`], of which there are two:
//! pixels and SVG text. Text is measured with one embedded font for both, so the two look alike.

mod canvas;
mod chart;
mod colour;
mod curve;
mod font;
mod legend;
mod options;
mod pie;
mod raster;
mod svg;
mod ticks;
mod time_axis;
mod units;

use jiff::tz::TimeZone;
use plumbago_model::Cancel;

use crate::error::RenderError;
use crate::request::TimeRange;
use crate::series::Series;
use canvas::Canvas;
pub use options::{GraphType, Options};

/// What a picture is written as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Pixels.
    Png,
    /// Shapes.
    Svg,
}

/// Draws `series` over `range`; times are shown in `tz`. It stops when nobody waits for it any more.
pub fn draw(
    series: &[Series],
    options: &Options,
    range: TimeRange,
    tz: &TimeZone,
    format: Format,
    cancel: &Cancel,
) -> Result<Vec<u8>, RenderError> {
    let mut canvas: Box<dyn Canvas> = match format {
        Format::Png => Box::new(raster::Raster::new(options.width, options.height, options.pixel_ratio)?),
        Format::Svg => Box::new(svg::Svg::new(options.width, options.height)),
    };
    canvas.background(options.background);
    match options.graph_type {
        GraphType::Pie => pie::draw(canvas.as_mut(), series, options),
        GraphType::Line => chart::draw(canvas.as_mut(), series, options, range, tz, cancel)?,
    }
    canvas.finish()
}
