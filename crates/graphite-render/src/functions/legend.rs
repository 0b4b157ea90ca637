//! Names that tell values, for the legend of a picture.

use super::Invocation;
use crate::error::RenderError;
use crate::eval::Value;
use crate::grammar::Literal;
use crate::python::number::repr;
use crate::series::Series;
use crate::series::aggregate::Aggregation;

/// Appends aggregates to the names. A last argument of `si` or `binary` sets them in columns, with unit prefixes.
pub(super) fn legend_value(mut call: Invocation<'_>) -> Result<Value, RenderError> {
    let mut types: Vec<String> = call.literals(1).iter().map(Literal::text).collect();
    let system = match types.last().map(String::as_str) {
        Some("si" | "binary") => types.pop().as_deref().and_then(System::named),
        Some(_) => None,
        None => {
            return Err(RenderError::invalid(
                "legendValue: valuesTypes must name at least one aggregation, as in legendValue(a.b,\"avg\")",
            ));
        }
    };
    let mut series = call.series(0);
    for kind in &types {
        let aggregation = Aggregation::named(kind).ok();
        for s in &mut series {
            call.is_wanted()?;
            let value = aggregation.map(|aggregation| aggregation.of(&s.values));
            s.name = match &system {
                None => format!("{} ({kind}: {})", s.name, plain(s, aggregation.zip(value))),
                Some(system) => format!("{:<20}{kind:<5}{:<10}", s.name, in_units(system, value)),
            }
            .into();
        }
    }
    Ok(series.into())
}

/// As Python's `str`. An aggregation that does not exist shows as a question.
fn plain(series: &Series, aggregate: Option<(Aggregation, f64)>) -> String {
    aggregate
        .map_or_else(|| "(?)".to_owned(), |(aggregation, value)| series.aggregate_text(aggregation, value))
}

fn in_units(system: &System, value: Option<f64>) -> String {
    match value {
        None => "(?)".to_owned(),
        Some(value) if value.is_nan() => "None".to_owned(),
        Some(value) => {
            let (scaled, prefix) = system.scaled(value);
            format!("{}{prefix}", two_decimals(scaled))
        }
    }
}

/// Names padded to the same width, with the last, greatest and least values in columns behind them.
pub(super) fn cacti_style(mut call: Invocation<'_>) -> Result<Value, RenderError> {
    let mut series = call.series(0);
    if series.is_empty() {
        return Ok(series.into());
    }
    let system = match call.text(1) {
        "" => None,
        name => Some(System::named(name).ok_or_else(|| {
            RenderError::invalid(format!("cactiStyle: system must be si or binary, not '{name}'"))
        })?),
    };
    let column = Column { system, units: call.text(2).to_owned() };
    let width = |text: &str| text.chars().count();
    let names = series.iter().map(|s| width(&s.name)).max().unwrap_or(0);
    let widths = Column::AGGREGATIONS.map(|by| {
        let widest = series.iter().map(|s| column.reserved(by.of(&s.values))).max().unwrap_or(0);
        widest + 3
    });
    for s in &mut series {
        call.is_wanted()?;
        let [last, max, min] = Column::AGGREGATIONS.map(|by| column.show(by.of(&s.values)));
        let [last_width, max_width, min_width] = widths;
        s.name = format!(
            "{:<names$} Current:{last:<last_width$} Max:{max:<max_width$} Min:{min:<min_width$} ",
            s.name
        )
        .into();
    }
    Ok(series.into())
}

/// How `cactiStyle` shows values.
struct Column {
    system: Option<System>,
    units: String,
}

impl Column {
    const AGGREGATIONS: [Aggregation; 3] = [Aggregation::Last, Aggregation::Max, Aggregation::Min];

    fn show(&self, value: f64) -> String {
        if value.is_nan() {
            return "nan".to_owned();
        }
        let (scaled, prefix) = self.system.as_ref().map_or((value, ""), |system| system.scaled(value));
        let blank = if self.units.is_empty() { "" } else { " " };
        format!("{}{blank}{prefix}{}", two_decimals(scaled), self.units)
    }

    /// Characters set aside for a value: those of its whole part, or of a 3 for zero and null.
    fn reserved(&self, value: f64) -> usize {
        let whole = if value.is_nan() || value == 0.0 { 3.0 } else { value.trunc() };
        // The sign of -0.5 is gone once it is the integer 0.
        self.show(whole + 0.0).chars().count()
    }
}

/// As `%.2f`.
fn two_decimals(value: f64) -> String {
    if value.is_finite() { format!("{value:.2}") } else { repr(value) }
}

/// Prefixes for large numbers, the largest first.
struct System(&'static [(&'static str, f64)]);

impl System {
    fn named(name: &str) -> Option<Self> {
        const K: f64 = 1024.0;
        Some(System(match name {
            "si" => &[("P", 1e15), ("T", 1e12), ("G", 1e9), ("M", 1e6), ("k", 1e3)],
            "binary" => &[
                ("Pi", K * K * K * K * K),
                ("Ti", K * K * K * K),
                ("Gi", K * K * K),
                ("Mi", K * K),
                ("Ki", K),
            ],
            "sec" => &[("Y", 31_536_000.0), ("M", 2_592_000.0), ("D", 86_400.0), ("H", 3_600.0), ("m", 60.0)],
            "msec" => &[
                ("Y", 31_536_000_000.0),
                ("M", 2_592_000_000.0),
                ("D", 86_400_000.0),
                ("H", 3_600_000.0),
                ("m", 60_000.0),
                ("s", 1_000.0),
            ],
            "none" => &[],
            _ => return None,
        }))
    }

    /// The value in units of its prefix; a whole number that is hardly missed is met.
    fn scaled(&self, value: f64) -> (f64, &'static str) {
        let (prefix, size) =
            self.0.iter().copied().find(|(_, size)| value.abs() >= *size).unwrap_or(("", 1.0));
        let scaled = value / size;
        let whole = scaled - scaled.floor() < 1e-11 && value > 1.0;
        (if whole { scaled.floor() } else { scaled }, prefix)
    }
}

#[cfg(test)]
mod tests {
    use super::System;
    use crate::testing::*;

    fn store() -> Memory {
        Memory::new()
            .with("g.a", 60, &[1.0, 2.5, 0.0, N])
            .with("g.long", 60, &[2048.0, 3e6, 1000.0, 1.0])
            .with("g.none", 60, &[N; 4])
            .with("g.zero", 60, &[0.0; 4])
    }

    fn renamed(target: &str) -> String {
        store().one(target).name.to_string()
    }

    #[test]
    fn values_stand_behind_the_name() {
        for (target, expected) in [
            ("legendValue(g.a,'avg')", "g.a (avg: 1.1666666666666667)"),
            ("legendValue(g.a,'max','count')", "g.a (max: 2.5) (count: 3)"),
            ("legendValue(g.a,'bogus')", "g.a (bogus: (?))"),
            (
                "legendValue(g.none,'last','avg_zero','count')",
                "g.none (last: None) (avg_zero: 0.0) (count: 0)",
            ),
            ("legendValue(g.long,'max','si')", "g.long              max  3.00M     "),
            ("legendValue(g.long,'max','binary')", "g.long              max  2.86Mi    "),
            ("legendValue(g.none,'max','si')", "g.none              max  None      "),
            ("legendValue(g.long,'x','si')", "g.long              x    (?)       "),
            ("legendValue(g.a,'si')", "g.a"),
            ("legendValue(g.a,'si','max')", "g.a (si: (?)) (max: 2.5)"),
        ] {
            assert_eq!(renamed(target), expected, "{target}");
        }
        assert!(store().error("legendValue(g.a)").contains("legendValue: valuesTypes"));
    }

    #[test]
    fn columns_line_up() {
        for (target, expected) in [
            ("cactiStyle(g.a)", "g.a Current:0.00    Max:2.50    Min:0.00    "),
            ("cactiStyle(g.none)", "g.none Current:nan     Max:nan     Min:nan     "),
            ("cactiStyle(g.long,'si')", "g.long Current:1.00    Max:3.00M    Min:1.00    "),
            ("cactiStyle(g.long,'si','b')", "g.long Current:1.00 b    Max:3.00 Mb    Min:1.00 b    "),
            ("cactiStyle(g.long,none,'b')", "g.long Current:1.00 b    Max:3000000.00 b    Min:1.00 b    "),
        ] {
            assert_eq!(renamed(target), expected, "{target}");
        }
        let got = store().run("cactiStyle(g.*)");
        assert_eq!(&*got[0].name, "g.a    Current:0.00    Max:2.50          Min:0.00    ");
        assert!(
            store().error("cactiStyle(g.a,'bogus')").contains("system must be si or binary, not 'bogus'")
        );
        assert!(store().run("cactiStyle(nothing)").is_empty());
    }

    #[test]
    fn prefixes_go_by_size() {
        let binary = System::named("binary").unwrap();
        assert_eq!(binary.scaled(1024.0), (1.0, "Ki"));
        assert_eq!(binary.scaled(-2048.0), (-2.0, "Ki"));
        assert_eq!(binary.scaled(1000.0), (1000.0, ""));
        assert_eq!(System::named("si").unwrap().scaled(f64::INFINITY), (f64::INFINITY, "P"));
        assert_eq!(System::named("sec").unwrap().scaled(120.0), (2.0, "m"));
    }
}
