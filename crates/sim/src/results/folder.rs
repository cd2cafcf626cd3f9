//! A result folder: made beside its name as `<name>.partial`, renamed when it is whole.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::RunOutput;
use crate::error::Error;

/// A result folder in the making. Dropped without [`Folder::publish`], it removes what it made: a run that failed or
/// was stopped leaves nothing that looks like a result.
pub struct Folder {
    partial: PathBuf,
    path: PathBuf,
    published: bool,
}

impl Folder {
    /// Begins a folder that will be called `path`.
    ///
    /// # Errors
    /// `path` exists and holds something (remove it, or choose another name), or the folder cannot be made.
    pub fn create(path: &Path) -> Result<Folder, Error> {
        let in_use = match fs::read_dir(path) {
            Ok(mut entries) => entries.next().is_some(),
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => false,
            Err(e) => return Err(Error::file("use as result folder", path, e)),
        };
        if in_use {
            return Err(Error::input(format!(
                "{} exists and is not empty: remove it or choose another folder",
                path.display()
            )));
        }
        let Some(name) = path.file_name() else {
            return Err(Error::input(format!(
                "{} cannot be a result folder: it has no name",
                path.display()
            )));
        };
        // The process id keeps two runs that were given one name from writing into each other's files.
        let partial =
            path.with_file_name(format!("{}.{}.partial", name.to_string_lossy(), std::process::id()));
        if partial.exists() {
            fs::remove_dir_all(&partial).map_err(|e| Error::file("clear", &partial, e))?;
        }
        fs::create_dir_all(&partial).map_err(|e| Error::file("create", &partial, e))?;
        Ok(Folder { partial, path: path.to_owned(), published: false })
    }

    /// Where its files are written.
    pub fn partial(&self) -> &Path {
        &self.partial
    }

    /// Writes summary and manifest (the manifest last: a folder without one is not whole) and gives the folder its
    /// name.
    pub(super) fn publish(mut self, output: &RunOutput) -> Result<PathBuf, Error> {
        self.write("scenario.toml", output.manifest["scenario"].as_str().unwrap_or_default())?;
        self.write("summary.json", &pretty(&output.summary))?;
        self.write("manifest.json", &pretty(&output.manifest))?;
        if self.path.exists() {
            // Empty, as `create` has seen.
            fs::remove_dir(&self.path).map_err(|e| Error::file("replace", &self.path, e))?;
        }
        fs::rename(&self.partial, &self.path).map_err(|e| Error::file("create", &self.path, e))?;
        self.published = true;
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
        }
    }
}

fn pretty(value: &Value) -> String {
    let mut text = serde_json::to_string_pretty(value).unwrap_or_default();
    text.push('\n');
    text
}
