//! The built-in choices, for `lasthop describe` and the generated reference.

use serde::Serialize;

use lasthop_units::Seq;

use crate::cc::{ALGORITHMS, Algorithm, CongestionControl, Parameter, Variable, variables};
use crate::config::Config;
use crate::mutant::Mutant;
use crate::options::SETTINGS;
use crate::profile::Profile;
use crate::{Endpoint, observe};

/// One congestion control algorithm.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AlgorithmInfo {
    /// The name in scenarios.
    pub name: &'static str,
    /// One line.
    pub summary: &'static str,
    /// Paper or standard.
    pub source: &'static str,
    /// Parameters.
    pub parameters: &'static [Parameter],
    /// Where ns-3, INET and Linux differ.
    pub differs: &'static str,
    /// Its data is sent with ECT(1) (RFC 9331).
    pub l4s: bool,
    /// Switches of its mutants (the key `mutant`).
    pub mutants: Vec<Mutant>,
    /// The variables that its table `cc` has in addition to those of every sender.
    pub variables: Vec<Variable>,
}

/// One value of a profile.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SettingInfo {
    /// Key under `[flow.x.tcp]`.
    pub key: &'static str,
    /// Value, as text.
    pub value: String,
    /// Where it comes from.
    pub source: &'static str,
}

/// One stack profile.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ProfileInfo {
    /// The name in scenarios.
    pub name: &'static str,
    /// One line.
    pub summary: &'static str,
    /// Every value with its source.
    pub settings: Vec<SettingInfo>,
}

/// Everything.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Registry {
    /// Congestion control algorithms.
    pub algorithms: Vec<AlgorithmInfo>,
    /// Stack profiles.
    pub profiles: Vec<ProfileInfo>,
}

/// The algorithms and profiles there are, from the tables that the endpoint itself uses.
pub fn registry() -> Registry {
    Registry {
        algorithms: ALGORITHMS
            .iter()
            .map(|a| AlgorithmInfo {
                name: a.name,
                summary: a.summary,
                source: a.source,
                differs: a.differs,
                parameters: a.parameters,
                l4s: a.needs.l4s,
                mutants: Mutant::of_control(a.id).collect(),
                variables: own_variables(a),
            })
            .collect(),
        profiles: Profile::ALL.iter().map(|&p| profile_info(p)).collect(),
    }
}

fn own_variables(a: &Algorithm) -> Vec<Variable> {
    let config = Config { cc: a.id, ..Profile::default().config() };
    let endpoint = Endpoint::new(config, Seq(0));
    variables(|o| endpoint.congestion_control().observe(o))
}

/// The variables that the table `cc` has for every sender.
pub fn sender_variables() -> Vec<Variable> {
    let endpoint = Endpoint::new(Profile::default().config(), Seq(0));
    let of_the_control = variables(|o| endpoint.congestion_control().observe(o));
    let all = variables(|o| observe(&endpoint, o));
    all.into_iter().filter(|v| !of_the_control.contains(v)).collect()
}

fn profile_info(profile: Profile) -> ProfileInfo {
    let config = profile.config();
    ProfileInfo {
        name: profile.name(),
        summary: profile.summary(),
        settings: SETTINGS
            .iter()
            .map(|s| SettingInfo { key: s.key, value: (s.value)(&config), source: s.source(profile) })
            .collect(),
    }
}

/// The values that an endpoint uses, by key, in the notation of scenarios: the manifest of a run
/// has them.
pub fn resolved(config: &Config) -> impl Iterator<Item = (&'static str, String)> + use<'_> {
    std::iter::once(("profile", config.profile.name().to_owned()))
        .chain(SETTINGS.iter().map(|s| (s.key, (s.value)(config))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_setting_of_a_profile_is_a_key_of_the_options_and_the_other_way_round() {
        let schema = schemars::schema_for!(crate::Options);
        let keys = schema.get("properties").and_then(|p| p.as_object()).unwrap();
        for s in SETTINGS {
            assert!(keys.contains_key(s.key), "{} is no option", s.key);
        }
        for key in keys.keys().filter(|k| !["profile", "cc_parameters"].contains(&k.as_str())) {
            assert!(SETTINGS.iter().any(|s| s.key == key), "{key} has no source in the table of profiles");
        }
    }

    #[test]
    fn the_registry_names_values_as_a_scenario_writes_them() {
        let r = registry();
        let ns2 = &r.profiles[1];
        let value = |key| ns2.settings.iter().find(|s| s.key == key).map(|s| s.value.as_str());
        assert_eq!(value("recovery"), Some("reno"));
        assert_eq!(value("rtt_estimator"), Some("ns2-ticks"));
        assert_eq!(value("initial_rto"), Some("6 s"));
        let names: Vec<_> = r.algorithms.iter().map(|a| a.name).collect();
        assert_eq!(names[..3], ["reno", "vegas", "bbr"]);
        assert!(r.algorithms.iter().all(|a| !a.source.is_empty()));
        for a in &r.algorithms {
            for other in ["Linux", "ns-3", "INET"] {
                assert!(a.differs.contains(other), "{} has no entry for {other}", a.name);
            }
        }
        assert!(r.algorithms.iter().flat_map(|a| a.parameters).all(|p| !p.source.is_empty()));
    }
}
