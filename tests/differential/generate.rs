//! Random expressions, made from the table of functions.

use graphite_render::functions::{Kind, Param, Row, registry};

use super::expression::{Argument, Expression};

/// Paths of `data.test` with something to bite on: several steps, gaps, counters, nothing at all.
const PATHS: [&str; 26] = [
    "gd.srv.web01.cpu.user",
    "gd.srv.*.cpu.user",
    "gd.srv.*.cpu.*",
    "gd.srv.web0?.cpu.{user,system}",
    "gd.srv.web02.cpu.*",
    "gd.net.eth0.rx",
    "gd.net.*.*",
    "gd.gap.*",
    "gd.gap.blocks",
    "gd.gap.none",
    "gd.shape.*",
    "gd.shape.zero",
    "gd.shape.neg",
    "gd.shape.ramp",
    "gd.shape.{big,tiny}",
    "gd.Name.*.*",
    "gd.disk.*.reads",
    "gd.both",
    "gd.both.child",
    "gd.min.*.load",
    "gd.min.a.*",
    "gd.half.*.load",
    "gd.odd.load",
    "gd.{min,half}.*.load",
    "gd.nothing.here",
    "gd.num.5.load",
];

/// Functions whose answers are not the same twice, that ask for what a data set cannot have, or whose first argument is
/// not series but the result of one other function.
const LEFT_OUT: [&str; 9] = [
    "events",
    "mapSeries",
    "map",
    "randomWalk",
    "randomWalkFunction",
    "reduce",
    "reduceSeries",
    "seriesByTag",
    "template",
];

/// A source of chance (xorshift64*).
pub(crate) struct Chance(u64);

impl Chance {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        ((self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) as usize) % bound.max(1)
    }

    fn of<'a, T: ?Sized>(&mut self, all: &[&'a T]) -> &'a T {
        all[self.below(all.len())]
    }

    fn one_in(&mut self, bound: usize) -> bool {
        self.below(bound) == 0
    }
}

/// An expression at most `depth` functions deep.
pub(crate) fn expression(chance: &mut Chance, depth: usize) -> Expression {
    if depth == 0 || chance.one_in(8) {
        return Expression::Path(chance.of(&PATHS).to_owned());
    }
    if chance.one_in(24) {
        return map_reduce(chance, depth - 1);
    }
    let rows = registry::registry();
    let row = loop {
        let row = &rows[chance.below(rows.len())];
        if !LEFT_OUT.contains(&row.name) {
            break row;
        }
    };
    call(chance, row, depth - 1)
}

fn call(chance: &mut Chance, row: &'static Row, depth: usize) -> Expression {
    let mut arguments = Vec::new();
    for param in row.params {
        // What comes after an argument that is left out would take its place.
        let slow_without =
            row.name.starts_with("holtWinters") || ["timeStack", "timeSlice"].contains(&row.name);
        // Without a label it has no name in graphite-web, not even an empty one: see docs/FUNCTIONS.md.
        let nameless_without = row.name == "verticalLine" && param.name == "label";
        if !param.required && !slow_without && !nameless_without && chance.one_in(2) {
            break;
        }
        let times = if param.multiple { 1 + chance.below(3) } else { 1 };
        for _ in 0..times {
            arguments.push(argument(chance, row, param, depth));
        }
    }
    Expression::Call(row.name, arguments)
}

fn argument(chance: &mut Chance, row: &Row, param: &Param, depth: usize) -> Argument {
    match param.kind {
        // What it makes of a name must be the beginning of a path.
        Kind::SeriesList if row.name == "applyByNode" => {
            Argument::Series(Expression::Path(chance.of(&PATHS).to_owned()))
        }
        Kind::Series | Kind::SeriesList | Kind::SeriesLists => Argument::Series(expression(chance, depth)),
        _ => Argument::Literal { text: literal(chance, row, param), needed: param.required },
    }
}

/// `reduceSeries(mapSeries(…))`: neither makes sense without the other.
fn map_reduce(chance: &mut Chance, depth: usize) -> Expression {
    let text = |text: &str| Argument::Literal { text: text.to_owned(), needed: true };
    let path = match chance.below(2) {
        0 => Argument::Series(Expression::Path("gd.srv.*.cpu.*".to_owned())),
        _ => Argument::Series(Expression::Call(
            "scale",
            vec![Argument::Series(expression(chance, depth.min(1))), text("2")],
        )),
    };
    let map = Expression::Call("mapSeries", vec![path, text("2")]);
    let function = chance.of(&["\"asPercent\"", "\"divideSeries\"", "\"diffSeries\"", "\"sumSeries\""]);
    let arguments =
        vec![Argument::Series(map), text(function), text("4"), text("\"user\""), text("\"system\"")];
    Expression::Call("reduceSeries", arguments)
}

fn literal(chance: &mut Chance, row: &Row, param: &Param) -> String {
    if let Some(text) = special(chance, row.name, param.name) {
        return text;
    }
    if !param.options.is_empty() {
        return format!("\"{}\"", chance.of(param.options));
    }
    let quoted = |text: &str| format!("\"{text}\"");
    match param.kind {
        Kind::Boolean => chance.of(&["true", "false", "True"]).to_owned(),
        Kind::Float => chance.of(&["0", "1", "2.5", "-1", "10", "50", "95.5", "1e3", "0.5"]).to_owned(),
        Kind::Integer | Kind::Number => chance.of(&["0", "1", "2", "3", "5", "10"]).to_owned(),
        Kind::IntOrInf => chance.of(&["1", "3", "10", "inf"]).to_owned(),
        Kind::Node => chance.of(&["0", "1", "2", "3", "4", "-1"]).to_owned(),
        Kind::NodeOrTag => chance.of(&["0", "1", "2", "3", "-1", "-2", "\"name\""]).to_owned(),
        Kind::Tag => quoted("name"),
        Kind::Interval => quoted(chance.of(&["30s", "1min", "5min", "10min", "90s"])),
        Kind::IntOrInterval => {
            chance.of(&["1", "3", "5", "10", "\"1min\"", "\"5min\"", "\"100s\""]).to_owned()
        }
        Kind::AggFunc | Kind::AggOrSeriesFunc => {
            quoted(chance.of(&["sum", "average", "max", "last", "count", "median"]))
        }
        Kind::Date => quoted(chance.of(&["1794788460", "1794788700", "1794788880"])),
        Kind::Any => chance.of(&["100", "0", "250.5"]).to_owned(),
        _ => quoted(chance.of(&["web", "cpu", "load", "x", "a.b"])),
    }
}

/// Parameters for which any value of their kind would make an error, or a day of work.
fn special(chance: &mut Chance, function: &str, param: &str) -> Option<String> {
    let quoted = |text: &str| Some(format!("\"{text}\""));
    match (function, param) {
        (_, "pattern") => quoted(chance.of(&["web", "user$", "^gd", "0[12]", "e.h", "(a|b)"])),
        ("aliasSub", "search") => quoted(chance.of(&["^gd\\.(\\w+)", "cpu", "(\\d+)", "\\."])),
        ("aliasSub", "replace") => quoted(chance.of(&["\\1", "x", "-", "<\\1>"])),
        (_, "search") => quoted(chance.of(&["user", "cpu.*", "load"])),
        (_, "replace") => quoted(chance.of(&["system", "cpu.idle", "count"])),
        ("aliasQuery", "newName") => quoted(chance.of(&["v %g", "now: %d", "%.2f"])),
        ("applyByNode", "templateFunction") => {
            quoted(chance.of(&["sumSeries(%.cpu.*)", "%.cpu.user", "scale(%.*.*,2)"]))
        }
        ("applyByNode", "newName") => quoted(chance.of(&["%", "x.%.y"])),
        (_, "bootstrapInterval") => quoted(chance.of(&["10min", "20min"])),
        (_, "seasonality") => quoted(chance.of(&["5min", "10min"])),
        // Without it graphite-web takes the time of its own clock.
        ("timeSlice", _) => quoted(chance.of(&["1794788460", "1794788700", "1794788880"])),
        ("timeStack", "timeShiftUnit") => quoted(chance.of(&["1min", "5min"])),
        ("timeStack", "timeShiftStart") => Some(chance.of(&["0", "1"]).to_owned()),
        ("timeStack", "timeShiftEnd") => Some(chance.of(&["2", "3"]).to_owned()),
        ("identity" | "time" | "timeFunction" | "sin" | "sinFunction", "step") => {
            Some(chance.of(&["10", "60", "45"]).to_owned())
        }
        ("smartSummarize", "alignTo") => quoted(chance.of(&["minutes", "hours", "days"])),
        ("linearRegression", _) => quoted(chance.of(&["1794788460", "1794788940"])),
        ("legendValue", _) => quoted(chance.of(&["avg", "total", "last", "max", "si", "binary"])),
        ("color", _) | ("threshold" | "verticalLine", "color") => quoted(chance.of(&["red", "00ff00"])),
        _ => None,
    }
}
