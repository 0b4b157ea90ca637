//! `man`: manual pages, generated from the same declarations as `--help`.

use std::io::{self, Write};

use clap_mangen::Man;
use clap_mangen::roff::{Roff, roman};

use super::{Arguments, ManPage, UsageError};

/// The sections of the program's page besides its options.
const CHAPTERS: [(&str, &[&str]); 3] = [
    (
        "ENVIRONMENT",
        &[
            "PLUMBAGO_SECTION__KEY sets the configuration key section.key. It overrides the file, and --set overrides it.",
            "PLUMBAGO_CONFIG names the configuration file if --config does not.",
            "PLUMBAGO_LOG is a log filter, used if neither --verbose nor --quiet is given.",
        ],
    ),
    (
        "FILES",
        &[
            "plumbago.toml in the working directory is the configuration if no other is named, and /etc/plumbago/plumbago.toml if it is not there.",
            "storage-schemas.conf and storage-aggregation.conf beside it are read as carbon reads them.",
            "plumbago-data in the working directory holds the data, unless store.path says otherwise.",
        ],
    ),
    ("EXIT STATUS", &["0 done; 1 the work failed; 2 wrong usage or configuration."]),
];

/// Prints a page.
pub(super) fn run(arguments: &ManPage, out: &mut dyn Write) -> anyhow::Result<()> {
    let pages = pages()?;
    let file = match &arguments.command {
        None => "plumbago.1".to_owned(),
        Some(command) => format!("plumbago-{command}.1"),
    };
    let Some((_, page)) = pages.into_iter().find(|(name, _)| *name == file) else {
        let command = arguments.command.as_deref().unwrap_or_default();
        return Err(
            UsageError(format!("there is no command `{command}`; `plumbago --help` lists them")).into()
        );
    };
    Ok(out.write_all(&page)?)
}

/// Every page with its file name: first that of the program, then one for each command.
pub fn pages() -> io::Result<Vec<(String, Vec<u8>)>> {
    let mut program = Arguments::declaration().disable_help_subcommand(true);
    program.build();
    let commands: Vec<clap::Command> = program.get_subcommands().cloned().collect();
    let mut pages = vec![page(program, &CHAPTERS)?];
    for command in commands {
        let parts: Vec<clap::Command> = command.get_subcommands().cloned().collect();
        pages.push(page(command, &[])?);
        for part in parts {
            pages.push(page(part, &[])?);
        }
    }
    Ok(pages)
}

fn page(command: clap::Command, chapters: &[(&str, &[&str])]) -> io::Result<(String, Vec<u8>)> {
    let examples = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    let has_commands = command.has_subcommands();
    let man = Man::new(command).source(concat!("plumbago ", env!("CARGO_PKG_VERSION"))).manual("Plumbago");
    let mut page = Vec::new();
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    man.render_synopsis_section(&mut page)?;
    man.render_description_section(&mut page)?;
    man.render_options_section(&mut page)?;
    if has_commands {
        man.render_subcommands_section(&mut page)?;
    }
    let mut roff = Roff::new();
    for (title, paragraphs) in chapters {
        roff.control("SH", [*title]);
        for paragraph in *paragraphs {
            roff.control("PP", []);
            roff.text([roman(*paragraph)]);
        }
    }
    roff.control("SH", ["EXAMPLES"]);
    roff.control("nf", []);
    for line in examples.lines().skip(1) {
        roff.text([roman(line)]);
    }
    roff.control("fi", []);
    roff.to_writer(&mut page)?;
    Ok((man.get_filename(), page))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::assert_current;

    #[test]
    fn the_manual_pages_are_current() {
        for (name, page) in pages().unwrap() {
            assert_current(&format!("docs/man/{name}"), &String::from_utf8(page).unwrap());
        }
    }

    #[test]
    fn every_command_has_a_page_with_examples() {
        let pages = pages().unwrap();
        let declaration = Arguments::declaration();
        let parts: usize =
            declaration.get_subcommands().map(|command| 1 + command.get_subcommands().count()).sum();
        assert_eq!(pages.len(), 1 + parts, "a page for the program and one for each command");
        for (name, page) in pages {
            let text = String::from_utf8(page).unwrap();
            assert!(text.contains(".SH EXAMPLES"), "{name}");
            assert!(text.contains("\nplumbago ") || text.contains("\n  plumbago "), "{name}: {text}");
        }
    }

    #[test]
    fn a_command_that_does_not_exist_is_refused() {
        let mut out = Vec::new();
        let wrong = ManPage { command: Some("mna".to_owned()) };
        assert!(run(&wrong, &mut out).unwrap_err().to_string().contains("no command `mna`"));
        run(&ManPage { command: Some("find".to_owned()) }, &mut out).unwrap();
        assert!(String::from_utf8(out).unwrap().contains("plumbago\\-find"));
    }
}
