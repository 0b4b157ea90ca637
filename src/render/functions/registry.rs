//! The table of all functions, sorted by name: it feeds the plan, the argument check and the function list.

use super::row::Default::{Bool, Float, Int, Text};
use super::{
    Kind, Param, Row, alias, arithmetic, as_percent, combine, consolidate_by, derivative, divide, filter,
    graph, group, legend, letters, line, lists, map_reduce, moving, nulls, query, rank, rows, shift, sort,
    substr, summarize, wildcards,
};
use crate::render::aggregate::Aggregation;
use crate::render::error::RenderError;

/// All functions.
pub fn registry() -> &'static [Row] {
    ROWS
}

/// A function by its name.
pub fn row(name: &str) -> Result<&'static Row, RenderError> {
    let unknown = || RenderError::UnknownFunction { name: name.to_owned(), targets: Vec::new() };
    ROWS.binary_search_by(|row| row.name.cmp(name)).map(|at| &ROWS[at]).map_err(|_| unknown())
}

const ALIAS: &str = "Alias";
const CALCULATE: &str = "Calculate";
const COMBINE: &str = "Combine";
const FILTER: &str = "Filter Series";
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
const SHIFT: Param = Param::required("timeShift", Kind::Interval).suggest(&[
    Text("1h"),
    Text("6h"),
    Text("12h"),
    Text("1d"),
    Text("2d"),
    Text("7d"),
    Text("14d"),
    Text("30d"),
]);

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
const PATTERN: &[Param] = &[SERIES, Param::required("pattern", Kind::String)];

static ROWS: &[Row] = &[
    Row::new("absolute", TRANSFORM, ONLY, "Each value without its sign.", arithmetic::absolute),
    Row::new("aggregate", COMBINE, &[SERIES, FUNC, XFF], "Combines the series row by row with an aggregation function, given by its name.", combine::aggregate),
    Row::new("aggregateSeriesLists", COMBINE, &[FIRST_LIST, SECOND_LIST, FUNC, XFF], "Combines two lists pair by pair with an aggregation function, given by its name.", lists::aggregate_series_lists),
    Row::new("aggregateWithWildcards", COMBINE, &[SERIES, FUNC, POSITION], "Leaves the nodes at some positions out of the names, and combines series of the same name with an aggregation function.", wildcards::aggregate_with_wildcards),
    Row::new("alias", ALIAS, &[SERIES, Param::required("newName", Kind::String)], "Shows the series under another name.", alias::alias),
    Row::new("aliasByMetric", ALIAS, ONLY, "Names each series by the last node of its path.", substr::alias_by_metric),
    Row::new("aliasByNode", ALIAS, &[SERIES, Param::required("nodes", Kind::NodeOrTag).repeated()], "Names each series by some nodes of its path, or tags.", alias::alias_by_node),
    Row::new("aliasByTags", ALIAS, &[SERIES, Param::required("tags", Kind::NodeOrTag).repeated()], "Names each series by some of its tags, or nodes of its path.", alias::alias_by_node),
    Row::new("aliasQuery", ALIAS, &[SERIES, SEARCH, REPLACE, Param::required("newName", Kind::String)], "Names each series by the last value of another one, whose name is made of its own by a regular expression. The new name holds one place for the value, such as %g.", query::alias_query),
    Row::new("aliasSub", ALIAS, &[SERIES, SEARCH, REPLACE], "Replaces what a regular expression finds in the names; \\1 stands for its first group.", alias::alias_sub),
    Row::new("alpha", GRAPH, &[SERIES, Param::required("alpha", Kind::Float)], "Draws the series with an opacity between 0 and 1.", graph::alpha),
    Row::new("applyByNode", COMBINE, &[SERIES, Param::required("nodeNum", Kind::Node), Param::required("templateFunction", Kind::String), Param::optional("newName", Kind::String)], "Evaluates a target for each different beginning of the names, up to a node; % stands for the beginning in the target and in the new name.", query::apply_by_node),
    Row::new("areaBetween", GRAPH, ONLY, "Fills the area between two series.", graph::area_between),
    Row::new("asPercent", COMBINE, &[SERIES, Param::optional("total", Kind::Any), Param::optional("nodes", Kind::NodeOrTag).repeated()], "Each series in percent of a total: their sum, a number, one series, or a series each. With nodes, series and totals are matched by these.", as_percent::as_percent).aggregates(),
    Row::new("averageAbove", FILTER, THRESHOLD, "Keeps the series whose mean is above a number.", |call| filter::above(call, Aggregation::Average)),
    Row::new("averageBelow", FILTER, THRESHOLD, "Keeps the series whose mean is a number or below.", |call| filter::below(call, Aggregation::Average)),
    Row::new("averageSeries", COMBINE, MANY, "The mean of the series at each row; nulls are left out.", |call| combine::rows(call, "average")).aggregates(),
    Row::new("averageSeriesWithWildcards", COMBINE, WILDCARDS, "Leaves the nodes at some positions out of the names, and takes the mean of series of the same name.", |call| wildcards::with_wildcards(call, "average", 1)).aggregates(),
    Row::new("avg", COMBINE, MANY, "Short for averageSeries.", |call| combine::rows(call, "average")).aggregates().alias_of("averageSeries"),
    Row::new("cactiStyle", SPECIAL, &[SERIES, Param::optional("system", Kind::String).one_of(&["binary", "si"]), Param::optional("units", Kind::String)], "Puts the last, greatest and least value behind each name, in columns.", legend::cacti_style),
    Row::new("color", GRAPH, &[SERIES, Param::required("theColor", Kind::String)], "Draws the series in a colour, given by its name or its digits.", graph::color),
    Row::new("consolidateBy", SPECIAL, &[SERIES, Param::required("consolidationFunc", Kind::String).one_of(&[ "average", "avg", "avg_zero", "first", "last", "max", "min", "sum" ])], "Sets the function by which points are drawn together when there are more than can be shown.", consolidate_by::consolidate_by),
    Row::new("constantLine", SPECIAL, &[Param::required("value", Kind::Float)], "A straight line at a number.", line::constant_line),
    Row::new("countSeries", COMBINE, &[LISTS_OPTIONAL], "The number of series at each row, those that are null there included.", combine::count_series).aggregates(),
    Row::new("cumulative", SPECIAL, ONLY, "Draws points together by their sum when there are more than can be shown.", consolidate_by::cumulative),
    Row::new("currentAbove", FILTER, THRESHOLD, "Keeps the series whose last value is above a number.", |call| filter::above(call, Aggregation::Last)),
    Row::new("currentBelow", FILTER, THRESHOLD, "Keeps the series whose last value is a number or below.", |call| filter::below(call, Aggregation::Last)),
    Row::new("dashed", GRAPH, &[SERIES, Param::default("dashLength", Kind::Integer, Int(5))], "Draws the series with dashes of some pixels.", graph::dashed),
    Row::new("derivative", TRANSFORM, ONLY, "What each value has grown since the one before.", derivative::derivative),
    Row::new("diffSeries", COMBINE, MANY, "The first series less all others, row by row.", |call| combine::rows(call, "diff")).aggregates(),
    Row::new("diffSeriesLists", COMBINE, PAIRS, "Subtracts the series of the second list from those of the first, pair by pair.", |call| lists::pairs(call, "diff")).aggregates(),
    Row::new("divideSeries", COMBINE, &[Param::required("dividendSeriesList", Kind::SeriesList), Param::required("divisorSeries", Kind::SeriesList)], "Divides each series by the one series of the second argument.", divide::divide_series),
    Row::new("divideSeriesLists", COMBINE, &[Param::required("dividendSeriesList", Kind::SeriesList), Param::required("divisorSeriesList", Kind::SeriesList)], "Divides the series of the first list by those of the second, pair by pair.", lists::divide_series_lists),
    Row::new("drawAsInfinite", GRAPH, ONLY, "Draws each value that is not zero as a line from bottom to top.", graph::draw_as_infinite),
    Row::new("exclude", FILTER, PATTERN, "Leaves out the series whose names a regular expression finds.", |call| filter::by_name(call, false)),
    Row::new("fallbackSeries", SPECIAL, &[SERIES, Param::required("fallback", Kind::SeriesList)], "Other series if there are none at all.", combine::fallback_series),
    Row::new("filterSeries", FILTER, &[SERIES, FUNC, Param::required("operator", Kind::String).one_of(&["!=", "<", "<=", "=", ">", ">="]), Param::required("threshold", Kind::Float)], "Keeps the series whose aggregate compares with a threshold as asked.", filter::filter_series),
    Row::new("grep", FILTER, PATTERN, "Keeps the series whose names a regular expression finds.", |call| filter::by_name(call, true)),
    Row::new("group", COMBINE, &[LISTS_OPTIONAL], "Several lists of series as one list.", combine::group),
    Row::new("groupByNode", COMBINE, &[SERIES, Param::required("nodeNum", Kind::NodeOrTag), Param::default("callback", Kind::AggOrSeriesFunc, Text("average")).one_of(CALLBACKS)], "Groups the series by one node of their names, or by a tag, and combines each group.", group::group_by_node),
    Row::new("groupByNodes", COMBINE, &[SERIES, CALLBACK, Param::optional("nodes", Kind::NodeOrTag).repeated()], "Groups the series by several nodes of their names, or tags, and combines each group.", group::group_by_nodes),
    Row::new("groupByTags", COMBINE, &[SERIES, CALLBACK, Param::required("tags", Kind::Tag).repeated()], "Groups the series by the values of some tags, and combines each group.", group::group_by_tags),
    Row::new("highest", FILTER, &[SERIES, N_OR_ONE, FUNC_AVERAGE], "The series with the highest aggregates, the highest first.", rank::highest),
    Row::new("highestAverage", FILTER, COUNT, "The series with the highest means, the highest first.", |call| rank::ranked(call, Aggregation::Average, true)),
    Row::new("highestCurrent", FILTER, COUNT, "The series with the highest last values, the highest first.", |call| rank::ranked(call, Aggregation::Last, true)),
    Row::new("highestMax", FILTER, COUNT, "The series with the highest peaks, the highest first.", |call| rank::ranked(call, Aggregation::Max, true)),
    Row::new("integral", TRANSFORM, ONLY, "The sum of all values so far.", derivative::integral),
    Row::new("keepLastValue", TRANSFORM, &[SERIES, Param::default("limit", Kind::IntOrInf, Float(f64::INFINITY))], "Fills gaps of up to so many values with the value before them.", nulls::keep_last_value),
    Row::new("legendValue", ALIAS, &[SERIES, Param::optional("valuesTypes", Kind::String).repeated().one_of(LEGEND_TYPES)], "Appends aggregates to the names; with si or binary behind them in columns, with unit prefixes.", legend::legend_value),
    Row::new("limit", FILTER, COUNT, "The first so many series.", rank::limit),
    Row::new("lineWidth", GRAPH, &[SERIES, Param::required("width", Kind::Float)], "Draws the series with lines of some pixels.", graph::line_width),
    Row::new("lower", ALIAS, LETTERS, "Names in small letters, throughout or at some positions.", |call| letters::change(call, false)),
    Row::new("lowest", FILTER, &[SERIES, N_OR_ONE, FUNC_AVERAGE], "The series with the lowest aggregates, the lowest first.", rank::lowest),
    Row::new("lowestAverage", FILTER, COUNT, "The series with the lowest means, the lowest first.", |call| rank::ranked(call, Aggregation::Average, false)),
    Row::new("lowestCurrent", FILTER, COUNT, "The series with the lowest last values, the lowest first.", |call| rank::ranked(call, Aggregation::Last, false)),
    Row::new("map", COMBINE, MAP, "Short for mapSeries.", map_reduce::map_series).alias_of("mapSeries"),
    Row::new("mapSeries", COMBINE, MAP, "Sorts the series into lists by some nodes of their names, or tags, for reduceSeries.", map_reduce::map_series),
    Row::new("maxSeries", COMBINE, MANY, "The greatest value at each row.", |call| combine::rows(call, "max")).aggregates(),
    Row::new("maximumAbove", FILTER, THRESHOLD, "Keeps the series whose greatest value is above a number.", |call| filter::above(call, Aggregation::Max)),
    Row::new("maximumBelow", FILTER, THRESHOLD, "Keeps the series whose greatest value is a number or below.", |call| filter::below(call, Aggregation::Max)),
    Row::new("minSeries", COMBINE, MANY, "The least value at each row.", |call| combine::rows(call, "min")).aggregates(),
    Row::new("minimumAbove", FILTER, THRESHOLD, "Keeps the series whose least value is above a number.", |call| filter::above(call, Aggregation::Min)),
    Row::new("minimumBelow", FILTER, THRESHOLD, "Keeps the series whose least value is a number or below.", |call| filter::below(call, Aggregation::Min)),
    Row::new("movingAverage", CALCULATE, &[SERIES, WINDOW, XFF], "The mean of so many points, or of a length of time, up to each point.", |call| moving::moving(call, "average", 2)).reaching(moving::reach),
    Row::new("movingMax", CALCULATE, &[SERIES, WINDOW, XFF], "The greatest value of so many points, or of a length of time, up to each point.", |call| moving::moving(call, "max", 2)).reaching(moving::reach),
    Row::new("movingMedian", CALCULATE, &[SERIES, WINDOW, XFF], "The median of so many points, or of a length of time, up to each point.", |call| moving::moving(call, "median", 2)).reaching(moving::reach),
    Row::new("movingMin", CALCULATE, &[SERIES, WINDOW, XFF], "The least value of so many points, or of a length of time, up to each point.", |call| moving::moving(call, "min", 2)).reaching(moving::reach),
    Row::new("movingSum", CALCULATE, &[SERIES, WINDOW, XFF], "The sum of so many points, or of a length of time, up to each point.", |call| moving::moving(call, "sum", 2)).reaching(moving::reach),
    Row::new("movingWindow", CALCULATE, &[SERIES, WINDOW, FUNC_AVERAGE, XFF], "An aggregation function over so many points, or a length of time, up to each point.", moving::moving_window).reaching(moving::reach),
    Row::new("multiplySeries", COMBINE, MANY, "The product of the series at each row; null where any of them is null. One series alone stays as it is.", combine::multiply_series).aggregates(),
    Row::new("multiplySeriesLists", COMBINE, PAIRS, "Multiplies two lists pair by pair.", |call| lists::pairs(call, "multiply")).aggregates(),
    Row::new("multiplySeriesWithWildcards", COMBINE, WILDCARDS, "Leaves the nodes at some positions out of the names, and multiplies series of the same name.", |call| wildcards::with_wildcards(call, "multiply", 1)).aggregates(),
    Row::new("nonNegativeDerivative", TRANSFORM, COUNTER, "What a counter has grown since the value before; null where it began anew, unless its range is given.", derivative::non_negative_derivative),
    Row::new("offset", TRANSFORM, FACTOR, "Adds a number to each value.", arithmetic::offset),
    Row::new("pct", COMBINE, &[SERIES, Param::optional("total", Kind::Any), Param::optional("nodes", Kind::NodeOrTag).repeated()], "Short for asPercent.", as_percent::as_percent).aggregates().alias_of("asPercent"),
    Row::new("perSecond", TRANSFORM, COUNTER, "What a counter has grown in each second; null where it began anew, unless its range is given.", derivative::per_second),
    Row::new("percentileOfSeries", COMBINE, &[SERIES, Param::required("n", Kind::Float), Param::default("interpolate", Kind::Boolean, Bool(false))], "A percentile of the series at each row.", rows::percentile_of_series),
    Row::new("powSeries", COMBINE, &[Param::required("seriesList", Kind::SeriesList).repeated()], "The first series to the power of the second, that to the power of the third, and so on, row by row.", rows::pow_series).aggregates(),
    Row::new("rangeOfSeries", COMBINE, MANY, "The distance between the greatest and the least value at each row.", |call| combine::rows(call, "rangeOf")).aggregates(),
    Row::new("reduce", COMBINE, REDUCE, "Short for reduceSeries.", map_reduce::reduce_series).alias_of("reduceSeries"),
    Row::new("reduceSeries", COMBINE, REDUCE, "Calls a function with the series that share all nodes before one; the values of this node, given last, say which series is which argument.", map_reduce::reduce_series),
    Row::new("removeEmptySeries", FILTER, &[SERIES, XFF], "Leaves out series without values, or with too few of them.", nulls::remove_empty_series),
    Row::new("scale", TRANSFORM, FACTOR, "Multiplies each value by a number.", arithmetic::scale),
    Row::new("secondYAxis", GRAPH, ONLY, "Draws the series by an axis on the right.", graph::second_y_axis),
    Row::new("seriesByTag", SPECIAL, &[Param::required("tagExpressions", Kind::String).repeated()], "The series whose tags fulfil all conditions: tag=value, tag!=value, tag=~regex, tag!=~regex.", query::series_by_tag),
    Row::new("setXFilesFactor", SPECIAL, &[SERIES, XFF_REQUIRED], "Sets the part of values that must be known wherever several become one.", consolidate_by::set_x_files_factor),
    Row::new("sortBy", SORTING, &[SERIES, FUNC_AVERAGE, REVERSE], "Sorts the series by an aggregate.", sort::sort_by),
    Row::new("sortByMaxima", SORTING, ONLY, "Sorts the series by their greatest values, the greatest first.", |call| sort::sort_down(call, Aggregation::Max)),
    Row::new("sortByMinima", SORTING, ONLY, "Sorts the series that rise above zero by their least values, the least first.", sort::sort_by_minima),
    Row::new("sortByName", SORTING, &[SERIES, Param::default("natural", Kind::Boolean, Bool(false)), REVERSE], "Sorts the series by name; naturally means that host2 comes before host10.", sort::sort_by_name),
    Row::new("sortByTotal", SORTING, ONLY, "Sorts the series by their sums, the greatest first.", |call| sort::sort_down(call, Aggregation::Sum)),
    Row::new("stacked", GRAPH, &[SERIES, Param::optional("stack", Kind::String)], "Puts each series on top of those before it; stacks of different names are apart.", graph::stacked),
    Row::new("stddevSeries", COMBINE, MANY, "The population standard deviation of the series at each row.", |call| combine::rows(call, "stddev")).aggregates(),
    Row::new("substr", SPECIAL, &[SERIES, Param::default("start", Kind::Node, Int(0)), Param::default("stop", Kind::Node, Int(0))], "Cuts the names down to a run of nodes.", substr::substr),
    Row::new("sum", COMBINE, MANY, "Short for sumSeries.", |call| combine::rows(call, "sum")).aggregates().alias_of("sumSeries"),
    Row::new("sumSeries", COMBINE, MANY, "Adds the series up, row by row; nulls are left out.", |call| combine::rows(call, "sum")).aggregates(),
    Row::new("sumSeriesLists", COMBINE, PAIRS, "Adds two lists up pair by pair.", |call| lists::pairs(call, "sum")).aggregates(),
    Row::new("sumSeriesWithWildcards", COMBINE, WILDCARDS, "Leaves the nodes at some positions out of the names, and adds series of the same name up.", |call| wildcards::with_wildcards(call, "sum", 1)).aggregates(),
    Row::new("summarize", TRANSFORM, &[SERIES, INTERVAL, FUNC_SUM, Param::default("alignToFrom", Kind::Boolean, Bool(false))], "One value for each interval. Intervals begin at multiples of their length, or at the start of the series.", summarize::summarize),
    Row::new("threshold", GRAPH, &[Param::required("value", Kind::Float), LABEL, COLOR], "A straight line at a number, with a name and a colour.", line::threshold),
    Row::new("timeShift", TRANSFORM, &[SERIES, SHIFT, Param::default("resetEnd", Kind::Boolean, Bool(true)), Param::default("alignDst", Kind::Boolean, Bool(false))], "Shows the data of another time, earlier unless the interval begins with a plus sign.", shift::time_shift).reaching(shift::reach),
    Row::new("transformNull", TRANSFORM, &[SERIES, Param::default("default", Kind::Float, Int(0)), Param::optional("referenceSeries", Kind::SeriesList)], "Puts a number in the place of nulls; with reference series only where one of these has a value.", nulls::transform_null),
    Row::new("unique", FILTER, MANY, "Only the first of series with the same name.", combine::unique),
    Row::new("upper", ALIAS, LETTERS, "Names in capital letters, throughout or at some positions.", |call| letters::change(call, true)),
    Row::new("useSeriesAbove", FILTER, &[SERIES, Param::required("value", Kind::Float), SEARCH, REPLACE], "In the place of each series that exceeds a value another one, whose name is made of its own by a regular expression.", query::use_series_above),
    Row::new("verticalLine", GRAPH, &[Param::required("ts", Kind::Date), LABEL, COLOR], "A line from bottom to top at a time.", line::vertical_line),
    Row::new("weightedAverage", COMBINE, &[Param::required("seriesListAvg", Kind::SeriesList), Param::required("seriesListWeight", Kind::SeriesList), Param::optional("nodes", Kind::NodeOrTag).repeated()], "The mean of the series of the first list, weighted by those of the second. Series and weights are matched by some nodes of their names, or tags.", rows::weighted_average),
    Row::new("xFilesFactor", SPECIAL, &[SERIES, XFF_REQUIRED], "Short for setXFilesFactor.", consolidate_by::set_x_files_factor).alias_of("setXFilesFactor"),
];

#[cfg(test)]
mod tests {
    use super::*;

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
            Some("Invalid parameters (Received request for unknown function: SumSeries)")
        );
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
