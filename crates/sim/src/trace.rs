//! Capacity traces in files.

use std::fs::{self, File};
use std::io::BufReader;
use std::path::Path;

use lasthop_net::trace::{Trace, TraceFormat, import, read_mahimahi, write_mahimahi};
use serde_json::{Value, json};

use crate::error::Error;
use crate::files::write_files;

/// Reads a trace in Mahimahi's format.
///
/// # Errors
/// The file cannot be opened, or the first mistake in it with its line. A pipe or a device is
/// refused: a scenario is read again with each of its changes, and opening a pipe would wait for
/// its writer without end.
pub fn load(path: &Path) -> Result<Trace, Error> {
    let file = open(path)?;
    read_mahimahi(BufReader::new(file)).map_err(|e| Error::input(format!("{}: {e}", path.display())))
}

fn open(path: &Path) -> Result<File, Error> {
    if fs::metadata(path).is_ok_and(|m| !m.is_file() && !m.is_dir()) {
        let message = format!("{} is not a regular file: copy what it gives to a file", path.display());
        return Err(Error::input(message));
    }
    let file = File::open(path).map_err(|e| Error::file("read", path, e))?;
    if file.metadata().is_ok_and(|m| m.is_dir()) {
        return Err(Error::input(format!("{} is a folder, not a trace", path.display())));
    }
    Ok(file)
}

/// Converts the trace `src` of any known format (None: recognised from its content) to Mahimahi's
/// at `dst`, and returns statistics. `dst` is written completely or not at all.
///
/// # Errors
/// The format name is unknown, the trace has an error, or a file cannot be read or written, or is a
/// pipe or a device.
pub fn import_trace(src: &Path, dst: &Path, format: Option<&str>) -> Result<Value, Error> {
    let format: Option<TraceFormat> = format
        .map(str::parse)
        .transpose()
        .map_err(|e: lasthop_net::UnknownName| Error::input(e.to_string()))?;
    let file = open(src)?;
    let imported =
        import(BufReader::new(file), format).map_err(|e| Error::input(format!("{}: {e}", src.display())))?;
    let mut text = Vec::new();
    write_mahimahi(&imported.trace, &mut text).map_err(|e| Error::file("write", dst, e))?;
    let notes = write_files(&[(dst.to_owned(), text)])?;
    Ok(json!({
        "notes": notes,
        "source": src.display().to_string(),
        "trace": dst.display().to_string(),
        "format": imported.format.name(),
        "source_bytes": imported.source_bytes,
        "stats": imported.stats,
    }))
}
