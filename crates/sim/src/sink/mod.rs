//! Where tables go: memory, or a folder that is whole or not there.

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

/// Where a run's tables go.
pub enum Sink {
    /// They stay in memory.
    Memory,
    /// They stream to a folder that gets its name when it is whole.
    Folder(Folder),
}

impl Sink {
    /// Memory, or a new folder at `out`.
    ///
    /// # Errors
    /// `out` exists already and holds something, or cannot be made.
    pub fn open(out: Option<&Path>) -> Result<Sink, Error> {
        out.map_or(Ok(Sink::Memory), |path| Folder::create(path, None).map(Sink::Folder))
    }

    /// A new folder at `out`, in the place of an earlier run's if there is one.
    ///
    /// # Errors
    /// `out` holds something else than results, or cannot be made.
    pub fn replacing(out: &Path) -> Result<Sink, Error> {
        Folder::create(out, Some(Earlier::run())).map(Sink::Folder)
    }

    /// Whether this process may write to it: a forked child may not write its parent's folder.
    pub fn is_mine(&self) -> bool {
        matches!(self, Sink::Folder(f) if f.is_mine()) || matches!(self, Sink::Memory)
    }

    /// A table of the run.
    ///
    /// # Errors
    /// A file that cannot be made.
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
