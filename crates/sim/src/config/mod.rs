//! Configuration files: TOML with the line of every mistake.
//!
//! A scenario is read once, here, into the types of its owner (`T: Deserialize + JsonSchema`):
//!
//! ```text
//! file, --set ─▶ Document ─▶ read::<T>() ─▶ T          or Diagnostics with file, line, column, caret and help
//!                                           │
//!               to_toml_string(&T) ◀────────┘           the effective configuration, read back as an equal value
//!               schema::<T>(), reference::<T>()         JSON Schema 2020-12 and the reference pages
//! ```
//!
//! ```
//! use lasthop_sim::config::{Document, to_toml_string};
//!
//! #[derive(Debug, PartialEq, serde::Serialize, serde::Deserialize)]
//! #[serde(deny_unknown_fields, rename_all = "lowercase")]
//! enum App { Bulk, Cbr { rate: lasthop_units::Bitrate } }
//! type Apps = std::collections::BTreeMap<String, App>;
//!
//! let text = "a = 'bulk'\nb = { kind = 'cbr', rate = '64 kbit/s' }";
//! let apps = Document::parse(text, "apps.toml").unwrap().read::<Apps>().unwrap();
//! let again = Document::parse(&to_toml_string(&apps).unwrap(), "again").unwrap();
//! assert_eq!(again.read::<Apps>().unwrap(), apps);
//!
//! let wrong = Document::parse("b = { kind = 'cbr', rat = '64 kbit/s' }", "apps.toml").unwrap();
//! let error = &wrong.read::<Apps>().unwrap_err().0[0];
//! assert_eq!((error.line, error.column, error.help.as_deref()), (Some(1), Some(21), Some("did you mean `rate`?")));
//! ```
//!
//! An enum is written `"name"` or `{ kind = "name", ... }`; in Rust it keeps serde's default
//! representation. A variant that holds something other than a table takes it from the key `value`.
//! Unknown keys are errors where the type says `deny_unknown_fields`. `#[serde(flatten)]`,
//! `untagged` and `tag` work but lose the place of a mistake inside them: avoid them.

mod convert;
mod de;
mod diagnostic;
mod document;
mod layer;
mod load;
mod mistake;
mod path;
mod reference;
mod schema;
mod ser;
mod set;
mod suggest;
mod tree;
mod write;

pub use diagnostic::{Diagnostic, Diagnostics, Severity};
pub use document::Document;
pub use layer::Difference;
pub use load::load_file;
pub use path::dotted;
pub use reference::{KeyDoc, reference};
pub use schema::schema;
pub use ser::to_toml_string;
pub(crate) use set::first_of;
pub(crate) use suggest::near_or_all;
pub use suggest::suggest;
pub use tree::{Entry, Node, Origin, Table, Value};

#[cfg(test)]
mod tests;
