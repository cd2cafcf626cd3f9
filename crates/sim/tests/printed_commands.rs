//! Every `lasthop run NAME --set KEY=VALUE` in the documentation, in scenario comments or in the
//! command's own help is valid.

use std::path::{Path, PathBuf};

use lasthop_sim::tcp::cc::{Definition, Reno};
use lasthop_sim::{Extensions, Scenario};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

#[test]
fn every_printed_command_is_valid() {
    let scenarios = Path::new(ROOT).join("scenarios");
    let mut checked = 0;
    let mut wrong = Vec::new();
    for file in printed() {
        let text = std::fs::read_to_string(&file).unwrap();
        for line in text.lines() {
            let Some(Command { scenario, sets, controls }) = command(line, &file) else { continue };
            let path = scenarios.join(format!("{scenario}.toml"));
            // Other names are files that the reader has written.
            if path.is_file() && !sets.is_empty() {
                checked += 1;
                if let Err(error) = Scenario::load_with(&path, &sets, &own(&controls)) {
                    wrong.push(format!("{}: {line}\n{error}", file.display()));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(checked >= 40, "only {checked} commands were found");
}

/// Returns the files that contain commands.
fn printed() -> Vec<PathBuf> {
    let root = Path::new(ROOT);
    let mut files = vec![root.join("README.md")];
    for (folder, ending) in [
        ("scenarios", "toml"),
        ("docs", "md"),
        ("docs/concepts", "md"),
        ("docs/guides", "md"),
        ("python/lasthop/cli", "py"),
    ] {
        let found = std::fs::read_dir(root.join(folder)).unwrap().map(|entry| entry.unwrap().path());
        files.extend(found.filter(|path| path.extension().is_some_and(|e| e == ending)));
    }
    files.sort();
    files
}

/// The arguments of a command line.
struct Command {
    scenario: String,
    /// The values of `--set`.
    sets: Vec<String>,
    /// The names that `--cc NAME=FILE:CLASS` gives to the reader's own congestion controls.
    controls: Vec<String>,
}

/// Stand-ins for the reader's own congestion controls, whose constructors define the parameters.
fn own(controls: &[String]) -> Extensions {
    controls.iter().fold(Extensions::new(), |extensions, name| {
        let control = Definition::new(name, |start| Ok(Box::new(Reno::new(start.config)))).any_parameter();
        extensions.with_cc(control).unwrap()
    })
}

/// Parses the command of a line. In a scenario's own comments a `--set` may stand alone.
fn command(line: &str, file: &Path) -> Option<Command> {
    let own = file.extension().is_some_and(|e| e == "toml") && line.starts_with('#');
    let (scenario, rest) = match line.split_once("lasthop run ") {
        Some((_, rest)) => {
            let words = words(rest);
            (words.first()?.trim_end_matches(".toml").to_owned(), words)
        }
        None if own => (file.file_stem()?.to_str()?.to_owned(), words(&line[line.find("--set")?..])),
        None => return None,
    };
    let values = |option| rest.windows(2).filter(move |pair| pair[0] == option).map(|pair| &*pair[1]);
    Some(Command {
        scenario,
        sets: values("--set").map(str::to_owned).collect(),
        controls: values("--cc").filter_map(|own| Some(own.split_once('=')?.0.to_owned())).collect(),
    })
}

/// Returns the words of a shell command, without their quotes, up to its end: a comment, a
/// backquote, or a comma.
fn words(text: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (Vec::new(), String::new(), None);
    for c in text.chars() {
        match (quote, c) {
            (Some(q), c) if c == q => quote = None,
            (None, '\'' | '"') => quote = Some(c),
            (None, '`' | '#' | '|' | '>' | ',') => break,
            (None, ' ') => words.extend(Some(std::mem::take(&mut word)).filter(|w| !w.is_empty())),
            _ => word.push(c),
        }
    }
    words.extend(Some(word).filter(|w| !w.is_empty()));
    words
}
