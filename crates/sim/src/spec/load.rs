//! Reading of a file as a checked scenario.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use lasthop_net::trace::Trace;
use lasthop_units::Instant;

use super::kinds::ALL;
use super::memory::Memory;
use super::ways::Ways;
use super::{Action, NodeSpec, ProfileSetting, Spec, check, scenario_profile, way_pitfalls};
use crate::config::{self, Diagnostics, Document};
use crate::error::Error;
use crate::extensions::Extensions;
use crate::track::Tracks;

/// A parsed and checked scenario. Cheap to clone in comparison with a run; traces are shared.
#[derive(Clone, Debug)]
pub struct Scenario {
    pub(super) document: Document,
    pub(super) spec: Spec,
    pub(super) base: PathBuf,
    /// Traces by their paths in the scenario.
    pub(super) traces: BTreeMap<String, Arc<Trace>>,
    /// Recorded tracks by group of nodes.
    pub(super) tracks: Tracks,
    /// The actions of the `[[at]]` tables, in order of time.
    pub(super) changes: Vec<(Instant, Vec<Action>)>,
    pub(super) extensions: Extensions,
    warnings: Diagnostics,
}

impl Scenario {
    /// Reads a scenario file; relative paths in it start at its folder. `sets` are `key=value`
    /// overrides.
    ///
    /// # Errors
    /// Every mistake, with file, line, column and remedy.
    pub fn load(path: &Path, sets: &[String]) -> Result<Scenario, Error> {
        Scenario::load_with(path, sets, &Extensions::new())
    }

    /// As [`Scenario::load`], where the file may name the caller's own policies.
    ///
    /// # Errors
    /// As [`Scenario::load`].
    pub fn load_with(path: &Path, sets: &[String], extensions: &Extensions) -> Result<Scenario, Error> {
        let document = config::load_file(path)?;
        let base = path.parent().unwrap_or(Path::new("")).to_owned();
        Scenario::read(document, base, sets, extensions.clone())
    }

    /// Reads a scenario from text. `name` stands for the file in messages, relative paths start at
    /// `base`.
    ///
    /// # Errors
    /// As [`Scenario::load`].
    pub fn parse(text: &str, name: &str, base: &Path, sets: &[String]) -> Result<Scenario, Error> {
        Scenario::parse_with(text, name, base, sets, &Extensions::new())
    }

    /// As [`Scenario::parse`], where the text may name the caller's own policies.
    ///
    /// # Errors
    /// As [`Scenario::load`].
    pub fn parse_with(
        text: &str,
        name: &str,
        base: &Path,
        sets: &[String],
        extensions: &Extensions,
    ) -> Result<Scenario, Error> {
        Scenario::read(Document::parse(text, name)?, base.to_owned(), sets, extensions.clone())
    }

    /// This scenario with further overrides.
    ///
    /// # Errors
    /// As [`Scenario::load`].
    pub fn with_set(&self, sets: &[String]) -> Result<Scenario, Error> {
        Scenario::read(self.document.clone(), self.base.clone(), sets, self.extensions.clone())
    }

    /// This scenario with the caller's policies instead of its present ones, and further overrides.
    ///
    /// # Errors
    /// As [`Scenario::load`].
    pub fn with_extensions(&self, extensions: &Extensions, sets: &[String]) -> Result<Scenario, Error> {
        Scenario::read(self.document.clone(), self.base.clone(), sets, extensions.clone())
    }

    fn read(
        mut document: Document,
        base: PathBuf,
        sets: &[String],
        extensions: Extensions,
    ) -> Result<Scenario, Error> {
        for set in sets {
            document.spell_out_kinds(set, kind_of_default);
            document.apply_set(set)?;
        }
        let mut found = Diagnostics::new();
        if let Some(refused) = scenario_profile::refusal(&document) {
            found.push(refused);
            return Err(Error::Input(found));
        }
        let filled = filled(&document);
        let spec: Spec = filled.read()?;
        check::check(&spec, &filled, &extensions, &mut found);
        let traces = check::load_traces(&spec, &filled, &base, &mut found);
        let mut tracks = Tracks::new();
        ALL.iter().for_each(|access| access.load_tracks(&spec, &document, &base, &mut tracks, &mut found));
        if found.has_errors() {
            scenario_profile::name_keys(&document, &mut found);
            return Err(Error::Input(found));
        }
        let ways = Ways::of(&spec);
        if let Some(refused) = Memory::of(&spec, &ways).refusal(&filled) {
            found.push(refused);
            scenario_profile::name_keys(&document, &mut found);
            return Err(Error::Input(found));
        }
        way_pitfalls::check(&spec, &ways, &filled, &document, &extensions, &mut found);
        scenario_profile::name_keys(&document, &mut found);
        let changes = Vec::new();
        let mut scenario =
            Scenario { document, spec, base, traces, tracks, changes, extensions, warnings: found };
        scenario.changes = scenario.plan_changes()?;
        Ok(scenario)
    }

    /// The document with the values of profiles.
    pub(super) fn filled(&self) -> Document {
        filled(&self.document)
    }
    /// The folder at which relative paths in it start; empty: the current folder.
    pub fn base(&self) -> &Path {
        &self.base
    }
    /// The document that was read, with the overrides.
    pub fn document(&self) -> &Document {
        &self.document
    }
    /// The contents of the file, with every default.
    pub fn spec(&self) -> &Spec {
        &self.spec
    }
    /// The trace of a path in the scenario.
    pub fn trace(&self, path: &str) -> Option<&Arc<Trace>> {
        self.traces.get(path)
    }
    /// The recorded tracks that groups of nodes follow, by the name of their table.
    pub(crate) fn tracks(&self) -> &Tracks {
        &self.tracks
    }
    /// The caller's own policies.
    pub fn extensions(&self) -> &Extensions {
        &self.extensions
    }
    /// The changes during the run, in order of time.
    pub fn changes(&self) -> &[(Instant, Vec<Action>)] {
        &self.changes
    }
    /// The effective scenario: with every default. Reading it back gives the same run.
    pub fn to_toml(&self) -> String {
        config::to_toml_string(&self.spec).unwrap_or_default()
    }
    /// The keys that `scenario.profile` has set and that the scenario does not contain, with their
    /// sources.
    pub fn profile_settings(&self) -> Vec<ProfileSetting> {
        scenario_profile::settings(&self.document)
    }
    /// The name of `scenario.profile` and what it does not imitate; None without one.
    pub fn profile_limits(&self) -> Option<(&'static str, &'static [&'static str])> {
        scenario_profile::limits(&self.document)
    }
    /// Pitfalls that the checks have found.
    pub fn warnings(&self) -> &Diagnostics {
        &self.warnings
    }
    /// The warnings as a JSON list.
    pub fn warnings_json(&self) -> serde_json::Value {
        self.warnings.to_json()
    }
    /// BLAKE3 of the effective scenario, of every trace it reads and of the versions of the
    /// caller's own policies, as hex: equal hashes give equal runs.
    pub fn hash(&self) -> String {
        self.hash_with(&self.to_toml())
    }
    /// As [`hash`](Self::hash), for callers that have the effective scenario as text.
    pub(crate) fn hash_with(&self, effective: &str) -> String {
        let mut hasher = blake3::Hasher::new();
        hasher.update(effective.as_bytes());
        for (path, trace) in &self.traces {
            hasher.update(path.as_bytes());
            for ms in trace.iter_ms() {
                hasher.update(&ms.to_le_bytes());
            }
        }
        for (name, tracks) in &self.tracks {
            hasher.update(name.as_bytes());
            for (t, [x, y]) in tracks.iter().flat_map(|track| track.points()) {
                for value in [t, x, y] {
                    hasher.update(&value.to_le_bytes());
                }
            }
        }
        for (name, version) in self.own_policies() {
            hasher.update(name.as_bytes());
            hasher.update(version.as_bytes());
        }
        hasher.finalize().to_hex().to_string()
    }

    /// The files that its runs read, as in the scenario: traces and tracks.
    pub fn files(&self) -> Vec<&str> {
        let tracks = ALL.iter().flat_map(|access| access.track_files(&self.spec));
        let mut files: Vec<&str> = self.traces.keys().map(String::as_str).chain(tracks).collect();
        files.sort_unstable();
        files.dedup();
        files
    }

    /// Name and version of the caller's own policies that the scenario uses.
    pub fn own_policies(&self) -> Vec<(String, String)> {
        let flows = self.spec.flow.values().map(|f| &f.tcp);
        let proxies = self.spec.node.values().filter_map(|node| match node {
            NodeSpec::Proxy(proxy) => Some([&proxy.accept, &proxy.connect]),
            NodeSpec::Snoop(_) | NodeSpec::External(_) | NodeSpec::Linux(_) => None,
        });
        let proxies = proxies.flatten().flatten();
        let controls: Vec<_> = flows.chain(proxies).filter_map(|tcp| tcp.cc.as_ref()).collect();
        let cc = |name: &str| controls.iter().any(|cc| cc.name() == name);
        let scheduler = |name: &str| ALL.iter().any(|access| access.uses_scheduler(&self.spec, name));
        let rate_control = |name: &str| {
            let mut media = self.spec.flow.values().filter_map(|flow| flow.app.rate_control());
            media.any(|control| control.name.name() == name)
        };
        self.extensions.identity(cc, rate_control, scheduler)
    }
}

/// Fills in the values of profiles. This is done again each time, because a later `--set` may name
/// another profile.
fn filled(document: &Document) -> Document {
    let mut filled = document.clone();
    scenario_profile::fill(&mut filled);
    ALL.iter().for_each(|access| access.fill(&mut filled));
    filled
}

/// The default of the key at `path` if that is one of several kinds, as TOML.
pub(super) fn kind_of_default(path: &[&str]) -> Option<String> {
    // Patterns of paths and their defaults; made once, because studies set thousands of keys.
    static DEFAULTS: OnceLock<Vec<(Vec<String>, String)>> = OnceLock::new();
    let all = DEFAULTS.get_or_init(|| {
        let keys = config::reference::<Spec>().into_iter().filter(|k| k.ty.starts_with('"'));
        let with_default = keys.filter_map(|k| Some((k.path, k.default?)));
        let kinds = with_default.filter(|(_, d)| d.starts_with('"') || d.starts_with('{'));
        kinds.map(|(path, default)| (path.split('.').map(str::to_owned).collect(), default)).collect()
    });
    let fits = |pattern: &Vec<String>| {
        pattern.len() == path.len() && pattern.iter().zip(path).all(|(p, k)| p == k || p == "<name>")
    };
    all.iter().find(|(pattern, _)| fits(pattern)).map(|(_, default)| default.clone())
}
