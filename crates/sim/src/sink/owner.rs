//! The owners of `<name>.<process>.partial` folders: the process, and whether it lives.
//!
//! The folder contains a file with the host's name, which is locked as long as the run lives. A
//! lock ends with its process however that ends, and another process with the same id does not hold
//! it. If the file was written on another host the lock may not be visible (NFS): such a folder is
//! named in a message and not changed.

use std::fmt;
use std::fs::{self, File, TryLockError};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use crate::error::Error;
use crate::files::{self, is_process};

/// The file in a folder that its run keeps locked.
const FILE: &str = ".owner";

/// The owner of a folder that is not finished.
pub struct Owner {
    process: u32,
    host: Option<String>,
    /// True if the run still lives; None: it ran on another host.
    alive: Option<bool>,
}

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "process {}", self.process)?;
        self.host.as_deref().map_or(Ok(()), |host| write!(f, " on {host}"))
    }
}

impl Owner {
    /// Marks `partial` as this process's, until the file that is returned is closed.
    pub fn claim(partial: &Path) -> Result<File, Error> {
        let path = partial.join(FILE);
        let failed = |e| Error::file("create", &path, e);
        let mut file = File::create_new(&path).map_err(failed)?;
        // The file is locked before the host is written: without a host the process id counts. On a
        // file system without locks only the id can be checked.
        let _best_effort = file.try_lock();
        file.write_all(host().as_bytes()).map_err(failed)?;
        Ok(file)
    }

    /// Removes the owner's file, because the folder is complete.
    pub fn release(partial: &Path) {
        let _best_effort = fs::remove_file(partial.join(FILE));
    }

    /// The owner of `partial`, a folder of process `process`.
    fn of(partial: &Path, process: u32) -> Owner {
        let file = File::open(partial.join(FILE)).ok();
        let host_of_file = fs::read_to_string(partial.join(FILE)).ok().filter(|h| !h.is_empty());
        let same_host = host_of_file.as_ref().is_none_or(|h| *h == host());
        let locked = match file.as_ref().map(File::try_lock) {
            Some(Err(TryLockError::WouldBlock)) => Some(true),
            Some(Ok(())) => Some(false),
            // No file (another version, or killed before it was made), or a file system without
            // locks.
            _ => None,
        };
        let alive = match locked {
            Some(true) => Some(true),
            Some(false) if host_of_file.is_some() => same_host.then_some(false),
            _ => same_host.then(|| process != std::process::id() && is_process(process)),
        };
        Owner { process, host: host_of_file, alive }
    }
}

/// A lock on the directory `parent` for as long as the file is open; none where the file system has
/// no such lock.
pub fn lock_directory(parent: &Path) -> Option<File> {
    let directory = File::open(parent).ok()?;
    directory.lock().is_ok().then_some(directory)
}

/// The live run that writes to what will be `path`.
pub fn writer_of(path: &Path) -> Option<Owner> {
    let parent = files::parent(path);
    let mine = |(name, _): &(String, u32)| path.file_name().is_some_and(|n| n.to_string_lossy() == **name);
    let found = left(parent, "partial").into_iter().filter(|(_, key)| mine(key));
    found.map(|(partial, (_, process))| Owner::of(&partial, process)).find(|o| o.alive == Some(true))
}

/// Removes folders that dead runs left in `parent`; `path` is the result of the next run. Returns
/// messages on them.
pub fn clear_stale(parent: &Path, path: &Path) -> Vec<String> {
    let mut notes = Vec::new();
    for (partial, (name, process)) in left(parent, "partial") {
        let owner = Owner::of(&partial, process);
        // A folder without an owner may be another program's, unless it has the name of this
        // result.
        let ours = owner.host.is_some() || path.file_name().is_some_and(|n| n.to_string_lossy() == *name);
        let shown = partial.display();
        if !ours || owner.alive == Some(true) {
            continue;
        }
        if partial.join("manifest.json").exists() {
            notes.push(format!("{shown} holds the complete results of {owner}: rename or remove it"));
        } else if owner.alive.is_none() {
            notes.push(format!("{shown} was left by {owner}: remove it if that run has ended"));
        } else {
            notes.push(match fs::remove_dir_all(&partial) {
                Ok(()) => format!("removed {shown}, which {owner} left when it was killed"),
                // A run beside this one has ended or removed the same folder since it was listed.
                Err(e) if e.kind() == io::ErrorKind::NotFound => continue,
                Err(e) => format!("cannot remove {shown}, which {owner} left when it was killed: {e}"),
            });
        }
    }
    for (old, (name, process)) in left(parent, "old") {
        if path.file_name().is_some_and(|n| n.to_string_lossy() == *name) && !is_process(process) {
            let message = "holds results that process";
            notes.push(format!("{} {message} {process} was to replace: rename or remove it", old.display()));
        }
    }
    notes
}

/// The folders `NAME.PROCESS.KIND` in `parent`, by name.
fn left(parent: &Path, kind: &str) -> Vec<(PathBuf, (String, u32))> {
    let is_folder = |path: &Path| fs::symlink_metadata(path).is_ok_and(|m| m.is_dir());
    files::left(parent, kind).into_iter().filter(|(path, _)| is_folder(path)).collect()
}

fn host() -> String {
    let name = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    name.trim().to_owned()
}
