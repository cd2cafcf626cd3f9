//! What the rest of a scenario needs of the tables of one kind of access. Checks, memory, ways and
//! changes of a scenario go through these traits and name no radio technology.

use std::path::Path;

use lasthop_units::{Bitrate, Metres};

use super::buffers::Buffers;
use super::group::{Group, Population};
use super::{Scalar, Spec};
use crate::config::{Diagnostics, Document};
use crate::extensions::Extensions;
use crate::track::Tracks;

/// What the table `events` says of a change: source and kind.
pub type ChangeEvent = (String, &'static str);

/// Where something stands for which the scenario has one table and no place of its own.
#[derive(Clone, Debug, PartialEq)]
pub struct Placed {
    /// What it is, as keys of the scenario call it.
    pub kind: &'static str,
    /// Its name, or that of its node.
    pub name: String,
    /// From the origin of the scenario \[m\].
    pub position: [Metres; 3],
    /// Where its antenna looks \[degree, counter-clockwise from the x axis\]; `None`: everywhere.
    pub azimuth: Option<f64>,
}

/// Keys that may change during a run, `*` standing for a name; what they do then.
pub type RuntimeKeys = &'static [(&'static str, &'static str)];

/// What works out the changes, each a `C`, of one kind of access while they follow each other. It
/// is given the scenario in force and the entries of tables that are next, takes these over from
/// there, and returns what the adapter has to do. It takes them over one by one: `BTreeMap::append`
/// would build the whole map anew for each of many changes.
pub(super) type InForce<C> = Box<dyn FnMut(&mut Spec, &mut Spec) -> Vec<C> + Send>;

/// The tables of one kind of access. What it does not override is of no concern to it.
pub(super) trait AccessSpec: Sync {
    /// Puts values in where the document has none of its own and another default than the key's
    /// holds.
    fn fill(&self, document: &mut Document) {
        let _nothing = document;
    }
    /// Reads the recorded ways that groups of nodes follow; relative paths start at `base`.
    fn load_tracks(
        &self,
        spec: &Spec,
        doc: &Document,
        base: &Path,
        tracks: &mut Tracks,
        found: &mut Diagnostics,
    ) {
        let _none = (spec, doc, base, tracks, found);
    }

    /// The files of these ways, as the scenario writes them.
    fn track_files<'a>(&self, spec: &'a Spec) -> Vec<&'a str> {
        let _none = spec;
        Vec::new()
    }

    /// What a layout or a random draw has placed.
    fn placed(&self, spec: &Spec) -> Vec<Placed> {
        let _none = spec;
        Vec::new()
    }

    /// What its tables make nodes of, as messages call it.
    fn kinds_of_nodes(&self) -> &'static [&'static str];
    /// The nodes at which packets to its groups enter, and what they are, with the article.
    fn bases<'a>(&self, spec: &'a Spec) -> Vec<(&'a str, &'static str)> {
        let _none = spec;
        Vec::new()
    }
    /// The names of its tables that stand for groups of nodes behind it.
    fn groups<'a>(&self, spec: &'a Spec) -> Vec<&'a str> {
        let _none = spec;
        Vec::new()
    }
    /// One of these groups.
    fn group<'a>(&self, spec: &'a Spec, name: &str) -> Option<Group<'a>> {
        let _none = (spec, name);
        None
    }
    /// All nodes of these groups together.
    fn population(&self, spec: &Spec) -> Option<Population> {
        let _none = spec;
        None
    }
    /// The nodes to which a flow to `name` is sent at once: a multicast group.
    fn receivers(&self, spec: &Spec, name: &str) -> Option<Vec<String>> {
        let _none = (spec, name);
        None
    }

    /// What is wrong with its tables, and what is right and probably not meant.
    fn check(&self, spec: &Spec, doc: &Document, extensions: &Extensions, found: &mut Diagnostics);
    /// The same of the entries that change during a run: `part` has nothing else. `whole` is the
    /// scenario around them, of which only keys that stay the same are looked at.
    fn check_entries(&self, part: &Spec, whole: &Spec, doc: &Document, found: &mut Diagnostics) {
        let _nothing_changes = (part, whole, doc, found);
    }
    /// What is there and does nothing throughout: warnings.
    fn check_idle(&self, spec: &Spec, doc: &Document, found: &mut Diagnostics) {
        let _never = (spec, doc, found);
    }
    /// The names of its points of observation, in the order of its interfaces in a capture.
    fn interfaces(&self, spec: &Spec) -> Vec<String> {
        let _none = spec;
        Vec::new()
    }
    /// Counts the buffers that flows can fill.
    fn count_buffers<'a>(&self, spec: &'a Spec, buffers: &mut Buffers<'a>) {
        let _of_links_alone = (spec, buffers);
    }

    /// Whether capacity hints can describe the link to `end`, a node or a group.
    fn gives_hints(&self, spec: &Spec, end: &str) -> bool {
        let _never = (spec, end);
        false
    }
    /// The largest rate that a capacity hint can state.
    fn best_hint(&self, spec: &Spec) -> Option<Bitrate> {
        let _none = spec;
        None
    }
    /// Whether a scheduler of the caller's own is in use.
    fn uses_scheduler(&self, spec: &Spec, name: &str) -> bool {
        let _never = (spec, name);
        false
    }

    /// Its keys that may change during a run.
    fn runtime_keys(&self) -> RuntimeKeys {
        &[]
    }
    /// Why a key may not change although keys of its pattern may: message and remedy.
    fn ruled_out(&self, spec: &Spec, key: &str) -> Option<(String, String)> {
        let _none = (spec, key);
        None
    }
}

/// What the tables of one kind of access make of changes during a run.
pub(super) trait AccessChanges {
    /// A change, as the adapter takes it.
    type Change;

    /// The changes for which a key stands that has no entry in the document, because one table is
    /// written for several things. `None`: it has one. An error: what is wrong with the value.
    fn spread(&self, spec: &Spec, key: &str, value: &Scalar) -> Option<Result<Vec<Self::Change>, String>> {
        let _none = (spec, key, value);
        None
    }
    /// What works out its changes from the begin of a run on.
    fn in_force(&self, spec: &Spec) -> InForce<Self::Change>;
}
