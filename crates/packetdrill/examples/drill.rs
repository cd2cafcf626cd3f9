//! Runs scripts and folders of scripts: `cargo run -p lasthop-packetdrill --example drill -- [-v] FILES`.
//!
//! Demonstrates in particular: a collection becomes a table, and a failure tells expected and actual.

use std::path::{Path, PathBuf};

use lasthop_packetdrill::{Outcome, Request, Summary, Verdict, run_text};

fn main() -> std::io::Result<()> {
    let mut args: Vec<String> = std::env::args().skip(1).collect();
    let verbose = args.iter().any(|a| a == "-v");
    args.retain(|a| a != "-v");
    let mut files = vec![];
    for a in &args {
        collect(Path::new(a), &mut files)?;
    }
    let mut outcomes = vec![];
    for file in files {
        let text = String::from_utf8_lossy(&std::fs::read(&file)?).into_owned();
        let o = run_text(&file.display().to_string(), &text, &Request::default(), verbose);
        show(&o);
        outcomes.push(o);
    }
    println!("{:>7} {:>6} {:>6} {:>4}  category", "scripts", "passed", "failed", "n/a");
    for (name, c) in Summary::of(&outcomes).categories {
        println!("{:>7} {:>6} {:>6} {:>4}  {name}", c.scripts, c.passed, c.failed, c.not_applicable);
    }
    Ok(())
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
