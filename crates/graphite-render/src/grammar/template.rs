//! `template()` is written out before anything is planned or fetched.

use std::collections::HashMap;

use super::{Call, Expr, Literal};

/// The expression with every template replaced by its body. `request` holds the `template[...]` parameters of the
/// request, which win over the values in the target.
pub(crate) fn expand(expr: Expr, request: &HashMap<String, String>) -> Expr {
    substitute(expr, None, request)
}

type Values = Vec<(String, Literal)>;

fn substitute(expr: Expr, values: Option<&Values>, request: &HashMap<String, String>) -> Expr {
    match expr {
        Expr::Path(path) => match values {
            Some(values) => in_path(path, values),
            None => Expr::Path(path),
        },
        Expr::Call(Call { name, args, kwargs }) => Expr::Call(Call {
            name,
            args: args.into_iter().map(|arg| substitute(arg, values, request)).collect(),
            kwargs: kwargs.into_iter().map(|(key, arg)| (key, substitute(arg, values, request))).collect(),
        }),
        Expr::Template(template) => {
            let mut values = template.values;
            for (name, text) in request {
                values.retain(|(known, _)| known != name);
                values.push((name.clone(), Literal::Text(text.clone())));
            }
            // Longest first, so that `$hostname` is never taken for `$host`.
            values.sort_by(|(a, _), (b, _)| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
            substitute(*template.body, Some(&values), request)
        }
        Expr::Tagged(_) | Expr::Literal(_) => expr,
    }
}

/// A path that is nothing but a variable becomes its value; elsewhere the value's text is put in.
fn in_path(mut path: String, values: &Values) -> Expr {
    for (name, value) in values {
        let variable = format!("${name}");
        if path == variable {
            return Expr::Literal(whole(value));
        }
        if path.contains(&variable) {
            path = path.replace(&variable, &value.text());
        }
    }
    Expr::Path(path)
}

/// Text that looks like a number stands for one: request parameters have no types.
fn whole(value: &Literal) -> Literal {
    if let Literal::Text(text) = value {
        let digits = text.strip_prefix('-').unwrap_or(text);
        let numeric = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit() || b == b'.');
        if let (true, Ok(number)) = (numeric, text.parse()) {
            return Literal::Float(number);
        }
    }
    value.clone()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grammar::parse;

    fn expanded(target: &str, request: &[(&str, &str)]) -> Expr {
        let request = request.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        expand(parse(target).unwrap(), &request)
    }

    #[test]
    fn values_replace_variables_in_paths() {
        assert_eq!(expanded(r#"template(a.$1.c.$2, "b", 5)"#, &[]), Expr::Path("a.b.c.5".into()));
        assert_eq!(expanded(r#"template(a.$host, host="b")"#, &[]), Expr::Path("a.b".into()));
        assert_eq!(expanded(r#"template(a.$host, host="b")"#, &[("host", "z")]), Expr::Path("a.z".into()));
        assert_eq!(
            expanded(r#"template(a.$hostname.$host, host="b", hostname="c")"#, &[]),
            Expr::Path("a.c.b".into())
        );
        assert_eq!(expanded("a.$1", &[("1", "x")]), Expr::Path("a.$1".into()));
    }

    #[test]
    fn a_variable_alone_is_its_value() {
        assert_eq!(
            expanded(r#"template(scale(a.$h,$1), h="b")"#, &[("1", "2")]),
            parse("scale(a.b,2.0)").unwrap()
        );
        assert_eq!(expanded(r#"template(alias(a,$1), "1.2.3")"#, &[]), parse(r#"alias(a,"1.2.3")"#).unwrap());
    }

    #[test]
    fn an_inner_template_has_its_own_values() {
        assert_eq!(
            expanded(r#"template(group(a.$1, template(b.$1.$x, "2")), "1")"#, &[]),
            parse("group(a.1, b.2.$x)").unwrap()
        );
    }
}
