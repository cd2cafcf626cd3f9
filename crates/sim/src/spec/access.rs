//! The interface of the tables of one kind of access to the rest of a scenario. Checks, memory,
//! tracks and changes of a scenario use these traits and name no radio technology.

use std::path::Path;

use lasthop_units::{Bitrate, Metres};

use super::buffers::Buffers;
use super::group::{Group, Population};
use super::{Scalar, Spec};
use crate::config::{Diagnostics, Document};
use crate::extensions::Extensions;
use crate::track::Tracks;

/// Source and kind of a change in the table `events`.
pub type ChangeEvent = (String, &'static str);

/// The position of an object that a layout or a random draw has placed.
#[derive(Clone, Debug, PartialEq)]
pub struct Placed {
    /// Its kind, as in the keys of the scenario.
    pub kind: &'static str,
    /// Its name, or that of its node.
    pub name: String,
    /// Its position from the origin of the scenario \[m\].
    pub position: [Metres; 3],
    /// Direction of its antenna's main lobe \[degree, counter-clockwise from the x axis\]; `None`:
    /// omnidirectional.
    pub azimuth: Option<f64>,
}

/// Keys that may change during a run, with `*` for a name, and the effect of a change.
pub type RuntimeKeys = &'static [(&'static str, &'static str)];

/// A function that computes successive changes, each a `C`, of one kind of access. Its arguments
/// are the scenario in force and the new entries of tables; it moves these into the former and
/// returns the changes for the adapter. It moves them one by one: `BTreeMap::append` would rebuild
/// the whole map for each of many changes.
pub(super) type InForce<C> = Box<dyn FnMut(&mut Spec, &mut Spec) -> Vec<C> + Send>;

/// The tables of one kind of access. Defaults of methods are for kinds that they do not concern.
pub(super) trait AccessSpec: Sync {
    /// Inserts values into the document where a key is missing and another default than that of the
    /// key applies.
    fn fill(&self, document: &mut Document) {
        let _nothing = document;
    }
    /// Reads the recorded tracks that groups of nodes follow; relative paths start at `base`.
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

    /// The files of these tracks, as in the scenario.
    fn track_files<'a>(&self, spec: &'a Spec) -> Vec<&'a str> {
        let _none = spec;
        Vec::new()
    }

    /// The positions set by a layout or a random draw.
    fn placed(&self, spec: &Spec) -> Vec<Placed> {
        let _none = spec;
        Vec::new()
    }

    /// Its kinds of nodes, as in messages.
    fn kinds_of_nodes(&self) -> &'static [&'static str];
    /// The nodes at which packets to its groups enter, and their kinds, with the article.
    fn bases<'a>(&self, spec: &'a Spec) -> Vec<(&'a str, &'static str)> {
        let _none = spec;
        Vec::new()
    }
    /// The names of its tables that describe groups of nodes behind it.
    fn groups<'a>(&self, spec: &'a Spec) -> Vec<&'a str> {
        let _none = spec;
        Vec::new()
    }
    /// The group `name`.
    fn group<'a>(&self, spec: &'a Spec, name: &str) -> Option<Group<'a>> {
        let _none = (spec, name);
        None
    }
    /// The total of all nodes of these groups.
    fn population(&self, spec: &Spec) -> Option<Population> {
        let _none = spec;
        None
    }
    /// The nodes that receive a flow to `name` together, if it is a multicast group.
    fn receivers(&self, spec: &Spec, name: &str) -> Option<Vec<String>> {
        let _none = (spec, name);
        None
    }

    /// Checks its tables: mistakes, and pitfalls.
    fn check(&self, spec: &Spec, doc: &Document, extensions: &Extensions, found: &mut Diagnostics);
    /// Checks the entries that change during a run, which are all that `part` has. `whole` is the
    /// scenario around them, of which only keys that do not change are read.
    fn check_entries(&self, part: &Spec, whole: &Spec, doc: &Document, found: &mut Diagnostics) {
        let _nothing_changes = (part, whole, doc, found);
    }
    /// Warns of entries that have no effect during the whole run.
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

    /// True if capacity hints can describe the link to `end`, a node or a group.
    fn gives_hints(&self, spec: &Spec, end: &str) -> bool {
        let _never = (spec, end);
        false
    }
    /// The largest rate that a capacity hint can state.
    fn best_hint(&self, spec: &Spec) -> Option<Bitrate> {
        let _none = spec;
        None
    }
    /// True if a scheduler of the caller's own is in use.
    fn uses_scheduler(&self, spec: &Spec, name: &str) -> bool {
        let _never = (spec, name);
        false
    }

    /// Its keys that may change during a run.
    fn runtime_keys(&self) -> RuntimeKeys {
        &[]
    }
    /// The reason for which a key must not change although others of its pattern may: message and
    /// remedy.
    fn ruled_out(&self, spec: &Spec, key: &str) -> Option<(String, String)> {
        let _none = (spec, key);
        None
    }
}

/// The conversion of changes during a run by the tables of one kind of access.
pub(super) trait AccessChanges {
    /// A change for the adapter.
    type Change;

    /// The changes of a key without an entry in the document, because one table describes several
    /// things. `None` if it has an entry; an error if the value is invalid.
    fn spread(&self, spec: &Spec, key: &str, value: &Scalar) -> Option<Result<Vec<Self::Change>, String>> {
        let _none = (spec, key, value);
        None
    }
    /// Returns the function that computes its changes from the start of a run on.
    fn in_force(&self, spec: &Spec) -> InForce<Self::Change>;
}
