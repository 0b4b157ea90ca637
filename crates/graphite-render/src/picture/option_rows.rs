//! The table of all options: what each takes and does. docs/PICTURES.md is made from it, and so is a small picture for each.

/// What a picture shows before an option changes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Base {
    /// Two lines.
    Lines,
    /// A line with gaps.
    Gaps,
    /// A line on each of two axes.
    TwoAxes,
    /// A series twice, and one without points.
    Same,
    /// A dozen lines.
    Many,
    /// Areas.
    Areas,
    /// A pie.
    Pie,
}

/// An option.
#[derive(Clone, Copy, Debug)]
pub struct OptionRow {
    /// The parameter's name.
    pub name: &'static str,
    /// What it takes.
    pub takes: &'static str,
    /// What holds if it is not given.
    pub default: &'static str,
    /// What it does; for an option without an effect, why it has none.
    pub about: &'static str,
    /// What is asked for to show it, added to the base; `None` for an option without an effect.
    pub shown_by: Option<(Base, &'static str)>,
}

/// A group of options under a heading.
#[derive(Clone, Copy, Debug)]
pub struct OptionGroup {
    /// The heading.
    pub title: &'static str,
    /// Its options.
    pub rows: &'static [OptionRow],
}

const fn row(
    name: &'static str,
    takes: &'static str,
    default: &'static str,
    about: &'static str,
    base: Base,
    query: &'static str,
) -> OptionRow {
    OptionRow { name, takes, default, about, shown_by: Some((base, query)) }
}

const fn without_effect(name: &'static str, takes: &'static str, about: &'static str) -> OptionRow {
    OptionRow { name, takes, default: "", about, shown_by: None }
}

use Base::{Areas, Gaps, Lines, Many, Pie, Same, TwoAxes};

const NUMBER: &str = "number";
const SWITCH: &str = "true or false";
const COLOUR: &str = "colour";
const TEXT: &str = "text";

/// Every option, in groups.
pub const GROUPS: &[OptionGroup] = &[
    OptionGroup { title: "The whole picture", rows: WHOLE },
    OptionGroup { title: "Titles and letters", rows: LETTERS },
    OptionGroup { title: "Legend", rows: LEGEND },
    OptionGroup { title: "Lines and areas", rows: LINES },
    OptionGroup { title: "Axes and grid", rows: AXES },
    OptionGroup { title: "Two axes", rows: TWO_AXES },
    OptionGroup { title: "Pies", rows: PIES },
];

const WHOLE: &[OptionRow] = &[
    row("width", "pixels, to 8000", "330", "Width.", Lines, "width=200"),
    row("height", "pixels, to 8000", "250", "Height.", Lines, "height=100"),
    row(
        "pixelRatio",
        "0.25 to 8",
        "1",
        "Pixels of a PNG for each unit of width and height; 2 is sharp on dense screens. Not known to graphite-web.",
        Lines,
        "pixelRatio=2",
    ),
    row("margin", "pixels", "10", "Room around everything.", Lines, "margin=30"),
    row(
        "template",
        "default, noc, plain, summary or alphas",
        "default",
        "A set of colours. An unknown one is refused.",
        Lines,
        "template=summary",
    ),
    row("bgcolor", COLOUR, "as the template", "Background.", Lines, "bgcolor=ffffcc"),
    row("fgcolor", COLOUR, "as the template", "Titles and labels.", Lines, "fgcolor=darkblue"),
    row(
        "colorList",
        "colours between commas",
        "as the template",
        "Colours of the series, one after the other.",
        Lines,
        "colorList=orange,purple",
    ),
    row("graphType", "line or pie", "line", "Lines over time, or a pie.", Lines, "graphType=pie"),
    row("graphOnly", SWITCH, "false", "Nothing but the lines.", Lines, "graphOnly=true"),
    row(
        "tz",
        "name of a time zone",
        "that of the server",
        "Time zone of labels, and of `midnight` and the like in `from` and `until`. An unknown one is refused.",
        Lines,
        "tz=Asia/Kolkata",
    ),
    without_effect(
        "outputFormat",
        "png, svg or pdf",
        "Use `format=png` or `format=svg`. There is no PDF: print an SVG.",
    ),
];

const LETTERS: &[OptionRow] = &[
    row("title", TEXT, "none", "Title; it may have several lines.", Lines, "title=Load of the web servers"),
    row("vtitle", TEXT, "none", "Title of the left axis.", Lines, "vtitle=percent"),
    row("vtitleRight", TEXT, "none", "Title of the right axis.", TwoAxes, "vtitleRight=requests"),
    row("fontSize", "4 to 72", "10", "Size of letters.", Lines, "fontSize=14"),
    row("fontBold", SWITCH, "false", "Bold letters.", Lines, "fontBold=true"),
    row("fontItalic", SWITCH, "false", "Italic letters.", Lines, "fontItalic=true"),
    without_effect(
        "fontName",
        "name of a font",
        "Letters are those of DejaVu Sans, so that a picture is the same on each server.",
    ),
];

const LEGEND: &[OptionRow] = &[
    row(
        "hideLegend",
        SWITCH,
        "true for more than 10 series",
        "Without a legend. If there are too many series for one and you did not choose, a note says so.",
        Many,
        "hideLegend=false",
    ),
    row("uniqueLegend", SWITCH, "false", "Each name once.", Same, "uniqueLegend=true"),
    row(
        "hideNullFromLegend",
        SWITCH,
        "false",
        "Without series that have no points.",
        Same,
        "hideNullFromLegend=true",
    ),
];

const LINES: &[OptionRow] = &[
    row("lineWidth", NUMBER, "1.2", "Width of lines.", Lines, "lineWidth=4"),
    row("thickness", NUMBER, "1.2", "An older name of `lineWidth`.", Lines, "thickness=4"),
    row(
        "lineMode",
        "slope, staircase or connected",
        "slope",
        "From point to point, in steps, or over gaps. A series of one point is drawn as a step.",
        Lines,
        "lineMode=staircase",
    ),
    row(
        "connectedLimit",
        "number of points",
        "no limit",
        "With `lineMode=connected`, longer gaps stay.",
        Gaps,
        "lineMode=connected&connectedLimit=2",
    ),
    row("drawNullAsZero", SWITCH, "false", "Points that are missing are zero.", Gaps, "drawNullAsZero=true"),
    row(
        "areaMode",
        "none, first, all or stacked",
        "none",
        "Fills below lines. Areas of `all` let each other shine through.",
        Lines,
        "areaMode=stacked",
    ),
    row("areaAlpha", "0 to 1", "1, 0.6 with `areaMode=all`", "How much areas cover.", Areas, "areaAlpha=0.2"),
    row(
        "minXStep",
        "pixels",
        "1",
        "The least distance of two points; more points are drawn together.",
        Lines,
        "minXStep=10",
    ),
];

const AXES: &[OptionRow] = &[
    row("yMin", NUMBER, "below all values", "Lower end.", Lines, "yMin=-50"),
    row(
        "yMax",
        "number, or max",
        "above all values",
        "Upper end; `max` is the highest value.",
        Lines,
        "yMax=200",
    ),
    row("min", NUMBER, "as yMin", "An older name of `yMin`.", Lines, "min=-50"),
    row("max", NUMBER, "as yMax", "An older name of `yMax`.", Lines, "max=200"),
    row("yLimit", NUMBER, "none", "The axis ends here at the latest.", Lines, "yLimit=40"),
    row("yStep", NUMBER, "a round one", "Distance of two lines.", Lines, "yStep=40"),
    row(
        "yDivisors",
        "numbers between commas",
        "4,5,6",
        "Into how many parts the axis may be divided; the ends are then as close to the values as they can be.",
        Lines,
        "yDivisors=2",
    ),
    row("minorY", "0 to 20", "1", "Thin lines between two lines.", Lines, "minorY=4"),
    row(
        "yUnitSystem",
        "si, binary, sec, msec or none",
        "si",
        "k and M, Ki and Mi, minutes and hours, or all digits.",
        Lines,
        "yUnitSystem=binary",
    ),
    row("yAxisSide", "left or right", "left", "Side of the only axis.", Lines, "yAxisSide=right"),
    row(
        "logBase",
        "number above 1, or e",
        "none",
        "A logarithmic axis. Values of zero and less are left out.",
        Lines,
        "logBase=10",
    ),
    row(
        "xFormat",
        "as in strftime",
        "depends on the range",
        "Format of times. Without it, dates are below the hours of a day or more; graphite-web has none there.",
        Lines,
        "xFormat=%H.%M.%S",
    ),
    row("hideAxes", SWITCH, "false", "Without axes and grid.", Lines, "hideAxes=true"),
    row("hideXAxis", SWITCH, "false", "Without times.", Lines, "hideXAxis=true"),
    row("hideYAxis", SWITCH, "false", "Without values.", Lines, "hideYAxis=true"),
    row("hideGrid", SWITCH, "false", "Without grid.", Lines, "hideGrid=true"),
    row(
        "majorGridLineColor",
        COLOUR,
        "as the template",
        "Lines of the grid.",
        Lines,
        "majorGridLineColor=orange",
    ),
    row(
        "minorGridLineColor",
        COLOUR,
        "as the template",
        "Thin lines of the grid.",
        Lines,
        "minorGridLineColor=orange",
    ),
];

/// They have an effect if a target uses `secondYAxis`.
const TWO_AXES: &[OptionRow] = &[
    row("yMinLeft", NUMBER, "as yMin", "Lower end on the left.", TwoAxes, "yMinLeft=-50"),
    row("yMinRight", NUMBER, "below all values", "Lower end on the right.", TwoAxes, "yMinRight=-5000"),
    row("yMaxLeft", "number, or max", "as yMax", "Upper end on the left.", TwoAxes, "yMaxLeft=200"),
    row(
        "yMaxRight",
        "number, or max",
        "above all values",
        "Upper end on the right.",
        TwoAxes,
        "yMaxRight=200000",
    ),
    row(
        "yLimitLeft",
        NUMBER,
        "as yLimit",
        "The left axis ends here at the latest.",
        TwoAxes,
        "yLimitLeft=40",
    ),
    row(
        "yLimitRight",
        NUMBER,
        "none",
        "The right axis ends here at the latest.",
        TwoAxes,
        "yLimitRight=60000",
    ),
    row("yStepLeft", NUMBER, "as yStep", "Distance of two lines on the left.", TwoAxes, "yStepLeft=40"),
    row(
        "yStepRight",
        NUMBER,
        "a round one",
        "Distance of two lines on the right.",
        TwoAxes,
        "yStepRight=7000",
    ),
    row("leftColor", COLOUR, "as the series", "Colour of the left lines.", TwoAxes, "leftColor=orange"),
    row("rightColor", COLOUR, "as the series", "Colour of the right lines.", TwoAxes, "rightColor=orange"),
    row("leftWidth", NUMBER, "as the series", "Width of the left lines.", TwoAxes, "leftWidth=4"),
    row("rightWidth", NUMBER, "as the series", "Width of the right lines.", TwoAxes, "rightWidth=4"),
    row(
        "leftDashed",
        "length in pixels",
        "as the series",
        "Dashes of the left lines.",
        TwoAxes,
        "leftDashed=6",
    ),
    row(
        "rightDashed",
        "length in pixels",
        "as the series",
        "Dashes of the right lines.",
        TwoAxes,
        "rightDashed=6",
    ),
];

const PIES: &[OptionRow] = &[
    row(
        "pieMode",
        "average, maximum or minimum",
        "average",
        "What a slice is the size of. A target such as `name:12.5` is a slice of this size.",
        Pie,
        "pieMode=maximum",
    ),
    row(
        "valueLabels",
        "none, number or percent",
        "percent",
        "What is written on slices.",
        Pie,
        "valueLabels=number",
    ),
    row("valueLabelsMin", NUMBER, "5", "Smaller slices have no label.", Pie, "valueLabelsMin=30"),
    row("valueLabelsColor", COLOUR, "black", "Colour of these labels.", Pie, "valueLabelsColor=white"),
    row(
        "pieLabels",
        "horizontal, rotated or none",
        "horizontal",
        "Direction of these labels.",
        Pie,
        "pieLabels=rotated",
    ),
];
