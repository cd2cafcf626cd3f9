//! Every `lasthop run NAME --set KEY=VALUE` that documentation, scenario comments or the command's
//! own help print is valid.

use std::path::{Path, PathBuf};

use lasthop_sim::Scenario;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

#[test]
fn every_printed_command_is_valid() {
    let scenarios = Path::new(ROOT).join("scenarios");
    let mut checked = 0;
    let mut wrong = Vec::new();
    for file in printed() {
        let text = std::fs::read_to_string(&file).unwrap();
        for line in text.lines() {
            let Some((scenario, sets)) = command(line, &file) else { continue };
            let path = scenarios.join(format!("{scenario}.toml"));
            // Others are files that the reader has written.
            if path.is_file() && !sets.is_empty() {
                checked += 1;
                if let Err(error) = Scenario::load(&path, &sets) {
                    wrong.push(format!("{}: {line}\n{error}", file.display()));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(checked >= 40, "only {checked} commands were found");
}

/// The files that print commands.
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

/// The scenario and the `--set`s of a line. In a scenario's own comments a `--set` may stand alone.
fn command(line: &str, file: &Path) -> Option<(String, Vec<String>)> {
    let own = file.extension().is_some_and(|e| e == "toml") && line.starts_with('#');
    let (name, rest) = match line.split_once("lasthop run ") {
        Some((_, rest)) => {
            let words = words(rest);
            (words.first()?.trim_end_matches(".toml").to_owned(), words)
        }
        None if own => (file.file_stem()?.to_str()?.to_owned(), words(&line[line.find("--set")?..])),
        None => return None,
    };
    let sets = rest.windows(2).filter(|pair| pair[0] == "--set").map(|pair| pair[1].clone());
    Some((name, sets.collect()))
}

/// The words of a shell command, without their quotes, as far as the command goes: to a comment, a
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
