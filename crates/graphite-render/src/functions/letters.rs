//! Names in other letters.

use super::Invocation;
use super::machinery::key::index;
use crate::error::RenderError;
use crate::eval::Value;
use crate::grammar::Literal;

/// `lower` and `upper`: the whole names, or only the letters at some positions. Negative ones count from the end; one
/// that a name does not have changes nothing.
pub(super) fn change(mut call: Invocation<'_>, upper: bool) -> Result<Value, RenderError> {
    let positions: Vec<i64> = call.literals(1).iter().filter_map(whole).collect();
    let changed = |text: &str| if upper { text.to_uppercase() } else { text.to_lowercase() };
    let mut series = call.series(0);
    for s in &mut series {
        call.is_wanted()?;
        if positions.is_empty() {
            s.name = changed(&s.name).into();
            continue;
        }
        let mut letters: Vec<String> = s.name.chars().map(String::from).collect();
        for &position in &positions {
            let letter = index(position, letters.len()).and_then(|at| letters.get_mut(at));
            if let Some(letter) = letter {
                *letter = changed(letter);
            }
        }
        s.name = letters.concat().into();
    }
    Ok(series.into())
}

fn whole(literal: &Literal) -> Option<i64> {
    match literal {
        Literal::Int(n) => Some(*n),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::*;

    #[test]
    fn all_letters_or_some() {
        let store = Memory::new().with("Srv.Web", 60, &[1.0; 4]);
        for (target, expected) in [
            ("lower(Srv.Web)", "srv.web"),
            ("upper(Srv.Web)", "SRV.WEB"),
            ("lower(Srv.Web,0)", "srv.Web"),
            ("upper(Srv.Web,1,-1)", "SRv.WeB"),
            ("upper(Srv.Web,7,-8,99)", "Srv.Web"),
            ("upper(alias(Srv.Web,'straße'))", "STRASSE"),
            ("upper(alias(Srv.Web,'straße'),-2)", "straSSe"),
            ("lower(alias(Srv.Web,''),0)", ""),
        ] {
            let got = store.one(target);
            assert_eq!((&*got.name, &*got.path_expression), (expected, "Srv.Web"), "{target}");
        }
        assert!(store.error("lower(Srv.Web,'x')").contains("\"pos\""));
    }
}
