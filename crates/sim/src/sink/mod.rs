//! The destination of tables: memory, or a folder that is complete or absent.

mod earlier;
mod folder;
mod owner;
mod table;

use std::path::Path;

use lasthop_capture::{Record, TableDef};

use crate::error::Error;
pub use earlier::Earlier;
pub use folder::{Folder, clear_stale, clear_stale_claims};
pub use table::Table;

/// The file by which a folder is recognised as the results of a run.
pub const MANIFEST: &str = "manifest.json";

/// The destination of a run's tables.
pub enum Sink {
    /// Tables stay in memory.
    Memory,
    /// Tables are written to a folder that gets its final name when it is complete.
    Folder(Folder),
}

impl Sink {
    /// Memory, or a new folder at `out`.
    ///
    /// # Errors
    /// `out` is not empty, or cannot be made.
    pub fn open(out: Option<&Path>) -> Result<Sink, Error> {
        out.map_or(Ok(Sink::Memory), |path| Folder::create(path, None).map(Sink::Folder))
    }

    /// A new folder at `out`, which replaces that of an earlier run if there is one.
    ///
    /// # Errors
    /// `out` contains something other than results, or cannot be made.
    pub fn replacing(out: &Path) -> Result<Sink, Error> {
        Folder::create(out, Some(Earlier::run())).map(Sink::Folder)
    }

    /// True if this process may write to it: a forked child must not write to its parent's folder.
    pub fn is_mine(&self) -> bool {
        matches!(self, Sink::Folder(f) if f.is_mine()) || matches!(self, Sink::Memory)
    }

    /// Creates a table of the run.
    ///
    /// # Errors
    /// The file cannot be created.
    pub fn table<R: Record>(&self) -> Result<Table<R>, Error> {
        match self {
            Sink::Memory => Ok(Table::new(lasthop_capture::Sink::Memory)?),
            Sink::Folder(f) => {
                let path = f.partial().join(file_name(R::TABLE));
                Ok(Table::new(lasthop_capture::Sink::Parquet(path))?)
            }
        }
    }
}

/// The name of a table's file in a result folder.
pub fn file_name(def: &TableDef) -> String {
    format!("{}.parquet", def.name)
}
