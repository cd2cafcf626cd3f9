//! Files and folders that are written completely or not at all: first as `NAME.PROCESS.partial` in
//! the same folder, and renamed when they are complete.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{ErrorKind, Write as _};
use std::path::{Component, Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::error::Error;

/// Writes each content to its path. Either every file is written or none is changed; only a rename
/// that fails after others (the folder was changed meanwhile) leaves some changed, and the message
/// names them. Symbolic links are followed. Missing folders are created. Unfinished files of these
/// names whose process has ended are removed; returns messages on them.
///
/// # Errors
/// A path is a folder or no regular file (a device, a named pipe); a file cannot be written.
pub fn write_files<C: AsRef<[u8]>>(files: &[(PathBuf, C)]) -> Result<Vec<String>, Error> {
    let mut made = Made::default();
    let mut notes = Vec::new();
    for (path, content) in files {
        refuse_special(path)?;
        let path = resolve(path)?;
        made.folders(parent(&path))?;
        notes.extend(clear_stale(&path));
        made.file(path, content.as_ref())?;
    }
    made.rename().map(|()| notes)
}

/// Removes the files `NAME.PROCESS.partial` that killed processes left when they wrote `path`. The
/// writer keeps its file locked, and a process that has created a file and not yet locked it still
/// runs.
fn clear_stale(path: &Path) -> Vec<String> {
    let mut notes = Vec::new();
    for (partial, (name, process)) in left(parent(path), "partial") {
        let ours = path.file_name().is_some_and(|n| n.to_string_lossy() == *name);
        if !ours || !fs::symlink_metadata(&partial).is_ok_and(|m| m.is_file()) {
            continue;
        }
        // In a container each command may have the same process id.
        let own = process == std::process::id();
        if if own { live().iter().any(|(p, _)| *p == partial) } else { is_process(process) } {
            continue;
        }
        let Ok(file) = File::open(&partial) else { continue };
        let shown = partial.display();
        notes.push(match file.try_lock() {
            Err(TryLockError::WouldBlock) => continue,
            Ok(()) => match fs::remove_file(&partial) {
                Ok(()) => format!("removed {shown}, which process {process} left when it was killed"),
                Err(e) => {
                    format!("cannot remove {shown}, which process {process} left when it was killed: {e}")
                }
            },
            // A file system without locks: the process may run on another host.
            Err(TryLockError::Error(_)) => {
                format!("{shown} was left by process {process}: remove it if that process has ended")
            }
        });
    }
    notes
}

/// The entries named `NAME.PROCESS.KIND` or `NAME.PROCESS-NUMBER.KIND` in `parent`, by name.
pub fn left(parent: &Path, kind: &str) -> Vec<(PathBuf, (String, u32))> {
    let entries = fs::read_dir(parent).into_iter().flatten().flatten();
    let mut found: Vec<_> = entries
        .filter_map(|e| Some((e.path(), name_and_process(&e.file_name().to_string_lossy(), kind)?)))
        .collect();
    found.sort();
    found
}

fn name_and_process(name: &str, kind: &str) -> Option<(String, u32)> {
    let (name, process) = name.strip_suffix(kind)?.strip_suffix('.')?.rsplit_once('.')?;
    let (process, number) = process.split_once('-').unwrap_or((process, "1"));
    number.parse::<u32>().ok()?;
    Some((name.to_owned(), process.parse().ok()?))
}

/// True if a process of this number runs on this host.
pub fn is_process(id: u32) -> bool {
    Path::new("/proc").join(id.to_string()).exists()
}

/// The files and folders made so far. Dropped without [`Made::rename`], they are removed.
#[derive(Default)]
struct Made {
    /// Folders, the outermost first.
    folders: Vec<PathBuf>,
    /// Files beside their final names, locked, with those names.
    files: Vec<(Partial, File, PathBuf)>,
    whole: bool,
}

impl Made {
    fn folders(&mut self, folder: &Path) -> Result<(), Error> {
        let missing: Vec<_> =
            folder.ancestors().take_while(|f| !f.as_os_str().is_empty() && !f.exists()).collect();
        for folder in missing.into_iter().rev() {
            match fs::create_dir(folder) {
                Ok(()) => self.folders.push(folder.to_owned()),
                Err(e) if e.kind() == ErrorKind::AlreadyExists => {}
                Err(e) => return Err(Error::file("create", folder, e)),
            }
        }
        Ok(())
    }

    fn file(&mut self, path: PathBuf, content: &[u8]) -> Result<(), Error> {
        let failed = |e| Error::file("write", &path, e);
        let (mut file, partial) = Partial::file(&path).map_err(failed)?;
        let _best_effort = file.try_lock();
        file.write_all(content).and_then(|()| file.flush()).map_err(failed)?;
        self.files.push((partial, file, path));
        Ok(())
    }

    fn rename(mut self) -> Result<(), Error> {
        for (i, (partial, _, path)) in self.files.iter().enumerate() {
            if let Err(e) = fs::rename(partial.path(), path) {
                if i == 0 {
                    return Err(Error::file("write", path, e));
                }
                self.whole = true; // its folders contain the renamed files
                let written: Vec<_> =
                    self.files[..i].iter().map(|(_, _, p)| p.display().to_string()).collect();
                let (path, written) = (path.display(), written.join(", "));
                return Err(Error::input(format!("cannot write {path}: {e}. Written already: {written}")));
            }
        }
        self.whole = true;
        Ok(())
    }
}

impl Drop for Made {
    fn drop(&mut self) {
        self.files.clear();
        if !self.whole {
            for folder in self.folders.iter().rev() {
                // Fails if the folder is not empty.
                let _best_effort = fs::remove_dir(folder);
            }
        }
    }
}

/// A file or folder that this process has begun and not finished; removed when dropped, unless it
/// has been renamed or [kept](Partial::keep).
pub struct Partial {
    path: PathBuf,
    process: u32,
    kept: bool,
}

impl Partial {
    /// Creates a new file whose final name is `path`. An existing file of the same name is not
    /// changed.
    fn file(path: &Path) -> std::io::Result<(File, Partial)> {
        for number in 1.. {
            let name = name_beside(path, "partial", number);
            match OpenOptions::new().write(true).create_new(true).open(&name) {
                Err(e) if e.kind() == ErrorKind::AlreadyExists => {}
                other => return other.map(|file| (file, Partial::of(name))),
            }
        }
        unreachable!("a number is free")
    }

    /// The file or folder that this process made at `path`.
    pub fn of(path: PathBuf) -> Partial {
        let process = std::process::id();
        live().push((path.clone(), process));
        Partial { path, process, kept: false }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Keeps the file or folder, because it is complete.
    pub fn keep(&mut self) {
        self.kept = true;
    }

    /// True if this process made it, and not a parent process before a fork.
    pub fn is_mine(&self) -> bool {
        self.process == std::process::id()
    }
}

impl Drop for Partial {
    fn drop(&mut self) {
        // A forked child has a copy of this value, but the file belongs to its parent.
        if self.is_mine() {
            if !self.kept {
                let _best_effort = remove(&self.path);
            }
            live().retain(|(p, _)| *p != self.path);
        }
    }
}

fn remove(path: &Path) -> std::io::Result<()> {
    if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) }
}

/// `NAME.PROCESS.KIND` beside `path`; numbers from 2 on are for names that are taken.
pub fn name_beside(path: &Path, kind: &str, number: u32) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    let again = if number > 1 { format!("-{number}") } else { String::new() };
    name.push(format!(".{}{again}.{kind}", std::process::id()));
    path.with_file_name(name)
}

/// Unfinished files and folders with their process, because a forked child inherits the list.
static LIVE: Mutex<Vec<(PathBuf, u32)>> = Mutex::new(Vec::new());

fn live() -> MutexGuard<'static, Vec<(PathBuf, u32)>> {
    LIVE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Removes every file and folder that this process has begun and not finished: for a process that
/// ends without unwinding its runs.
pub fn discard_partials() {
    let me = std::process::id();
    for (partial, _) in live().drain(..).filter(|(_, process)| *process == me) {
        // A run that still writes may add a file between the list and the removal.
        for _ in 0..3 {
            if remove(&partial).is_ok() {
                break;
            }
        }
    }
}

/// Refuses special files, which a rename would replace by a regular file.
fn refuse_special(path: &Path) -> Result<(), Error> {
    let message = match fs::metadata(path) {
        Ok(m) if m.is_dir() => "is a folder: name a file in it",
        Ok(m) if !m.is_file() => "is not a regular file: write to a file and copy that",
        _ => return Ok(()),
    };
    Err(Error::input(format!("{} {message}", path.display())))
}

/// `path` without symbolic links and without `..`, relative if it was. Neither the path nor its
/// parents need exist: a `..` after a missing name cancels that name.
///
/// # Errors
/// Symbolic links form a loop.
pub fn resolve(path: &Path) -> Result<PathBuf, Error> {
    const MOST_LINKS: usize = 40;
    let parts = |p: &Path| p.components().rev().map(|c| c.as_os_str().to_owned()).collect::<Vec<OsString>>();
    let mut rest = parts(path);
    let mut found = PathBuf::new();
    let mut links = 0;
    while let Some(part) = rest.pop() {
        match Path::new(&part).components().next() {
            None | Some(Component::CurDir) => {}
            Some(Component::ParentDir) if found.file_name().is_some() => {
                found.pop();
            }
            Some(Component::ParentDir) if found.has_root() => {}
            Some(Component::ParentDir | Component::RootDir | Component::Prefix(_)) => found.push(part),
            Some(Component::Normal(_)) => {
                found.push(part);
                let Ok(next) = fs::read_link(&found) else { continue };
                links += 1;
                if links > MOST_LINKS {
                    let message = format!("{}: too many symbolic links follow each other", path.display());
                    return Err(Error::input(message));
                }
                found.pop();
                rest.extend(parts(&next));
            }
        }
    }
    Ok(found)
}

/// The folder of `path`.
pub fn parent(path: &Path) -> &Path {
    path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."))
}
