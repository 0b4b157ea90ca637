//! How a series is to be drawn. Only pictures look at it.

/// Set by the functions of the group "Graph"; whatever is absent is as the picture's own parameters say.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Drawing {
    /// A colour by its name or digits, as it was written.
    pub color: Option<String>,
    /// Opacity of the line or area, from 0 to 1.
    pub alpha: Option<f64>,
    /// Length of the dashes, in pixels.
    pub dash: Option<f64>,
    /// Width of the line, in pixels.
    pub line_width: Option<f64>,
    /// Is the area below it filled, down to what was stacked before? Its values already hold the sum.
    pub stacked: bool,
    /// The stack it was added to, if it was added to one by name.
    pub stack: Option<String>,
    /// Takes part in a stack without being seen.
    pub invisible: bool,
    /// Measured by the axis on the right.
    pub second_y_axis: bool,
    /// Every value that is not zero is a line from bottom to top.
    pub draw_as_infinite: bool,
}
