//! The keys that a scenario may set under `[flow.<name>.tcp]`.

mod table;

pub use table::*;

use lasthop_units::Duration;

use crate::cc::{ALGORITHMS, CcName, Controls};
use crate::config::*;
use crate::mutant::Mutant;

/// An invalid value, with its key.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{key}`: {problem}")]
pub struct OptionError {
    /// The key under `[flow.<name>.tcp]`.
    pub key: &'static str,
    /// The mistake and its remedy.
    pub problem: String,
    /// For an unknown word: the known ones.
    pub known: Vec<String>,
}

fn refuse<T>(key: &'static str, problem: impl Into<String>) -> Result<T, OptionError> {
    Err(OptionError { key, problem: problem.into(), known: Vec::new() })
}

impl Options {
    /// The values that an endpoint uses: those of the profile, replaced by the values set here, and
    /// checked.
    pub fn resolve(&self) -> Result<Config, OptionError> {
        self.resolve_with(&Controls::default())
    }

    /// As [`Options::resolve`], where `cc` may also name one of `controls`.
    pub fn resolve_with(&self, controls: &Controls) -> Result<Config, OptionError> {
        self.check_control(controls)?;
        let mut c = self.profile.config();
        self.apply_control(&mut c);
        self.apply_groups(&mut c)?;
        self.complete(&mut c)?;
        check_together(&c)?;
        Ok(c)
    }

    fn check_control(&self, controls: &Controls) -> Result<(), OptionError> {
        let cc = self.cc.unwrap_or(self.profile.config().cc);
        if let CcName::Custom(name) = cc
            && controls.get(name.as_str()).is_none()
        {
            let own = controls.iter().map(|d| d.name());
            let known = ALGORITHMS.iter().map(|a| a.name).chain(own).map(str::to_owned).collect();
            return Err(OptionError {
                key: "cc",
                problem: format!("unknown name \"{}\"", name.as_str()),
                known,
            });
        }
        match controls.unknown_parameter(cc, &self.cc_parameters) {
            None => Ok(()),
            Some(_) if cc.algorithm().is_some() => {
                let problem = format!("`{}` is built in: its parameters are keys of this table", cc.name());
                refuse("cc_parameters", problem)
            }
            Some((wrong, known)) => {
                let problem = format!("`{}` has no parameter `{wrong}`", cc.name());
                Err(OptionError { key: "cc_parameters", problem, known })
            }
        }
    }

    /// The control and the recovery, and what they need unless it is written otherwise.
    fn apply_control(&self, c: &mut Config) {
        c.cc = self.cc.unwrap_or(c.cc);
        c.recovery = self.recovery.unwrap_or(c.recovery);
        let needs = c.cc.needs();
        if self.recovery.is_none() && needs.delivery_rate {
            c.recovery = RecoveryFlavour::Rack;
        }
        if matches!(c.recovery, RecoveryFlavour::Rack) || self.recovery == Some(RecoveryFlavour::Sack) {
            c.negotiated.sack = true;
        }
        if let Some(mode) = needs.ecn.filter(|_| c.ecn.mode != EcnMode::Accurate) {
            c.ecn.mode = mode;
        }
        c.ecn.l4s |= needs.l4s && self.mistakes.mutant != Some(Mutant::SendsEct0);
    }

    /// Values that are not written and follow from others.
    fn complete(&self, c: &mut Config) -> Result<(), OptionError> {
        let needs = c.cc.needs();
        if self.growth.pacing.is_none() && (c.ecn.l4s || needs.pacing) {
            // RFC 9331 section 4.3 expects an L4S sender to limit bursts (it has no requirement):
            // its queue marks what waits 1 ms.
            c.growth.pacing = true;
        }
        if self.timers.syn_filler.is_none() {
            let with_data = needs.opens_with_data == Some(c.profile);
            c.timers.syn_filler = if with_data { c.window.mss.into() } else { 0 };
        }
        let b = &mut c.buffers;
        if self.buffers.send_buffer.is_some() && b.send_tuning {
            return refuse("send_tuning", "a `send_buffer` is fixed; write `send_buffer_max` instead");
        }
        if let Some(start) = self.buffers.send_buffer_start.filter(|start| start.0 > b.send_buffer_max) {
            let problem = format!("{} B is outside 4096 B to {} B", start.0, b.send_buffer_max);
            return refuse("send_buffer_start", problem);
        }
        // Values that were not set are reduced to a small ceiling.
        b.send_buffer_start = b.send_buffer_start.min(b.send_buffer_max);
        b.receive_buffer_start = b.receive_buffer_start.min(b.receive_buffer);
        Ok(())
    }
}

/// What no key forbids alone.
fn check_together(c: &Config) -> Result<(), OptionError> {
    if c.hint.base.algorithm().is_none_or(|a| a.needs.hints) {
        return refuse("hint_base", "name a built-in algorithm that needs no hints, such as `cubic`");
    }
    if c.timers.min_rto > c.timers.max_rto {
        return refuse("min_rto", format!("{} is above max_rto, {}", c.timers.min_rto, c.timers.max_rto));
    }
    if c.timers.initial_rto.is_zero() || c.timers.max_rto.is_zero() {
        return refuse("initial_rto", "a timeout of 0 s would fire for ever");
    }
    // A peer that is gone is probed at this interval, without end if nothing limits it.
    if c.timers.max_rto < Duration::from_millis(1) {
        return refuse("max_rto", format!("{} is below 1 ms", c.timers.max_rto));
    }
    if c.timers.min_rto.is_zero()
        && c.timers.rtt_estimator == RttEstimator::Rfc6298
        && c.timers.clock_granularity.is_zero()
    {
        return refuse("min_rto", "0 s needs a clock granularity above 0 s");
    }
    if c.ecn.l4s && !c.ecn.mode.requests() {
        return refuse("l4s", "needs `ecn = \"accurate\"` or `\"on\"`: without ECN nothing is marked");
    }
    if let Some(mutant) = c.mistakes.mutant.filter(|m| !m.fits(c.cc)) {
        let has: Vec<String> = Mutant::of_control(c.cc).map(|m| m.to_string()).collect();
        let has =
            if has.is_empty() { "has none: write the mistake into it".to_owned() } else { has.join(", ") };
        return refuse("mutant", format!("`{}` has no switch `{mutant}`; its switches: {has}", c.cc.name()));
    }
    if c.vegas.alpha > c.vegas.beta {
        return refuse("vegas_alpha", format!("{} is above vegas_beta, {}", c.vegas.alpha, c.vegas.beta));
    }
    if c.acks.ack_ahead > 0 && c.growth.manual_read {
        let problem = "skips octets in front of those that wait to be read: needs `manual_read = false`";
        return refuse("ack_ahead", problem);
    }
    let control = c.control_at_work();
    if control.needs().delivery_rate && c.recovery != RecoveryFlavour::Rack {
        let name = control.name();
        return refuse(
            "cc",
            format!("`{name}` needs `recovery = \"rack\"`, which estimates the delivery rate"),
        );
    }
    if c.recovery == RecoveryFlavour::Sack && !c.negotiated.sack && !c.profile.recovers_without_sack() {
        return refuse("recovery", "`sack` needs `sack = true`");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use lasthop_units::Bytes;

    use super::*;
    use crate::profile::Profile;

    #[test]
    fn what_is_written_replaces_the_profile_and_errors_name_the_key() {
        let o = Options {
            window: WindowOptions { mss: Some(Bytes(1000)), ..WindowOptions::default() },
            ..Options::default()
        };
        assert_eq!(o.resolve().unwrap().window.mss, 1000);
        let wrong = Options {
            window: WindowOptions { mss: Some(Bytes(10)), ..WindowOptions::default() },
            ..Options::default()
        };
        assert_eq!(wrong.resolve().unwrap_err().to_string(), "`mss`: 10 B is outside 64 B to 65495 B");
        let cross = Options {
            timers: TimerOptions { min_rto: Some(Duration::from_secs(90)), ..TimerOptions::default() },
            ..Options::default()
        };
        assert_eq!(cross.resolve().unwrap_err().key, "min_rto");
    }

    #[test]
    fn options_are_read_as_a_scenario_writes_them() {
        let text = "profile = 'ns2'\ncc = 'vegas'\nrecovery = 'newreno'\nmss = '512 B'\nmin_rto = '200 ms'\n\
                    vegas_rto = 'fine'\nrtt_estimator = 'ns2-ticks'\nmax_pacing_rate = '2 Mbit/s'";
        let o: Options = toml::from_str(text).unwrap();
        let c = o.resolve().unwrap();
        assert_eq!((c.profile, c.cc, c.recovery), (Profile::Ns2, CcName::Vegas, RecoveryFlavour::NewReno));
        assert_eq!(
            (c.window.mss, c.timers.min_rto, c.vegas.rto),
            (512, Duration::from_millis(200), VegasRto::Fine)
        );
        let typo = toml::from_str::<Options>("min_rtoo = '1 s'").unwrap_err().to_string();
        assert!(typo.contains("unknown field `min_rtoo`"), "{typo}");
        let word = toml::from_str::<Options>("cc = 'newreno'").unwrap().resolve().unwrap_err();
        assert!(word.known.contains(&"reno".into()) && word.known.contains(&"vegas".into()), "{word}");
        let word = toml::from_str::<Options>("cc = 'New Reno'").unwrap_err().to_string();
        assert!(word.contains("`reno`") && word.contains("`vegas`"), "{word}");
        assert_eq!(toml::from_str::<Options>(&toml::to_string(&o).unwrap()).unwrap(), o);
    }

    #[test]
    fn the_ns2_window_sets_its_initial_threshold_too() {
        let o = Options {
            profile: Profile::Ns2,
            window: WindowOptions { max_window: Some(20), ..WindowOptions::default() },
            ..Options::default()
        };
        let c = o.resolve().unwrap();
        assert_eq!((c.window.max_window, c.initial_ssthresh()), (Some(20), 20.0));
    }
}
