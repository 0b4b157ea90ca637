//! How a series is made coarser later: its consolidation function and its xFilesFactor.

use super::Invocation;
use crate::error::RenderError;
use crate::eval::Value;
use crate::python::number::repr;
use crate::series::consolidate::Consolidation;

pub(super) fn consolidate_by(call: Invocation<'_>) -> Result<Value, RenderError> {
    let function = call.text(1).to_owned();
    consolidated(call, &function)
}

pub(super) fn cumulative(call: Invocation<'_>) -> Result<Value, RenderError> {
    consolidated(call, "sum")
}

fn consolidated(mut call: Invocation<'_>, function: &str) -> Result<Value, RenderError> {
    let mut series = call.series(0);
    for s in &mut series {
        call.is_wanted()?;
        s.consolidation = Consolidation::named(function);
        s.tags.set("consolidateBy", function);
        s.rename(format!("consolidateBy({},\"{function}\")", s.name));
    }
    Ok(series.into())
}

/// Also for what is evaluated around it and after it.
pub(super) fn set_x_files_factor(mut call: Invocation<'_>) -> Result<Value, RenderError> {
    let xff = call.float_or(1, 0.0);
    call.context.set_x_files_factor(xff);
    let mut series = call.series(0);
    for s in &mut series {
        call.is_wanted()?;
        s.x_files_factor = xff;
        s.tags.set("xFilesFactor", repr(xff));
    }
    Ok(series.into())
}

#[cfg(test)]
mod tests {
    use crate::testing::*;

    #[test]
    fn only_the_name_tags_and_settings_change() {
        let store = Memory::new().with("a", 60, &[1.0; 4]);
        let got = store.one("consolidateBy(a,'max')");
        assert_eq!((&*got.name, got.consolidation.name()), ("consolidateBy(a,\"max\")", "max"));
        assert_eq!((tags(&got).as_str(), &*got.path_expression), ("name=a consolidateBy=max", &*got.name));
        assert_eq!(&*store.one("cumulative(a)").name, "consolidateBy(a,\"sum\")");
        let got = store.one("xFilesFactor(a,0.5)");
        assert_eq!(
            (&*got.name, got.x_files_factor, tags(&got).as_str()),
            ("a", 0.5, "name=a xFilesFactor=0.5")
        );
    }
}
