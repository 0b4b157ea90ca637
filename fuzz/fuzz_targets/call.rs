//! Every function with any arguments gives an answer or a refusal. Bytes choose the function and its arguments: texts that
//! happen to be calls of 154 functions are rare.
#![no_main]

use libfuzzer_sys::fuzz_target;
use graphite_render::functions::registry;

#[path = "../everything.rs"]
mod everything;

/// How deep calls are nested.
const DEPTH: usize = 3;

/// What stands for an argument, wherever it fits and wherever not.
const ARGUMENTS: [&str; 40] = [
    "a.*", "b.c", "a.*.{x,y}", "0", "1", "2", "-1", "10", "0.5", "-0.0", "1e308", "-1e308", "1e-320", "9223372036854775807",
    "-9223372036854775808", "4294967296", "true", "false", "None", "inf", "nan", "''", "'1min'", "'-1d'", "'99999999999y'",
    "'sum'", "'average'", "'median'", "'last'", "'multiply'", "'^(.*)$'", "'(('", "'\\1'", "'>'", "'#ff0000'", "'00:00 20261116'",
    "'name'", "'*'", "'é'", "seriesByTag('name=a')",
];

fn call(bytes: &mut impl Iterator<Item = u8>, depth: usize) -> String {
    let rows = registry::registry();
    let mut next = || usize::from(bytes.next().unwrap_or(0));
    let row = &rows[(next() * 256 + next()) % rows.len()];
    let count = next() % (row.params.len() + 2);
    let mut arguments = Vec::new();
    for nth in 0..count {
        let choice = usize::from(bytes.next().unwrap_or(0));
        let argument = match choice {
            0..64 if depth > 1 => call(bytes, depth - 1),
            0..64 => "a.*".to_owned(),
            _ => ARGUMENTS[choice % ARGUMENTS.len()].to_owned(),
        };
        let name = row.params.get(nth).filter(|_| choice % 7 == 0 && nth > 0);
        arguments.push(name.map_or(argument.clone(), |param| format!("{}={argument}", param.name)));
    }
    format!("{}({})", row.name, arguments.join(","))
}

fuzz_target!(|data: &[u8]| {
    everything::evaluate(&call(&mut data.iter().copied(), DEPTH));
});
