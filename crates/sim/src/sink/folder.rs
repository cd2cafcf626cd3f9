//! A result folder: made beside its name as `<name>.<process>.partial`, renamed when it is
//! complete.

use std::fs::{self, File};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::earlier::Earlier;
use super::owner::{self, Owner};
use crate::error::Error;
use crate::files::{self, Partial, parent, resolve};

/// A result folder that is not complete. Dropped without [`Folder::publish`], it removes what it
/// made: a run that failed or was stopped leaves nothing that could be taken for a result. A forked
/// child removes nothing: its copy is not the folder's owner.
pub struct Folder {
    partial: Partial,
    path: PathBuf,
    /// The earlier content that may be replaced.
    replaces: Option<Earlier>,
    /// A file that is locked while the run lives; other runs detect this one by it.
    owner: Option<File>,
    /// The folders above it that were made for it, the outermost first.
    made: Vec<PathBuf>,
    published: bool,
}

impl Folder {
    /// Creates a folder whose final name is `path`; symbolic links are followed. With `replaces` an
    /// earlier folder of that name is replaced at the end if all of its content is of that kind.
    ///
    /// # Errors
    /// [`Error::InUse`] when `path` contains something else (remove it, or choose another name) or
    /// another run is writing it; the folder cannot be made.
    pub fn create(path: &Path, replaces: Option<Earlier>) -> Result<Folder, Error> {
        Folder::begin(path, replaces, |path, other| {
            format!("{} is being written by another run ({other})", path.display())
        })
    }

    /// Prevents other processes from making `what`, some files in `folder`, until the returned
    /// value is dropped. Creates `folder` if it is missing, and removes it again if it is empty at
    /// the end.
    ///
    /// # Errors
    /// [`Error::InUse`] when another process is making them; nothing can be written in `folder`.
    pub fn claim(folder: &Path, what: &str) -> Result<Folder, Error> {
        Folder::begin(&claimed(folder, what), None, |_, other| {
            format!("another {what} is being written to {} ({other})", folder.display())
        })
    }

    fn begin(
        path: &Path,
        replaces: Option<Earlier>,
        in_use: impl Fn(&Path, &Owner) -> String,
    ) -> Result<Folder, Error> {
        let given = path;
        let path = &resolve(path)?;
        if path.file_name().is_none() {
            let message = format!("{} cannot be a result folder: it has no name", given.display());
            return Err(Error::input(message));
        }
        let parent = parent(path);
        let made: Vec<PathBuf> = parent.ancestors().take_while(|f| is_missing(f)).map(Into::into).collect();
        fs::create_dir_all(parent).map_err(|e| Error::file("create", parent, e))?;
        // Of two runs that begin at the same time one gets the lock and the other then finds its
        // folder.
        let _one_at_a_time = owner::lock_directory(parent);
        refuse_content(path, replaces.as_ref())?;
        if let Some(other) = owner::writer_of(path) {
            return Err(Error::InUse(in_use(path, &other)));
        }
        // Two runs of one process cannot conflict here: the second has just been refused.
        let partial = files::name_beside(path, "partial", 1);
        if partial.exists() {
            fs::remove_dir_all(&partial).map_err(|e| Error::file("clear", &partial, e))?;
        }
        fs::create_dir(&partial).map_err(|e| Error::file("create", &partial, e))?;
        let mut folder = Folder {
            partial: Partial::of(partial),
            path: path.clone(),
            replaces,
            made: made.into_iter().rev().collect(),
            owner: None,
            published: false,
        };
        folder.owner = Some(Owner::claim(folder.partial())?);
        Ok(folder)
    }

    /// The folder in which its files are written.
    pub fn partial(&self) -> &Path {
        self.partial.path()
    }

    /// True if this process began it, and not a parent process before a fork.
    pub fn is_mine(&self) -> bool {
        self.partial.is_mine()
    }

    /// Renames the folder to its final name; returns its path.
    ///
    /// # Errors
    /// The name was taken meanwhile: the written files stay, and the message names their folder.
    pub fn publish(mut self) -> Result<PathBuf, Error> {
        Owner::release(self.partial());
        // From here on nothing is removed: if the name is taken meanwhile, the results keep the
        // partial name.
        self.published = true;
        self.partial.keep();
        let old = self.give_name().map_err(|e| {
            let (path, partial) = (self.path.display(), self.partial().display());
            Error::input(format!(
                "cannot create {path}: {e}. The results are complete in {partial}: rename it"
            ))
        })?;
        if let Some(old) = old
            && let Err(e) = fs::remove_dir_all(&old)
        {
            let (path, old) = (self.path.display(), old.display());
            let message = format!("{path} is complete, but the results that it replaces stay in {old}: {e}");
            return Err(Error::input(message));
        }
        Ok(self.path.clone())
    }

    /// Renames; returns the new path of the folder that was replaced.
    fn give_name(&self) -> std::io::Result<Option<PathBuf>> {
        match fs::remove_dir(&self.path) {
            Err(e) if e.kind() == ErrorKind::DirectoryNotEmpty && self.may_replace() => {
                let name = |number| files::name_beside(&self.path, "old", number);
                let old = (1..).map(name).find(|n| fs::symlink_metadata(n).is_err());
                let old = old.ok_or(ErrorKind::AlreadyExists)?;
                fs::rename(&self.path, &old)?;
                if let Err(e) = fs::rename(self.partial(), &self.path) {
                    fs::rename(&old, &self.path)?;
                    return Err(e);
                }
                Ok(Some(old))
            }
            Err(e) if e.kind() != ErrorKind::NotFound => Err(e),
            _ => fs::rename(self.partial(), &self.path).map(|()| None),
        }
    }

    fn may_replace(&self) -> bool {
        self.replaces.as_ref().is_some_and(|earlier| earlier.refusal(&self.path).is_none())
    }

    /// Writes the file `name` in it.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub fn write(&self, name: &str, text: &str) -> Result<(), Error> {
        let path = self.partial().join(name);
        fs::write(&path, text).map_err(|e| Error::file("write", &path, e))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if !self.published && self.is_mine() {
            let _best_effort = fs::remove_dir_all(self.partial());
            for folder in self.made.iter().rev() {
                // Fails if another run has put files there.
                let _best_effort = fs::remove_dir(folder);
            }
        }
    }
}

fn is_missing(folder: &Path) -> bool {
    !folder.as_os_str().is_empty() && !folder.exists()
}

/// The path beside which a process that makes `what` in `folder` puts its claim.
fn claimed(folder: &Path, what: &str) -> PathBuf {
    folder.join(format!(".{what}"))
}

fn refuse_content(path: &Path, replaces: Option<&Earlier>) -> Result<(), Error> {
    let in_use = match fs::read_dir(path) {
        Ok(mut entries) => entries.next().is_some(),
        Err(e) if e.kind() == ErrorKind::NotFound => false,
        Err(e) => return Err(Error::file("use as result folder", path, e)),
    };
    if !in_use {
        return Ok(());
    }
    let shown = path.display();
    let Some(earlier) = replaces else {
        let message = format!("{shown} exists and is not empty: remove it or choose another folder");
        return Err(Error::InUse(message));
    };
    earlier.refusal(path).map_or(Ok(()), |why| {
        Err(Error::InUse(format!("{shown} is not replaced: {why}. Choose another folder")))
    })
}

/// Removes folders that killed runs left beside `path`; returns messages on what was removed and
/// what was not.
pub fn clear_stale(path: &Path) -> Vec<String> {
    resolve(path).map_or_else(|_| Vec::new(), |path| owner::clear_stale(parent(&path), &path))
}

/// As [`clear_stale`], for processes that were killed while they made `what` in `folder`.
pub fn clear_stale_claims(folder: &Path, what: &str) -> Vec<String> {
    clear_stale(&claimed(folder, what))
}
