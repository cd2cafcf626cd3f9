//! A result folder: made beside its name as `<name>.<process>.partial`, renamed when it is whole.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use serde_json::Value;

use super::RunOutput;
use super::owner::{self, Owner};
use crate::error::Error;

/// A result folder in the making. Dropped without [`Folder::publish`], it removes what it made: a
/// run that failed or was stopped leaves nothing that looks like a result.
pub struct Folder {
    partial: PathBuf,
    path: PathBuf,
    /// Locked while the run lives: other runs see by it that this one does.
    owner: Option<File>,
    /// Whether the folder around it was made for it.
    made_parent: bool,
    published: bool,
}

impl Folder {
    /// Begins a folder that will be called `path`; a symbolic link stands for what it points to.
    ///
    /// # Errors
    /// [`Error::InUse`] when `path` holds something (remove it, or choose another name) or another
    /// run is writing it; the folder cannot be made.
    pub fn create(path: &Path) -> Result<Folder, Error> {
        let path = &target(path)?;
        let Some(name) = path.file_name() else {
            let told = format!("{} cannot be a result folder: it has no name", path.display());
            return Err(Error::input(told));
        };
        let parent = parent(path);
        let made_parent = !parent.exists();
        fs::create_dir_all(parent).map_err(|e| Error::file("create", parent, e))?;
        // Of two runs that begin at the same time one gets the lock and the other then sees its
        // folder.
        let _one_at_a_time = owner::lock_directory(parent);
        refuse_content(path)?;
        if let Some(other) = owner::writer_of(path) {
            let told = format!("{} is being written by another run ({other})", path.display());
            return Err(Error::InUse(told));
        }
        // Two runs of one process cannot meet here: the second has just been refused.
        let process = std::process::id();
        let partial = path.with_file_name(format!("{}.{process}.partial", name.to_string_lossy()));
        if partial.exists() {
            fs::remove_dir_all(&partial).map_err(|e| Error::file("clear", &partial, e))?;
        }
        fs::create_dir(&partial).map_err(|e| Error::file("create", &partial, e))?;
        live().push(partial.clone());
        let mut folder = Folder { partial, path: path.clone(), made_parent, owner: None, published: false };
        folder.owner = Some(Owner::claim(&folder.partial)?);
        Ok(folder)
    }

    /// Where its files are written.
    pub fn partial(&self) -> &Path {
        &self.partial
    }

    /// Writes summary and manifest (the manifest last: a folder without one is not whole) and gives
    /// the folder its name.
    pub(super) fn publish(mut self, output: &RunOutput) -> Result<PathBuf, Error> {
        self.write("scenario.toml", output.manifest["scenario"].as_str().unwrap_or_default())?;
        self.write("summary.json", &pretty(&output.summary))?;
        self.write("manifest.json", &pretty(&output.manifest))?;
        Owner::release(&self.partial);
        // From here on nothing is removed: if the name is taken meanwhile, the results stay under
        // the other one.
        self.published = true;
        let renamed = match fs::remove_dir(&self.path) {
            Err(e) if e.kind() != std::io::ErrorKind::NotFound => Err(e),
            _ => fs::rename(&self.partial, &self.path),
        };
        renamed.map_err(|e| {
            let (path, partial) = (self.path.display(), self.partial.display());
            Error::input(format!(
                "cannot create {path}: {e}. The results are complete in {partial}: rename it"
            ))
        })?;
        Ok(self.path.clone())
    }

    fn write(&self, name: &str, text: &str) -> Result<(), Error> {
        let path = self.partial.join(name);
        fs::write(&path, text).map_err(|e| Error::file("write", &path, e))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if !self.published {
            let _best_effort = fs::remove_dir_all(&self.partial);
            if self.made_parent {
                // Fails where another run has come in.
                let _best_effort = fs::remove_dir(parent(&self.path));
            }
        }
        live().retain(|p| *p != self.partial);
    }
}

/// The folders in the making of this process.
static LIVE: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

fn live() -> std::sync::MutexGuard<'static, Vec<PathBuf>> {
    LIVE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Removes every folder in the making of this process: for a process that ends without unwinding
/// its runs.
pub fn discard_partials() {
    for partial in live().drain(..) {
        // A run that still writes may add a file between the list and the removal.
        for _ in 0..3 {
            if fs::remove_dir_all(&partial).is_ok() {
                break;
            }
        }
    }
}

/// What `path` stands for when it is a symbolic link, of which the end need not exist.
fn target(path: &Path) -> Result<PathBuf, Error> {
    const MOST_LINKS: usize = 40;
    let mut path = path.to_owned();
    for _ in 0..MOST_LINKS {
        match fs::read_link(&path) {
            Ok(next) => path = path.parent().unwrap_or(Path::new("")).join(next),
            Err(_) => return Ok(path),
        }
    }
    Err(Error::input(format!("{}: too many symbolic links follow each other", path.display())))
}

pub(super) fn parent(path: &Path) -> &Path {
    path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn refuse_content(path: &Path) -> Result<(), Error> {
    let in_use = match fs::read_dir(path) {
        Ok(mut entries) => entries.next().is_some(),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => false,
        Err(e) => return Err(Error::file("use as result folder", path, e)),
    };
    if in_use {
        let told = format!("{} exists and is not empty: remove it or choose another folder", path.display());
        return Err(Error::InUse(told));
    }
    Ok(())
}

/// Removes folders that runs which were killed left beside `path`, and says what was removed and
/// what was not.
pub fn clear_stale(path: &Path) -> Vec<String> {
    target(path).map_or_else(|_| Vec::new(), |path| owner::clear_stale(parent(&path), &path))
}

fn pretty(value: &Value) -> String {
    let mut text = serde_json::to_string_pretty(value).unwrap_or_default();
    text.push('\n');
    text
}
