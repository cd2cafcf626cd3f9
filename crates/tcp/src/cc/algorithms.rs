//! The table of all built-in algorithms.

use super::*;
use crate::config::Config;
use crate::name::{BUILT_IN, DOCUMENTED};

/// One row of the registry.
#[derive(Clone, Copy, Debug)]
pub struct Algorithm {
    /// The name in scenarios.
    pub name: &'static str,
    /// The enum value.
    pub id: CcName,
    row: Row,
}

impl std::ops::Deref for Algorithm {
    type Target = Row;
    fn deref(&self) -> &Row {
        &self.row
    }
}

macro_rules! rows {
    (
        () $(
            $(#[$_doc:meta])* $Name:ident $_word:literal $row:path
            $(=> $($_variant:ident($_ty:ty)),+)? = $_make:expr;
        )*
    ) => {
        /// In the order of the list.
        const ROWS: [Row; BUILT_IN.len()] = [$($row),*];

        impl CcName {
            fn row(self) -> Option<&'static Row> {
                match self {
                    $(CcName::$Name => Some(const { &$row }),)*
                    CcName::Custom(_) => None,
                }
            }
        }
    };
}
built_in_controls!(rows);

/// Every algorithm, in the order of the documentation.
pub const ALGORITHMS: &[Algorithm] = &{
    let mut all = [Algorithm { name: "", id: CcName::Reno, row: ROWS[0] }; ROWS.len()];
    let mut i = 0;
    while i < all.len() {
        let (id, name) = BUILT_IN[DOCUMENTED[i]];
        all[i] = Algorithm { name, id, row: ROWS[DOCUMENTED[i]] };
        i += 1;
    }
    all
};

impl CcName {
    /// The row of the registry; `None` for a caller's own control.
    pub fn algorithm(self) -> Option<&'static Algorithm> {
        ALGORITHMS.iter().find(|a| a.id == self)
    }
    /// The requirements on the stack around it.
    #[inline]
    pub fn needs(self) -> &'static Needs {
        self.row().map_or(&Needs::CUSTOM, |row| &row.needs)
    }
}

impl Config {
    /// The algorithm in use, or its base algorithm if it uses hints.
    pub fn control_at_work(&self) -> CcName {
        if self.cc.needs().hints { self.hint.base } else { self.cc }
    }
}
