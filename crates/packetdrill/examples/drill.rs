//! Runs scripts and folders of scripts: `cargo run -p lasthop-packetdrill --example drill -- [-v]
//! [-D NAME] [--tolerance_usecs=N] FILES`.
//!
//! Demonstrates in particular: a table of the results of a collection, and expected and actual
//! packets of a failure.

use std::path::{Path, PathBuf};

use lasthop_packetdrill::{Category, Outcome, Request, Summary, Verdict, run_text};

fn main() -> Result<(), String> {
    let (request, verbose, paths) = request(std::env::args().skip(1))?;
    let mut files = vec![];
    for p in &paths {
        collect(Path::new(p), &mut files).map_err(|e| format!("{p}: {e}"))?;
    }
    let mut outcomes = vec![];
    for file in files {
        let text = std::fs::read(&file).map_err(|e| format!("{}: {e}", file.display()))?;
        let text = String::from_utf8_lossy(&text);
        let o = run_text(&file.display().to_string(), &text, &request, verbose);
        show(&o);
        outcomes.push(o);
    }
    println!("{:>7} {:>6} {:>6} {:>4}  category", "scripts", "passed", "failed", "n/a");
    let summary = Summary::of(&outcomes);
    for (name, c) in &summary.categories {
        row(name, c);
    }
    row("all", &summary.total());
    Ok(())
}

fn row(name: &str, c: &Category) {
    println!("{:>7} {:>6} {:>6} {:>4}  {name}", c.scripts, c.passed, c.failed, c.not_applicable);
}

/// `-v`, `-D NAME[=VALUE]`, `--OPTION=VALUE` of the original tool, and files.
fn request(args: impl Iterator<Item = String>) -> Result<(Request, bool, Vec<String>), String> {
    let (mut request, mut verbose, mut paths) = (Request::default(), false, vec![]);
    let mut args = args;
    while let Some(a) = args.next() {
        if a == "-v" {
            verbose = true;
        } else if let Some(symbol) = a.strip_prefix("-D") {
            let next = if symbol.is_empty() { args.next().unwrap_or_default() } else { symbol.to_owned() };
            request = request.define(&next)?;
        } else if let Some(host) = a.strip_prefix("--host=") {
            request = request.host(host)?;
        } else if let Some(option) = a.strip_prefix("--") {
            let (name, value) = option.split_once('=').unwrap_or((option, ""));
            request = request.option(name, value)?;
        } else {
            paths.push(a);
        }
    }
    Ok((request, verbose, paths))
}

fn show(o: &Outcome) {
    o.transcript.iter().for_each(|l| println!("    {l}"));
    if o.verdict != Verdict::Passed {
        println!("{}:{}:{}: {:?}: {}", o.name, o.line, o.column, o.verdict, o.message);
    }
}

fn collect(path: &Path, files: &mut Vec<PathBuf>) -> std::io::Result<()> {
    if !path.is_dir() {
        files.push(path.to_owned());
        return Ok(());
    }
    let mut inside: Vec<PathBuf> =
        std::fs::read_dir(path)?.map(|e| e.map(|e| e.path())).collect::<Result<_, _>>()?;
    inside.sort();
    for p in inside.iter().filter(|p| p.is_dir() || p.extension().is_some_and(|e| e == "pkt")) {
        collect(p, files)?;
    }
    Ok(())
}
