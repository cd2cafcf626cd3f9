//! Reading of a file, with checks before its first byte.

use std::fs::{self, File};
use std::io::{ErrorKind, Read as _};
use std::path::Path;

use super::diagnostic::{Diagnostic, Diagnostics};
use super::document::Document;
use super::suggest::suggest;

/// Largest size of a configuration [B]; a larger file is something else.
const LARGEST: u64 = 16 * 1024 * 1024;
/// Largest number of names of a directory that are compared to find a near one.
const MOST_NAMES: usize = 10_000;

/// Reads and parses the file at `path`.
pub fn load_file(path: impl AsRef<Path>) -> Result<Document, Diagnostics> {
    let path = path.as_ref();
    let name = path.display().to_string();
    let bytes = read(path, &name)?;
    Document::from_bytes(&bytes, &name)
}

fn read(path: &Path, name: &str) -> Result<Vec<u8>, Diagnostics> {
    let failed = |error: std::io::Error| -> Diagnostics {
        match error.kind() {
            ErrorKind::NotFound => Diagnostic::error(name, "there is no such file").help_opt(near(path)),
            ErrorKind::PermissionDenied => Diagnostic::error(name, "the file may not be read")
                .help("you lack the permission: see `ls -l`"),
            _ => Diagnostic::error(name, format!("the file cannot be read: {error}")),
        }
        .into()
    };
    let meta = fs::metadata(path).map_err(failed)?;
    if meta.is_dir() {
        let files = names(path).into_iter().filter(|n| n.ends_with(".toml")).take(10);
        let files: Vec<String> = files.map(|n| format!("`{n}`")).collect();
        let help = (!files.is_empty()).then(|| format!("it holds {}", files.join(", ")));
        return Err(Diagnostic::error(name, "this is a directory, not a file").help_opt(help).into());
    }
    if !meta.is_file() {
        return Err(Diagnostic::error(name, "this is not a regular file").into());
    }
    let mut bytes = Vec::new();
    File::open(path).and_then(|f| f.take(LARGEST + 1).read_to_end(&mut bytes)).map_err(failed)?;
    if bytes.len() as u64 > LARGEST {
        let message = format!("the file is larger than {} MiB", LARGEST >> 20);
        let help = "is it a configuration? A trace belongs in a file of its own";
        return Err(Diagnostic::error(name, message).help(help).into());
    }
    Ok(bytes)
}

/// A file with a name like that of `path`, or the nearest parent that does not exist either.
fn near(path: &Path) -> Option<String> {
    let parent = match path.parent() {
        Some(p) if p.as_os_str().is_empty() => Path::new("."),
        Some(p) => p,
        None => return None,
    };
    if !parent.is_dir() {
        return Some(format!("there is no directory `{}` either", parent.display()));
    }
    let wanted = path.file_name()?.to_str()?;
    let names = names(parent);
    let with_ending = format!("{wanted}.toml");
    let found = names.iter().find(|n| **n == with_ending).cloned().or_else(|| suggest(wanted, &names))?;
    Some(format!("did you mean `{}`?", path.with_file_name(found).display()))
}

/// The names in a directory, sorted.
fn names(directory: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir(directory) else { return Vec::new() };
    let mut names: Vec<String> =
        entries.flatten().take(MOST_NAMES).filter_map(|e| e.file_name().into_string().ok()).collect();
    names.sort();
    names
}
