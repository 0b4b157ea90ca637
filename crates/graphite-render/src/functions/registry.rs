//! The table of all functions, sorted by name: it feeds the plan, the argument check and the function list.

use super::machinery::row::Default::{Bool, Float, Int, Nothing, Text};
use super::{
    Kind, Param, Row, alias, arithmetic, as_percent, combine, consolidate_by, derivative, deviation, divide,
    events, exponential, filter, graph, group, hitcount, holt_winters, legend, letters, line, lists,
    logarithm, map_reduce, moving, nulls, percentile, periodic_gaps, query, rank, regression, rows, shift,
    sort, substr, summarize, synthetic, time_slice, wildcards,
};
use crate::error::RenderError;
use crate::series::aggregate::Aggregation;
use plumbago_model::suggest::did_you_mean;

/// All functions.
pub fn registry() -> &'static [Row] {
    ROWS
}

/// A function by its name.
pub fn row(name: &str) -> Result<&'static Row, RenderError> {
    let unknown = || RenderError::UnknownFunction {
        name: name.to_owned(),
        hint: did_you_mean(name, ROWS.iter().map(|row| row.name)),
        targets: Vec::new(),
    };
    ROWS.binary_search_by(|row| row.name.cmp(name)).map(|at| &ROWS[at]).map_err(|_| unknown())
}

const ALIAS: &str = "Alias";
const CALCULATE: &str = "Calculate";
const COMBINE: &str = "Combine";
const FILTER: &str = "Filter Series";
const FILTER_DATA: &str = "Filter Data";
const GRAPH: &str = "Graph";
const SORTING: &str = "Sorting";
const SPECIAL: &str = "Special";
const TRANSFORM: &str = "Transform";

const SERIES: Param = Param::required("seriesList", Kind::SeriesList);
const LISTS_OPTIONAL: Param = Param::optional("seriesLists", Kind::SeriesList).repeated();
const FUNC: Param = Param::required("func", Kind::AggFunc).one_of(&Aggregation::NAMES);
const FUNC_AVERAGE: Param =
    Param::default("func", Kind::AggFunc, Text("average")).one_of(&Aggregation::NAMES);
const FUNC_SUM: Param = Param::default("func", Kind::AggFunc, Text("sum")).one_of(&Aggregation::NAMES);
const XFF: Param = Param::optional("xFilesFactor", Kind::Float);
const XFF_REQUIRED: Param = Param::required("xFilesFactor", Kind::Float);
const REVERSE: Param = Param::default("reverse", Kind::Boolean, Bool(false));
/// Said to be required, yet Graphite takes 1 without it.
const N_OR_ONE: Param = Param { default: Int(1), ..Param::required("n", Kind::Integer) };
const WINDOW: Param = Param::required("windowSize", Kind::IntOrInterval).suggest(&[
    Int(5),
    Int(7),
    Int(10),
    Text("1min"),
    Text("5min"),
    Text("10min"),
    Text("30min"),
    Text("1hour"),
]);
const INTERVAL: Param =
    Param::required("intervalString", Kind::Interval).suggest(&[Text("10min"), Text("1h"), Text("1d")]);
const SHIFTS: &[super::Default] =
    &[Text("1h"), Text("6h"), Text("12h"), Text("1d"), Text("2d"), Text("7d"), Text("14d"), Text("30d")];
const SHIFT: Param = Param::required("timeShift", Kind::Interval).suggest(SHIFTS);
const STACK_UNIT: Param = Param::default("timeShiftUnit", Kind::Interval, Text("1d")).suggest(SHIFTS);

const BOOTSTRAP: Param =
    Param::default("bootstrapInterval", Kind::Interval, Text("7d")).suggest(&[Text("7d"), Text("30d")]);
const SEASONALITY: Param =
    Param::default("seasonality", Kind::Interval, Text("1d")).suggest(&[Text("1d"), Text("7d")]);
const ALIGN_TO: Param = Param::optional("alignTo", Kind::String)
    .or_plain(&[Bool(false), Nothing, Bool(true)])
    .one_of(&["days", "hours", "minutes", "months", "seconds", "weeks", "years"]);
const NAME: Param = Param::required("name", Kind::String);
const STEP: Param = Param::default("step", Kind::Integer, Int(60));

const FIRST_LIST: Param = Param::required("seriesListFirstPos", Kind::SeriesList);
const SECOND_LIST: Param = Param::required("seriesListSecondPos", Kind::SeriesList);
const POSITION: Param = Param::optional("position", Kind::Node).repeated();
const SEARCH: Param = Param::required("search", Kind::String);
const REPLACE: Param = Param::required("replace", Kind::String);
const LABEL: Param = Param::optional("label", Kind::String);
const COLOR: Param = Param::optional("color", Kind::String);
const CALLBACK: Param = Param::required("callback", Kind::AggOrSeriesFunc).one_of(CALLBACKS);

/// What groups may be combined by: aggregations, and the functions that aggregate.
#[rustfmt::skip]
const CALLBACKS: &[&str] = &[
    "asPercent", "average", "averageSeries", "averageSeriesWithWildcards", "avg", "avg_zero", "count", "countSeries",
    "current", "diff", "diffSeries", "diffSeriesLists", "last", "max", "maxSeries", "median", "min", "minSeries",
    "multiply", "multiplySeries", "multiplySeriesLists", "multiplySeriesWithWildcards", "pct", "powSeries", "range",
    "rangeOf", "rangeOfSeries", "stddev", "stddevSeries", "sum", "sumSeries", "sumSeriesLists",
    "sumSeriesWithWildcards", "total",
];

/// Offered, though those that end in Series show as a question mark.
#[rustfmt::skip]
const LEGEND_TYPES: &[&str] = &[
    "average", "averageSeries", "avg", "avgSeries", "avg_zero", "avg_zeroSeries", "binary", "count", "countSeries",
    "current", "currentSeries", "diff", "diffSeries", "last", "lastSeries", "max", "maxSeries", "median",
    "medianSeries", "min", "minSeries", "multiply", "multiplySeries", "range", "rangeOf", "rangeOfSeries",
    "rangeSeries", "si", "stddev", "stddevSeries", "sum", "sumSeries", "total", "totalSeries",
];

const ONLY: &[Param] = &[SERIES];
const PAIRS: &[Param] = &[FIRST_LIST, SECOND_LIST];
const WILDCARDS: &[Param] = &[SERIES, POSITION];
const LETTERS: &[Param] = &[SERIES, Param::optional("pos", Kind::Integer).repeated()];
const MAP: &[Param] = &[SERIES, Param::required("mapNodes", Kind::NodeOrTag).repeated()];
const REDUCE: &[Param] = &[
    Param::required("seriesLists", Kind::SeriesLists),
    Param::required("reduceFunction", Kind::String),
    Param::required("reduceNode", Kind::Node),
    Param::required("reduceMatchers", Kind::String).repeated(),
];
const MANY: &[Param] = &[Param::required("seriesLists", Kind::SeriesList).repeated()];
const FACTOR: &[Param] = &[SERIES, Param::required("factor", Kind::Float)];
const COUNTER: &[Param] =
    &[SERIES, Param::optional("maxValue", Kind::Float), Param::optional("minValue", Kind::Float)];
const THRESHOLD: &[Param] = &[SERIES, Param::required("n", Kind::Float)];
const COUNT: &[Param] = &[SERIES, Param::required("n", Kind::Integer)];
const SINE: &[Param] = &[NAME, Param::default("amplitude", Kind::Number, Int(1)), STEP];
const BANDS: &[Param] = &[SERIES, Param::default("delta", Kind::Number, Int(3)), BOOTSTRAP, SEASONALITY];
const PATTERN: &[Param] = &[SERIES, Param::required("pattern", Kind::String)];

static ROWS: &[Row] = &[
    Row::new("absolute", TRANSFORM, ONLY, "The absolute value of each value.", arithmetic::absolute),
    Row::new("add", TRANSFORM, &[SERIES, Param::required("constant", Kind::Float)], "Adds a number to each value. The name shows its integer part.", arithmetic::add),
    Row::new("aggregate", COMBINE, &[SERIES, FUNC, XFF], "Combines the series row by row with an aggregation function, given by its name.", combine::aggregate),
    Row::new("aggregateLine", CALCULATE, &[SERIES, FUNC_AVERAGE, Param::default("keepStep", Kind::Boolean, Bool(false))], "The aggregate of each series as a straight line.", line::aggregate_line),
    Row::new("aggregateSeriesLists", COMBINE, &[FIRST_LIST, SECOND_LIST, FUNC, XFF], "Combines two lists pair by pair with an aggregation function, given by its name.", lists::aggregate_series_lists),
    Row::new("aggregateWithWildcards", COMBINE, &[SERIES, FUNC, POSITION], "Removes the nodes at some positions from the names, and combines series that then have the same name.", wildcards::aggregate_with_wildcards),
    Row::new("alias", ALIAS, &[SERIES, Param::required("newName", Kind::String)], "Shows the series under another name.", alias::alias),
    Row::new("aliasByMetric", ALIAS, ONLY, "Names each series after the last node of its path.", substr::alias_by_metric),
    Row::new("aliasByNode", ALIAS, &[SERIES, Param::required("nodes", Kind::NodeOrTag).repeated()], "Names each series after some nodes of its path, or tags.", alias::alias_by_node),
    Row::new("aliasByTags", ALIAS, &[SERIES, Param::required("tags", Kind::NodeOrTag).repeated()], "Names each series after some of its tags, or nodes of its path.", alias::alias_by_node),
    Row::new("aliasQuery", ALIAS, &[SERIES, SEARCH, REPLACE, Param::required("newName", Kind::String)], "Names each series after the last value of another series, whose name is derived from its own by a regular expression. The new name has one placeholder for the value, such as %g.", query::alias_query),
    Row::new("aliasSub", ALIAS, &[SERIES, SEARCH, REPLACE], "Replaces the matches of a regular expression in the names; \\1 stands for its first group.", alias::alias_sub),
    Row::new("alpha", GRAPH, &[SERIES, Param::required("alpha", Kind::Float)], "Draws the series with an opacity between 0 and 1.", graph::alpha),
    Row::new("applyByNode", COMBINE, &[SERIES, Param::required("nodeNum", Kind::Node), Param::required("templateFunction", Kind::String), Param::optional("newName", Kind::String)], "Evaluates a target once for each distinct prefix of the names, up to a node; % stands for the prefix in the target and in the new name.", query::apply_by_node),
    Row::new("areaBetween", GRAPH, ONLY, "Fills the area between two series.", graph::area_between),
    Row::new("asPercent", COMBINE, &[SERIES, Param::optional("total", Kind::Any), Param::optional("nodes", Kind::NodeOrTag).repeated()], "Each series as a percentage of a total: their sum, a number, one series, or one series each. With nodes, series and totals are matched by these.", as_percent::as_percent).aggregates(),
    Row::new("averageAbove", FILTER, THRESHOLD, "Keeps the series whose mean is above a number.", |call| filter::above(call, Aggregation::Average)),
    Row::new("averageBelow", FILTER, THRESHOLD, "Keeps the series whose mean is at most a number.", |call| filter::below(call, Aggregation::Average)),
    Row::new("averageOutsidePercentile", FILTER, THRESHOLD, "Keeps the series whose mean is above the n-th percentile of all means, or below the (100 - n)-th.", percentile::average_outside_percentile),
    Row::new("averageSeries", COMBINE, MANY, "The mean of the series at each row; nulls are ignored.", |call| combine::rows(call, "average")).aggregates(),
    Row::new("averageSeriesWithWildcards", COMBINE, WILDCARDS, "Removes the nodes at some positions from the names, and averages series that then have the same name.", |call| wildcards::with_wildcards(call, "average", 1)).aggregates(),
    Row::new("avg", COMBINE, MANY, "Short for averageSeries.", |call| combine::rows(call, "average")).aggregates().alias_of("averageSeries"),
    Row::new("cactiStyle", SPECIAL, &[SERIES, Param::optional("system", Kind::String).one_of(&["binary", "si"]), Param::optional("units", Kind::String)], "Appends the last, maximum and minimum value to each name, in columns.", legend::cacti_style),
    Row::new("changed", SPECIAL, ONLY, "1 where the value differs from the previous one, else 0.", derivative::changed),
    Row::new("color", GRAPH, &[SERIES, Param::required("theColor", Kind::String)], "Draws the series in a colour, given by name or as hexadecimal digits.", graph::color),
    Row::new("compressPeriodicGaps", TRANSFORM, ONLY, "Widens the step of a series that has a value only every few points to the interval of its values.", periodic_gaps::compress_periodic_gaps),
    Row::new("consolidateBy", SPECIAL, &[SERIES, Param::required("consolidationFunc", Kind::String).one_of(&[ "average", "avg", "avg_zero", "first", "last", "max", "min", "sum" ])], "Sets the function that consolidates points when there are more than can be shown.", consolidate_by::consolidate_by),
    Row::new("constantLine", SPECIAL, &[Param::required("value", Kind::Float)], "A horizontal line at a number.", line::constant_line),
    Row::new("countSeries", COMBINE, &[LISTS_OPTIONAL], "The number of series at each row, including those that are null there.", combine::count_series).aggregates(),
    Row::new("cumulative", SPECIAL, ONLY, "Consolidates points by their sum when there are more than can be shown.", consolidate_by::cumulative),
    Row::new("currentAbove", FILTER, THRESHOLD, "Keeps the series whose last value is above a number.", |call| filter::above(call, Aggregation::Last)),
    Row::new("currentBelow", FILTER, THRESHOLD, "Keeps the series whose last value is at most a number.", |call| filter::below(call, Aggregation::Last)),
    Row::new("dashed", GRAPH, &[SERIES, Param::default("dashLength", Kind::Number, Int(5))], "Draws the series with dashes of some pixels.", graph::dashed),
    Row::new("delay", TRANSFORM, &[SERIES, Param::required("steps", Kind::Integer)], "Moves the values some points to the right, within the window.", shift::delay),
    Row::new("derivative", TRANSFORM, ONLY, "The difference between each value and the previous one.", derivative::derivative),
    Row::new("diffSeries", COMBINE, MANY, "The first series minus all others, row by row.", |call| combine::rows(call, "diff")).aggregates(),
    Row::new("diffSeriesLists", COMBINE, PAIRS, "Subtracts the series of the second list from those of the first, pair by pair.", |call| lists::pairs(call, "diff")).aggregates(),
    Row::new("divideSeries", COMBINE, &[Param::required("dividendSeriesList", Kind::SeriesList), Param::required("divisorSeries", Kind::SeriesList)], "Divides each series by the one series of the second argument.", divide::divide_series),
    Row::new("divideSeriesLists", COMBINE, &[Param::required("dividendSeriesList", Kind::SeriesList), Param::required("divisorSeriesList", Kind::SeriesList)], "Divides the series of the first list by those of the second, pair by pair.", lists::divide_series_lists),
    Row::new("drawAsInfinite", GRAPH, ONLY, "Draws each value that is not zero as a vertical line.", graph::draw_as_infinite),
    Row::new("events", SPECIAL, &[Param::required("tags", Kind::String).repeated()], "The number of events in each second that have all of these tags; \"*\" counts all events.", events::events),
    Row::new("exclude", FILTER, PATTERN, "Drops the series whose names match a regular expression.", |call| filter::by_name(call, false)),
    Row::new("exp", TRANSFORM, ONLY, "e to the power of each value.", logarithm::exp),
    Row::new("exponentialMovingAverage", CALCULATE, &[SERIES, WINDOW], "A moving mean in which older values count less; a shorter window makes their weight decay faster.", exponential::exponential_moving_average).reaching(moving::reach),
    Row::new("fallbackSeries", SPECIAL, &[SERIES, Param::required("fallback", Kind::SeriesList)], "Uses the fallback if there are no series at all.", combine::fallback_series),
    Row::new("filterSeries", FILTER, &[SERIES, FUNC, Param::required("operator", Kind::String).one_of(&["!=", "<", "<=", "=", ">", ">="]), Param::required("threshold", Kind::Float)], "Keeps the series whose aggregate satisfies a comparison with a threshold.", filter::filter_series),
    Row::new("grep", FILTER, PATTERN, "Keeps the series whose names match a regular expression.", |call| filter::by_name(call, true)),
    Row::new("group", COMBINE, &[LISTS_OPTIONAL], "Joins several lists of series into one.", combine::group),
    Row::new("groupByNode", COMBINE, &[SERIES, Param::required("nodeNum", Kind::NodeOrTag), Param::default("callback", Kind::AggOrSeriesFunc, Text("average")).one_of(CALLBACKS)], "Groups the series by one node of their names, or by a tag, and combines each group.", group::group_by_node),
    Row::new("groupByNodes", COMBINE, &[SERIES, CALLBACK, Param::optional("nodes", Kind::NodeOrTag).repeated()], "Groups the series by several nodes of their names, or tags, and combines each group.", group::group_by_nodes),
    Row::new("groupByTags", COMBINE, &[SERIES, CALLBACK, Param::required("tags", Kind::Tag).repeated()], "Groups the series by the values of some tags, and combines each group.", group::group_by_tags),
    Row::new("highest", FILTER, &[SERIES, N_OR_ONE, FUNC_AVERAGE], "The series with the highest aggregates, highest first.", rank::highest),
    Row::new("highestAverage", FILTER, COUNT, "The series with the highest means, highest first.", |call| rank::ranked(call, Aggregation::Average, true)),
    Row::new("highestCurrent", FILTER, COUNT, "The series with the highest last values, highest first.", |call| rank::ranked(call, Aggregation::Last, true)),
    Row::new("highestMax", FILTER, COUNT, "The series with the highest maxima, highest first.", |call| rank::ranked(call, Aggregation::Max, true)),
    Row::new("hitcount", TRANSFORM, &[SERIES, INTERVAL, Param::default("alignToInterval", Kind::Boolean, Bool(false))], "The count in each interval, from values that are rates per second. Intervals end where the series ends, or start at a full minute, hour or day.", hitcount::hitcount).reaching(hitcount::reach),
    Row::new("holtWintersAberration", CALCULATE, BANDS, "How far each value lies outside the Holt-Winters confidence band.", holt_winters::aberration).reaching(holt_winters::bands_reach),
    Row::new("holtWintersConfidenceArea", CALCULATE, BANDS, "The area between the lower and upper Holt-Winters confidence bands.", holt_winters::confidence_area).reaching(holt_winters::bands_reach),
    Row::new("holtWintersConfidenceBands", CALCULATE, BANDS, "The lower and upper limits within which the Holt-Winters forecast expects values.", holt_winters::confidence_bands).reaching(holt_winters::bands_reach),
    Row::new("holtWintersForecast", CALCULATE, &[SERIES, BOOTSTRAP, SEASONALITY], "The Holt-Winters forecast of each value, from the values before it and those of the previous season.", holt_winters::forecast).reaching(holt_winters::forecast_reach),
    Row::new("identity", CALCULATE, &[NAME], "The time of each minute, as a series with the given name.", synthetic::identity),
    Row::new("integral", TRANSFORM, ONLY, "The sum of all values so far.", derivative::integral),
    Row::new("integralByInterval", TRANSFORM, &[SERIES, Param::required("intervalUnit", Kind::String)], "The sum of all values so far, reset to zero at each interval from the start of the window.", derivative::integral_by_interval),
    Row::new("interpolate", TRANSFORM, &[SERIES, Param::default("limit", Kind::IntOrInf, Float(f64::INFINITY))], "Fills gaps of up to limit values with a straight line.", nulls::interpolate),
    Row::new("invert", TRANSFORM, ONLY, "One divided by each value; null for zero.", arithmetic::invert),
    Row::new("isNonNull", TRANSFORM, ONLY, "1 where there is a value, 0 where there is none.", nulls::is_non_null),
    Row::new("keepLastValue", TRANSFORM, &[SERIES, Param::default("limit", Kind::IntOrInf, Float(f64::INFINITY))], "Fills gaps of up to limit values with the value before them.", nulls::keep_last_value),
    Row::new("legendValue", ALIAS, &[SERIES, Param::optional("valuesTypes", Kind::String).repeated().one_of(LEGEND_TYPES)], "Appends aggregates to the names. A final si or binary formats them in columns, with unit prefixes.", legend::legend_value),
    Row::new("limit", FILTER, COUNT, "The first n series.", rank::limit),
    Row::new("lineWidth", GRAPH, &[SERIES, Param::required("width", Kind::Float)], "Sets the line width of the series, in pixels.", graph::line_width),
    Row::new("linearRegression", CALCULATE, &[SERIES, Param::optional("startSourceAt", Kind::Date), Param::optional("endSourceAt", Kind::Date)], "The straight line that best fits each series, or its data between two other times.", regression::linear_regression).reaching(regression::reach),
    Row::new("log", TRANSFORM, &[SERIES, Param::default("base", Kind::Number, Int(10))], "The logarithm of each value; null for zero and below.", logarithm::log),
    Row::new("logit", TRANSFORM, ONLY, "The logarithm of the odds: ln(x / (1 - x)); null unless the value is between 0 and 1.", logarithm::logit),
    Row::new("lower", ALIAS, LETTERS, "Converts the names to lower case, entirely or at some positions.", |call| letters::change(call, false)),
    Row::new("lowest", FILTER, &[SERIES, N_OR_ONE, FUNC_AVERAGE], "The series with the lowest aggregates, lowest first.", rank::lowest),
    Row::new("lowestAverage", FILTER, COUNT, "The series with the lowest means, lowest first.", |call| rank::ranked(call, Aggregation::Average, false)),
    Row::new("lowestCurrent", FILTER, COUNT, "The series with the lowest last values, lowest first.", |call| rank::ranked(call, Aggregation::Last, false)),
    Row::new("map", COMBINE, MAP, "Short for mapSeries.", map_reduce::map_series).alias_of("mapSeries"),
    Row::new("mapSeries", COMBINE, MAP, "Groups the series into lists by some nodes of their names, or tags, for reduceSeries.", map_reduce::map_series),
    Row::new("maxSeries", COMBINE, MANY, "The maximum at each row.", |call| combine::rows(call, "max")).aggregates(),
    Row::new("maximumAbove", FILTER, THRESHOLD, "Keeps the series whose maximum is above a number.", |call| filter::above(call, Aggregation::Max)),
    Row::new("maximumBelow", FILTER, THRESHOLD, "Keeps the series whose maximum is at most a number.", |call| filter::below(call, Aggregation::Max)),
    Row::new("minMax", TRANSFORM, ONLY, "Scales each series to the range from 0 (its minimum) to 1 (its maximum).", arithmetic::min_max),
    Row::new("minSeries", COMBINE, MANY, "The minimum at each row.", |call| combine::rows(call, "min")).aggregates(),
    Row::new("minimumAbove", FILTER, THRESHOLD, "Keeps the series whose minimum is above a number.", |call| filter::above(call, Aggregation::Min)),
    Row::new("minimumBelow", FILTER, THRESHOLD, "Keeps the series whose minimum is at most a number.", |call| filter::below(call, Aggregation::Min)),
    Row::new("mostDeviant", FILTER, COUNT, "The series that deviate most from their mean, most deviant first.", deviation::most_deviant),
    Row::new("movingAverage", CALCULATE, &[SERIES, WINDOW, XFF], "The mean of the last points, or of the last period of time, up to each point.", |call| moving::moving(call, "average", 2)).reaching(moving::reach),
    Row::new("movingMax", CALCULATE, &[SERIES, WINDOW, XFF], "The maximum of the last points, or of the last period of time, up to each point.", |call| moving::moving(call, "max", 2)).reaching(moving::reach),
    Row::new("movingMedian", CALCULATE, &[SERIES, WINDOW, XFF], "The median of the last points, or of the last period of time, up to each point.", |call| moving::moving(call, "median", 2)).reaching(moving::reach),
    Row::new("movingMin", CALCULATE, &[SERIES, WINDOW, XFF], "The minimum of the last points, or of the last period of time, up to each point.", |call| moving::moving(call, "min", 2)).reaching(moving::reach),
    Row::new("movingSum", CALCULATE, &[SERIES, WINDOW, XFF], "The sum of the last points, or of the last period of time, up to each point.", |call| moving::moving(call, "sum", 2)).reaching(moving::reach),
    Row::new("movingWindow", CALCULATE, &[SERIES, WINDOW, FUNC_AVERAGE, XFF], "An aggregation function over the last points, or the last period of time, up to each point.", moving::moving_window).reaching(moving::reach),
    Row::new("multiplySeries", COMBINE, MANY, "The product of the series at each row; null where any of them is null. A single series is unchanged.", combine::multiply_series).aggregates(),
    Row::new("multiplySeriesLists", COMBINE, PAIRS, "Multiplies two lists pair by pair.", |call| lists::pairs(call, "multiply")).aggregates(),
    Row::new("multiplySeriesWithWildcards", COMBINE, WILDCARDS, "Removes the nodes at some positions from the names, and multiplies series that then have the same name.", |call| wildcards::with_wildcards(call, "multiply", 1)).aggregates(),
    Row::new("nPercentile", CALCULATE, THRESHOLD, "The n-th percentile of each series as a line.", percentile::n_percentile),
    Row::new("nonNegativeDerivative", TRANSFORM, COUNTER, "The increase of a counter since the previous value; null where it was reset, unless its range is given.", derivative::non_negative_derivative),
    Row::new("offset", TRANSFORM, FACTOR, "Adds a number to each value.", arithmetic::offset),
    Row::new("offsetToZero", TRANSFORM, ONLY, "Shifts each series so that its minimum is zero.", arithmetic::offset_to_zero),
    Row::new("pct", COMBINE, &[SERIES, Param::optional("total", Kind::Any), Param::optional("nodes", Kind::NodeOrTag).repeated()], "Short for asPercent.", as_percent::as_percent).aggregates().alias_of("asPercent"),
    Row::new("perSecond", TRANSFORM, COUNTER, "The increase of a counter per second; null where it was reset, unless its range is given.", derivative::per_second),
    Row::new("percentileOfSeries", COMBINE, &[SERIES, Param::required("n", Kind::Float), Param::default("interpolate", Kind::Boolean, Bool(false))], "A percentile of the series at each row.", rows::percentile_of_series),
    Row::new("pow", TRANSFORM, FACTOR, "Each value to the power of a number.", arithmetic::pow),
    Row::new("powSeries", COMBINE, &[Param::required("seriesList", Kind::SeriesList).repeated()], "The first series raised to the power of the second, the result to the power of the third, and so on, row by row.", rows::pow_series).aggregates(),
    Row::new("randomWalk", SPECIAL, &[NAME, STEP], "Short for randomWalkFunction.", synthetic::random_walk).alias_of("randomWalkFunction"),
    Row::new("randomWalkFunction", SPECIAL, &[NAME, STEP], "A random walk that starts at zero, as a series with the given name.", synthetic::random_walk),
    Row::new("rangeOfSeries", COMBINE, MANY, "The difference between maximum and minimum at each row.", |call| combine::rows(call, "rangeOf")).aggregates(),
    Row::new("reduce", COMBINE, REDUCE, "Short for reduceSeries.", map_reduce::reduce_series).alias_of("reduceSeries"),
    Row::new("reduceSeries", COMBINE, REDUCE, "Calls a function with the series that share all nodes before the given one; the values of that node, listed last, assign series to arguments.", map_reduce::reduce_series),
    Row::new("removeAbovePercentile", FILTER_DATA, THRESHOLD, "Removes values above the n-th percentile of their series.", percentile::remove_above_percentile),
    Row::new("removeAboveValue", FILTER_DATA, THRESHOLD, "Removes values above a number.", percentile::remove_above_value),
    Row::new("removeBelowPercentile", FILTER_DATA, THRESHOLD, "Removes values below the n-th percentile of their series.", percentile::remove_below_percentile),
    Row::new("removeBelowValue", FILTER_DATA, THRESHOLD, "Removes values below a number.", percentile::remove_below_value),
    Row::new("removeBetweenPercentile", FILTER, THRESHOLD, "Keeps the series that are at some time above the n-th percentile of all series, or below the (100 - n)-th.", percentile::remove_between_percentile),
    Row::new("removeEmptySeries", FILTER, &[SERIES, XFF], "Drops series without values, or with too few.", nulls::remove_empty_series),
    Row::new("round", TRANSFORM, &[SERIES, Param::default("precision", Kind::Integer, Int(0))], "Rounds each value to some decimals; halves go to the even digit.", arithmetic::round),
    Row::new("scale", TRANSFORM, FACTOR, "Multiplies each value by a number.", arithmetic::scale),
    Row::new("scaleToSeconds", TRANSFORM, &[SERIES, Param::required("seconds", Kind::Float)], "Converts values per step to values per so many seconds.", arithmetic::scale_to_seconds),
    Row::new("secondYAxis", GRAPH, ONLY, "Draws the series against a second axis on the right.", graph::second_y_axis),
    Row::new("seriesByTag", SPECIAL, &[Param::required("tagExpressions", Kind::String).repeated()], "The series whose tags satisfy all conditions: tag=value, tag!=value, tag=~regex, tag!=~regex.", query::series_by_tag),
    Row::new("setXFilesFactor", SPECIAL, &[SERIES, XFF_REQUIRED], "Sets the fraction of values that must be known wherever several are combined into one.", consolidate_by::set_x_files_factor),
    Row::new("sigmoid", TRANSFORM, ONLY, "1 / (1 + exp(-x)) of each value; the result lies between 0 and 1.", logarithm::sigmoid),
    Row::new("sin", TRANSFORM, SINE, "Short for sinFunction.", synthetic::sin).alias_of("sinFunction"),
    Row::new("sinFunction", TRANSFORM, SINE, "The sine of the time in seconds, as a series with the given name.", synthetic::sin),
    Row::new("smartSummarize", TRANSFORM, &[SERIES, INTERVAL, FUNC_SUM, ALIGN_TO], "One value per interval, from the start of the window on, or from the start of the hour, day and so on in which it begins.", summarize::smart_summarize).reaching(summarize::smart_reach),
    Row::new("sortBy", SORTING, &[SERIES, FUNC_AVERAGE, REVERSE], "Sorts the series by an aggregate.", sort::sort_by),
    Row::new("sortByMaxima", SORTING, ONLY, "Sorts the series by their maxima, largest first.", |call| sort::sort_down(call, Aggregation::Max)),
    Row::new("sortByMinima", SORTING, ONLY, "Sorts the series that rise above zero by their minima, smallest first.", sort::sort_by_minima),
    Row::new("sortByName", SORTING, &[SERIES, Param::default("natural", Kind::Boolean, Bool(false)), REVERSE], "Sorts the series by name; in natural order host2 comes before host10.", sort::sort_by_name),
    Row::new("sortByTotal", SORTING, ONLY, "Sorts the series by their sums, largest first.", |call| sort::sort_down(call, Aggregation::Sum)),
    Row::new("squareRoot", TRANSFORM, ONLY, "The square root of each value; null below zero.", arithmetic::square_root),
    Row::new("stacked", GRAPH, &[SERIES, Param::optional("stack", Kind::String)], "Stacks each series on top of those before it; differently named stacks are separate.", graph::stacked),
    Row::new("stddevSeries", COMBINE, MANY, "The population standard deviation of the series at each row.", |call| combine::rows(call, "stddev")).aggregates(),
    Row::new("stdev", CALCULATE, &[SERIES, Param::required("points", Kind::Integer), Param::default("windowTolerance", Kind::Float, Float(0.1))], "The standard deviation of the last points up to each point; null where too few of them are known.", deviation::stdev),
    Row::new("substr", SPECIAL, &[SERIES, Param::default("start", Kind::Node, Int(0)), Param::default("stop", Kind::Node, Int(0))], "Shortens the names to a range of nodes.", substr::substr),
    Row::new("sum", COMBINE, MANY, "Short for sumSeries.", |call| combine::rows(call, "sum")).aggregates().alias_of("sumSeries"),
    Row::new("sumSeries", COMBINE, MANY, "Adds the series, row by row; nulls are ignored.", |call| combine::rows(call, "sum")).aggregates(),
    Row::new("sumSeriesLists", COMBINE, PAIRS, "Adds two lists pair by pair.", |call| lists::pairs(call, "sum")).aggregates(),
    Row::new("sumSeriesWithWildcards", COMBINE, WILDCARDS, "Removes the nodes at some positions from the names, and adds series that then have the same name.", |call| wildcards::with_wildcards(call, "sum", 1)).aggregates(),
    Row::new("summarize", TRANSFORM, &[SERIES, INTERVAL, FUNC_SUM, Param::default("alignToFrom", Kind::Boolean, Bool(false))], "One value per interval. Intervals start at multiples of their length, or at the start of the series.", summarize::summarize),
    Row::new("threshold", GRAPH, &[Param::required("value", Kind::Float), LABEL, COLOR], "A horizontal line at a number, with a name and a colour.", line::threshold),
    Row::new("time", TRANSFORM, &[NAME, STEP], "Short for timeFunction.", synthetic::time).alias_of("timeFunction"),
    Row::new("timeFunction", TRANSFORM, &[NAME, STEP], "The time of each step, as a series with the given name.", synthetic::time),
    Row::new("timeShift", TRANSFORM, &[SERIES, SHIFT, Param::default("resetEnd", Kind::Boolean, Bool(true)), Param::default("alignDst", Kind::Boolean, Bool(false))], "Shows data from another time, earlier unless the interval starts with a plus sign.", shift::time_shift).reaching(shift::reach),
    Row::new("timeSlice", TRANSFORM, &[SERIES, Param::required("startSliceAt", Kind::Date), Param::default("endSliceAt", Kind::Date, Text("now"))], "Only the values between two times; null elsewhere.", time_slice::time_slice),
    Row::new("timeStack", TRANSFORM, &[SERIES, STACK_UNIT, Param::default("timeShiftStart", Kind::Number, Int(0)), Param::default("timeShiftEnd", Kind::Number, Int(7))], "The series at several multiples of a time shift, from the first up to but not including the last.", shift::time_stack).reaching(shift::stack_reach),
    Row::new("transformNull", TRANSFORM, &[SERIES, Param::default("default", Kind::Float, Int(0)), Param::optional("referenceSeries", Kind::SeriesList)], "Replaces nulls by a number; with reference series, only where one of them has a value.", nulls::transform_null),
    Row::new("unique", FILTER, MANY, "Keeps only the first of several series with the same name.", combine::unique),
    Row::new("upper", ALIAS, LETTERS, "Converts the names to upper case, entirely or at some positions.", |call| letters::change(call, true)),
    Row::new("useSeriesAbove", FILTER, &[SERIES, Param::required("value", Kind::Float), SEARCH, REPLACE], "Replaces each series that exceeds a value by another one, whose name is derived from its own by a regular expression.", query::use_series_above),
    Row::new("verticalLine", GRAPH, &[Param::required("ts", Kind::Date), LABEL, COLOR], "A vertical line at a time.", line::vertical_line),
    Row::new("weightedAverage", COMBINE, &[Param::required("seriesListAvg", Kind::SeriesList), Param::required("seriesListWeight", Kind::SeriesList), Param::optional("nodes", Kind::NodeOrTag).repeated()], "The mean of the series in the first list, weighted by those in the second. Series and weights are matched by some nodes of their names, or tags.", rows::weighted_average),
    Row::new("xFilesFactor", SPECIAL, &[SERIES, XFF_REQUIRED], "Short for setXFilesFactor.", consolidate_by::set_x_files_factor).alias_of("setXFilesFactor"),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Memory, N};

    #[test]
    fn the_table_is_sorted_and_each_row_is_whole() {
        assert!(ROWS.windows(2).all(|pair| pair[0].name < pair[1].name));
        for row in ROWS {
            assert!(row.description.ends_with('.') && !row.params.is_empty(), "{}", row.name);
            let last = row.params.len() - 1;
            assert!(row.params[..last].iter().all(|p| !p.multiple), "{}: only the last may repeat", row.name);
            assert!(row.alias_of.is_none_or(|name| super::row(name).is_ok()), "{}", row.name);
            for param in row.params {
                assert!(param.options.is_sorted(), "{}", param.name);
            }
        }
    }

    #[test]
    fn callbacks_are_aggregations_and_the_functions_that_aggregate() {
        let functions = ROWS.iter().filter(|row| row.aggregator).map(|row| row.name);
        let mut known: Vec<&str> = functions.chain(Aggregation::NAMES).collect();
        known.sort_unstable();
        known.dedup();
        assert_eq!(known, CALLBACKS);
    }

    #[test]
    fn names_are_found_and_others_are_not() {
        assert_eq!(row("sumSeries").ok().map(|row| row.name), Some("sumSeries"));
        let error = row("SumSeries").err().map(|error| error.to_string());
        assert_eq!(
            error.as_deref(),
            Some(
                "Invalid parameters (Received request for unknown function: SumSeries; did you mean `sumSeries`?)"
            )
        );
    }

    /// Each parameter in turn gets each of these, after plain values for those before it.
    #[test]
    fn no_argument_makes_a_function_panic() {
        const ODD: [&str; 18] = [
            "9223372036854775807",
            "-9223372036854775807",
            "0",
            "-1",
            "0.5",
            "1e308",
            "-1e308",
            "inf",
            "'nan'",
            "''",
            "'x'",
            "'é'",
            "'0s'",
            "'-1d'",
            "'400d'",
            "true",
            "none",
            "a.*",
        ];
        let plain = |param: &Param| match param.kind {
            Kind::SeriesList | Kind::SeriesLists => "a.*",
            Kind::Interval => "'1min'",
            Kind::AggFunc | Kind::AggOrSeriesFunc => "'sum'",
            Kind::Boolean => "true",
            Kind::Date => "'120'",
            Kind::String | Kind::Tag => "'x'",
            _ => "2",
        };
        let store = Memory::new().with("a.b", 60, &[1.0, N, -3.0, 0.0]).with("a.none", 60, &[N; 4]);
        let store = store.limited(1_000_000);
        for row in ROWS {
            for last in 0..row.params.len() {
                let before: String =
                    row.params[..last].iter().map(|param| format!("{},", plain(param))).collect();
                for odd in ODD {
                    // Whatever it answers, it answers.
                    let _ = store.attempt(&format!("{}({before}{odd})", row.name));
                }
            }
        }
    }

    /// What dashboards use most.
    #[test]
    fn the_first_functions_are_here() {
        for name in [
            "sumSeries",
            "averageSeries",
            "maxSeries",
            "minSeries",
            "alias",
            "aliasByNode",
            "aliasSub",
            "scale",
            "derivative",
            "nonNegativeDerivative",
            "perSecond",
            "summarize",
            "movingAverage",
            "groupByNode",
            "keepLastValue",
            "timeShift",
            "asPercent",
            "divideSeries",
            "highestAverage",
            "limit",
            "sortByName",
            "transformNull",
            "exclude",
            "grep",
            "constantLine",
        ] {
            assert!(row(name).is_ok(), "{name}");
        }
    }
}
