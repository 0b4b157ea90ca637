//! What to do about nulls.

use super::Invocation;
use super::arithmetic::each;
use crate::error::RenderError;
use crate::eval::Value;
use crate::grammar::Literal;
use crate::python::number::general;
use crate::series::Series;

/// Gaps of up to `limit` values take the value before them; longer ones stay as they are.
pub(super) fn keep_last_value(mut call: Invocation<'_>) -> Result<Value, RenderError> {
    let limit = gap_limit(&call);
    let mut series = call.series(0);
    for s in &mut series {
        call.is_wanted()?;
        s.rename(format!("keepLastValue({})", s.name));
        fill_gaps(s.values_mut(), limit);
    }
    Ok(series.into())
}

/// The longest gap to fill. The conversion goes to the nearest there is: none below zero, any for infinity.
fn gap_limit(call: &Invocation<'_>) -> usize {
    call.float_or(1, f64::INFINITY) as usize
}

fn fill_gaps(values: &mut [f64], limit: usize) {
    let mut last: Option<usize> = None;
    for at in 0..=values.len() {
        if values.get(at).is_some_and(|v| v.is_nan()) {
            continue;
        }
        // The gap between the last known value and this one, or the end.
        if let Some(from) = last
            && (1..=limit).contains(&(at - from - 1))
        {
            let value = values[from];
            values[from + 1..at].fill(value);
        }
        last = Some(at);
    }
}

/// A straight line over gaps of up to `limit` values that lie between two known ones.
pub(super) fn interpolate(mut call: Invocation<'_>) -> Result<Value, RenderError> {
    let limit = gap_limit(&call);
    let mut series = call.series(0);
    for s in &mut series {
        call.is_wanted()?;
        s.rename(format!("interpolate({})", s.name));
        bridge_gaps(s.values_mut(), limit);
    }
    Ok(series.into())
}

fn bridge_gaps(values: &mut [f64], limit: usize) {
    let mut last: Option<usize> = None;
    for at in 0..values.len() {
        let value = values[at];
        if value.is_nan() {
            continue;
        }
        if let Some(from) = last
            && (1..=limit).contains(&(at - from - 1))
        {
            let (first, steps) = (values[from], (at - from) as f64);
            for (step, gap) in (1..).zip(&mut values[from + 1..at]) {
                *gap = first + f64::from(step) * (value - first) / steps;
            }
        }
        last = Some(at);
    }
}

/// 1 where there is a value, 0 where there is none.
pub(super) fn is_non_null(call: Invocation<'_>) -> Result<Value, RenderError> {
    let known = each(call, "1", |value| f64::from(u8::from(!value.is_nan())))?;
    let Value::Series(known) = known else { return Ok(known) };
    Ok(known.into_iter().map(Series::counted).collect::<Vec<_>>().into())
}

pub(super) fn transform_null(mut call: Invocation<'_>) -> Result<Value, RenderError> {
    let default = call.float_or(1, 0.0);
    let tag = call.literal(1).map(Literal::text).unwrap_or_default();
    let references = call.series(2);
    let mut series = call.series(0);
    // Where any reference has a value.
    let rows = references.iter().map(|r| r.values.len()).max().unwrap_or(0);
    let known = |at: usize| references.iter().any(|r| r.values.get(at).is_some_and(|v| !v.is_nan()));
    let defaults: Vec<f64> = (0..rows).map(|at| if known(at) { default } else { f64::NAN }).collect();
    for s in &mut series {
        call.is_wanted()?;
        s.tags.set("transformNull", tag.as_str());
        let mut suffix = "";
        if !references.is_empty() {
            s.tags.set("referenceSeries", "1");
            suffix = ",referenceSeries";
        }
        s.rename(format!("transformNull({},{}{suffix})", s.name, general(default)));
        if defaults.is_empty() {
            s.map(|v| if v.is_nan() { default } else { v });
        } else {
            replace_nulls(s, &defaults);
        }
    }
    Ok(series.into())
}

/// Row by row. If there are more defaults than values, graphite-web keeps the last rows instead of the first, and so do we.
fn replace_nulls(series: &mut Series, defaults: &[f64]) {
    let rows = series.values.len().max(defaults.len());
    let at = |list: &[f64], i: usize| list.get(i).copied().unwrap_or(f64::NAN);
    let value = |i: usize| Some(at(&series.values, i)).filter(|v| !v.is_nan()).unwrap_or(at(defaults, i));
    series.values = (rows - series.values.len()..rows).map(value).collect();
}

pub(super) fn remove_empty_series(mut call: Invocation<'_>) -> Result<Value, RenderError> {
    let xff = call.float_or(1, 0.0);
    let mut series = call.series(0);
    series.retain(|s| {
        let known = s.known();
        known > 0 && known as f64 / s.values.len() as f64 >= xff
    });
    Ok(series.into())
}

#[cfg(test)]
mod tests {
    use crate::testing::*;

    fn store() -> Memory {
        Memory::new()
            .with("g.a", 60, &[N, 1.0, N, N, 4.0, N])
            .with("g.b", 60, &[N, N, N, N, N, 7.0])
            .with("g.none", 60, &[N; 6])
            .over(0, 360)
    }

    #[test]
    fn gaps_within_the_limit_are_filled_whole_or_not_at_all() {
        for (target, values) in [
            ("keepLastValue(g.a)", [N, 1.0, 1.0, 1.0, 4.0, 4.0]),
            ("keepLastValue(g.a,inf)", [N, 1.0, 1.0, 1.0, 4.0, 4.0]),
            ("keepLastValue(g.a,2)", [N, 1.0, 1.0, 1.0, 4.0, 4.0]),
            ("keepLastValue(g.a,1)", [N, 1.0, N, N, 4.0, 4.0]),
            ("keepLastValue(g.a,0)", [N, 1.0, N, N, 4.0, N]),
            ("keepLastValue(g.none)", [N; 6]),
            ("keepLastValue(g.a,'None')", [N, 1.0, 1.0, 1.0, 4.0, 4.0]),
            ("keepLastValue(g.a,limit='none')", [N, 1.0, 1.0, 1.0, 4.0, 4.0]),
            ("keepLastValue(g.a,none)", [N, 1.0, 1.0, 1.0, 4.0, 4.0]),
        ] {
            let got = store().one(target);
            assert_eq!(shown(&got), show(&values), "{target}");
            assert!(got.name.starts_with("keepLastValue(g."));
        }
        assert_eq!(tags(&store().one("keepLastValue(g.a)")), "name=g.a");
    }

    #[test]
    fn lines_bridge_gaps_between_values() {
        for (target, values) in [
            ("interpolate(g.a)", [N, 1.0, 2.0, 3.0, 4.0, N]),
            ("interpolate(g.a,2)", [N, 1.0, 2.0, 3.0, 4.0, N]),
            ("interpolate(g.a,1.5)", [N, 1.0, N, N, 4.0, N]),
            ("interpolate(g.a,-1)", [N, 1.0, N, N, 4.0, N]),
            ("isNonNull(g.a)", [0.0, 1.0, 0.0, 0.0, 1.0, 0.0]),
        ] {
            assert_eq!(shown(&store().one(target)), show(&values), "{target}");
        }
        assert!(store().error("interpolate(g.a,'x')").contains("Invalid \"intOrInf\" value"));
    }

    #[test]
    fn nulls_become_the_default() {
        for (target, name, tagged, values) in [
            (
                "transformNull(g.a)",
                "transformNull(g.a,0)",
                "name=g.a transformNull=0",
                [0.0, 1.0, 0.0, 0.0, 4.0, 0.0],
            ),
            (
                "transformNull(g.a,5)",
                "transformNull(g.a,5)",
                "name=g.a transformNull=5.0",
                [5.0, 1.0, 5.0, 5.0, 4.0, 5.0],
            ),
            (
                "transformNull(g.a,-1,g.b)",
                "transformNull(g.a,-1,referenceSeries)",
                "name=g.a transformNull=-1.0 referenceSeries=1",
                [N, 1.0, N, N, 4.0, -1.0],
            ),
            (
                "transformNull(g.a,default=-1,referenceSeries=g.b)",
                "transformNull(g.a,-1)",
                "name=g.a transformNull=-1.0",
                [-1.0, 1.0, -1.0, -1.0, 4.0, -1.0],
            ),
            (
                "transformNull(g.a,default=-1,referenceSeries=g.a)",
                "transformNull(g.a,-1,referenceSeries)",
                "name=g.a transformNull=-1.0 referenceSeries=1",
                [N, 1.0, N, N, 4.0, N],
            ),
            (
                "transformNull(g.a,default=2,referenceSeries=nothing)",
                "transformNull(g.a,2)",
                "name=g.a transformNull=2.0",
                [2.0, 1.0, 2.0, 2.0, 4.0, 2.0],
            ),
        ] {
            let got = store().one(target);
            assert_eq!(
                (&*got.name, tags(&got).as_str(), shown(&got)),
                (name, tagged, show(&values)),
                "{target}"
            );
        }
    }

    #[test]
    fn empty_series_are_dropped() {
        assert_eq!(names(&store().run("removeEmptySeries(g.*)")), ["g.a", "g.b"]);
        assert_eq!(names(&store().run("removeEmptySeries(g.*,0.3)")), ["g.a"]);
    }
}
