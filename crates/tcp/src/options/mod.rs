//! What a scenario may write under `[flow.<name>.tcp]`.

mod table;

pub use table::*;

use lasthop_units::{Bytes, Duration};

use crate::cc::{ALGORITHMS, CcName, Controls};
use crate::config::*;
use crate::host::Offload;
use crate::profile::Profile;

/// A value that cannot be, with the key that holds it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{key}`: {problem}")]
pub struct OptionError {
    /// The key under `[flow.<name>.tcp]`.
    pub key: &'static str,
    /// What is wrong and what would be right.
    pub problem: String,
    /// Where a word is unknown: those that are known.
    pub known: Vec<String>,
}

fn refuse<T>(key: &'static str, problem: impl Into<String>) -> Result<T, OptionError> {
    Err(OptionError { key, problem: problem.into(), known: Vec::new() })
}

fn within(key: &'static str, value: u64, min: u64, max: u64, unit: &str) -> Result<u64, OptionError> {
    if (min..=max).contains(&value) {
        return Ok(value);
    }
    refuse(key, format!("{value}{unit} is outside {min}{unit} to {max}{unit}"))
}

impl Options {
    /// The values an endpoint runs on: the profile's, replaced by what is written here, and
    /// checked.
    pub fn resolve(&self) -> Result<Config, OptionError> {
        self.resolve_with(&Controls::default())
    }

    /// As [`Options::resolve`], where `cc` may also name one of `controls`.
    pub fn resolve_with(&self, controls: &Controls) -> Result<Config, OptionError> {
        self.check_control(controls)?;
        let mut c = self.profile.config();
        self.apply_words(&mut c);
        self.apply_numbers(&mut c)?;
        self.apply_vegas(&mut c)?;
        self.apply_algorithms(&mut c)?;
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

    fn apply_words(&self, c: &mut Config) {
        fn set<T: Copy>(to: &mut T, from: Option<T>) {
            if let Some(v) = from {
                *to = v;
            }
        }
        set(&mut c.cc, self.cc);
        set(&mut c.recovery, self.recovery);
        let needs = c.cc.needs();
        if self.recovery.is_none() && needs.delivery_rate {
            c.recovery = RecoveryFlavour::Rack;
        }
        if matches!(c.recovery, RecoveryFlavour::Rack) || self.recovery == Some(RecoveryFlavour::Sack) {
            c.sack = true;
        }
        set(&mut c.dsack, self.acks.dsack);
        set(&mut c.pacing, self.growth.pacing);
        if let Some(mode) = needs.ecn.filter(|_| c.ecn != EcnMode::Accurate) {
            c.ecn = mode;
        }
        c.l4s |= needs.l4s;
        set(&mut c.ecn, self.ecn.ecn);
        set(&mut c.accecn_option, self.ecn.accecn_option);
        set(&mut c.l4s, self.ecn.l4s);
        if c.l4s || needs.pacing {
            // RFC 9331 section 4.3 asks an L4S sender to limit bursts: its queue marks what waits 1
            // ms.
            c.pacing = self.growth.pacing.unwrap_or(true);
        }
        set(&mut c.sack, self.negotiated.sack);
        set(&mut c.whole_segments, self.window.whole_segments);
        set(&mut c.timestamps, self.negotiated.timestamps);
        set(&mut c.window_scaling, self.negotiated.window_scaling);
        set(&mut c.sack_on_timeout, self.loss.sack_on_timeout);
        set(&mut c.limited_transmit, self.loss.limited_transmit);
        set(&mut c.bugfix, self.loss.bugfix);
        set(&mut c.timer_on_fast_retransmit, self.loss.timer_on_fast_retransmit);
        set(&mut c.timer_on_partial_ack, self.loss.timer_on_partial_ack);
        set(&mut c.rto_leaves_recovery, self.loss.rto_leaves_recovery);
        set(&mut c.recovery_exit, self.loss.recovery_exit);
        set(&mut c.loss_detection, self.loss.loss_detection);
        set(&mut c.host.loss_probes, self.loss.loss_probe);
        set(&mut c.window_reduction, self.loss.window_reduction);
        set(&mut c.host.acks, self.acks.ack_rule);
        set(&mut c.nagle, self.acks.nagle);
        set(&mut c.rtt_estimator, self.timers.rtt_estimator);
        set(&mut c.rtt_sampling, self.timers.rtt_sampling);
        set(&mut c.backoff_floor, self.timers.backoff_floor);
        if let Some(gso) = self.buffers.gso {
            c.host.offload = gso.then_some(Offload::LINUX);
        }
        set(&mut c.kernel_clock, self.timers.kernel_clock);
        set(&mut c.time_wait, self.timers.time_wait);
        set(&mut c.initial_rto, self.timers.initial_rto);
        set(&mut c.min_rto, self.timers.min_rto);
        set(&mut c.max_rto, self.timers.max_rto);
        set(&mut c.growth, self.growth.growth);
        set(&mut c.ssthresh_basis, self.growth.ssthresh_basis);
        set(&mut c.window_validation, self.growth.window_validation);
        set(&mut c.idle_restart, self.growth.idle_restart);
        set(&mut c.manual_read, self.growth.manual_read);
        c.max_pacing_rate = self.growth.max_pacing_rate.or(c.max_pacing_rate);
        c.max_retries = self.timers.max_retries.or(c.max_retries);
        c.syn_retries = self.timers.syn_retries.or(c.syn_retries);
    }

    fn apply_numbers(&self, c: &mut Config) -> Result<(), OptionError> {
        if let Some(mss) = self.window.mss {
            // Room for 40 octets of options and some data; 65535 less 40 octets of headers.
            c.mss = within("mss", mss.0, 64, 65_495, " B")? as u16;
        }
        let opens_with_data = c.cc.needs().opens_with_data == Some(c.profile);
        let filler = Bytes(if opens_with_data { c.mss.into() } else { 0 });
        c.syn_filler =
            within("syn_filler", self.timers.syn_filler.unwrap_or(filler).0, 0, 65_495, " B")? as u32;
        if let Some(n) = self.window.initial_window {
            c.initial_window = Some(within("initial_window", n.into(), 1, 1000, "")? as u32);
        }
        if let Some(n) = self.window.max_window {
            c.max_window = Some(within("max_window", n.into(), 1, 1 << 24, "")? as u32);
            if self.profile == Profile::Ns2 {
                // ns-2: initial ssthresh = max window.
                c.initial_ssthresh = f64::from(n.max(2));
            }
        }
        if self.profile == Profile::Inet {
            // INET counts 65535 octets, whatever the segments.
            c.initial_ssthresh = 65_535.0 / f64::from(c.mss);
        }
        if let Some(n) = self.window.initial_ssthresh {
            if n.is_nan() || n < 2.0 {
                return refuse("initial_ssthresh", format!("{n} is below 2 segments"));
            }
            c.initial_ssthresh = n;
        }
        if let Some(b) = self.buffers.receive_buffer {
            c.receive_buffer = within("receive_buffer", b.0, 256, 1 << 30, " B")?;
            c.receive_tuning = false;
        }
        c.receive_tuning = self.buffers.receive_tuning.unwrap_or(c.receive_tuning);
        if let Some(b) = self.buffers.receive_buffer_start {
            c.receive_buffer_start = within("receive_buffer_start", b.0, 256, c.receive_buffer, " B")?;
        }
        // One that was not written gives way to a small ceiling.
        c.receive_buffer_start = c.receive_buffer_start.min(c.receive_buffer);
        if let Some(b) = self.buffers.send_buffer {
            c.send_buffer = Some(within("send_buffer", b.0, 1, 1 << 50, " B")?);
            c.send_tuning = false;
            if self.buffers.send_tuning == Some(true) {
                return refuse("send_tuning", "a `send_buffer` is fixed; write `send_buffer_max` instead");
            }
        }
        c.send_tuning = self.buffers.send_tuning.unwrap_or(c.send_tuning);
        if let Some(b) = self.buffers.send_buffer_max {
            c.send_buffer_max = within("send_buffer_max", b.0, 4096, 1 << 40, " B")?;
        }
        if let Some(b) = self.buffers.send_buffer_start {
            c.send_buffer_start = within("send_buffer_start", b.0, 4096, c.send_buffer_max, " B")?;
        }
        // One that was not written gives way to a small ceiling.
        c.send_buffer_start = c.send_buffer_start.min(c.send_buffer_max);
        if let Some(n) = self.loss.dup_threshold {
            c.dup_threshold = within("dup_threshold", n.into(), 1, 255, "")? as u32;
        }
        if let Some(n) = self.acks.ack_every {
            c.ack_every = within("ack_every", n.into(), 1, 64, "")? as u32;
        }
        if let Some(n) = self.acks.quick_acks {
            c.quick_acks = within("quick_acks", n.into(), 0, 1000, "")? as u32;
        }
        if let Some(d) = self.acks.ack_delay {
            if d > Duration::from_millis(500) {
                return refuse("ack_delay", format!("{d} is above the 500 ms of RFC 9293 section 3.8.6.3"));
            }
            c.ack_delay = d;
        }
        if let Some(d) = self.timers.clock_granularity {
            if d < Duration::from_micros(1) {
                return refuse("clock_granularity", "a clock has a granularity of at least 1 us");
            }
            c.clock_granularity = d;
        }
        if let Some(n) = self.timers.max_backoff {
            if !n.is_power_of_two() {
                return refuse("max_backoff", format!("{n} is not a power of two"));
            }
            c.max_backoff = n;
        }
        if let Some(n) = self.growth.abc_limit {
            c.abc_limit = within("abc_limit", n.into(), 1, 64, "")? as u32;
        }
        Ok(())
    }

    fn apply_vegas(&self, c: &mut Config) -> Result<(), OptionError> {
        let v = &mut c.vegas;
        for (key, value, to) in [
            ("vegas_alpha", self.vegas.vegas_alpha, &mut v.alpha),
            ("vegas_beta", self.vegas.vegas_beta, &mut v.beta),
            ("vegas_gamma", self.vegas.vegas_gamma, &mut v.gamma),
        ] {
            let Some(n) = value else { continue };
            if !n.is_finite() || n < 0.0 {
                return refuse(key, format!("{n} is not a number of segments"));
            }
            *to = n;
        }
        v.rto = self.vegas.vegas_rto.unwrap_or(v.rto);
        v.base_start = self.vegas.vegas_base_start.unwrap_or(v.base_start);
        v.sample_order = self.vegas.vegas_sample_order.unwrap_or(v.sample_order);
        Ok(())
    }
}

impl Options {
    fn apply_algorithms(&self, c: &mut Config) -> Result<(), OptionError> {
        let cubic = &mut c.cubic;
        if let Some(beta) = self.cubic.cubic_beta {
            if !(0.1..=0.99).contains(&beta) {
                return refuse("cubic_beta", format!("{beta} is outside 0.1 to 0.99"));
            }
            cubic.beta = beta;
        }
        if let Some(n) = self.cubic.cubic_c {
            if !(n > 0.0 && n <= 10.0) {
                return refuse("cubic_c", format!("{n} is not above 0 and at most 10 segments/s^3"));
            }
            cubic.c = n;
        }
        if let Some(d) = self.hybla.hybla_rtt0 {
            if d.is_zero() {
                return refuse("hybla_rtt0", "a round trip of 0 s has no growth to imitate");
            }
            c.hybla_rtt0 = d;
        }
        if let Some(n) = self.hint.hint_queue_threshold {
            c.hint.queue_threshold = within("hint_queue_threshold", n.0, 0, 1 << 30, " B")?;
        }
        if let Some(gain) = self.hint.hint_gain {
            if !(gain > 0.0 && gain <= 10.0) {
                return refuse("hint_gain", format!("{gain} is not above 0 and at most 10"));
            }
            c.hint.gain = gain;
        }
        if let Some(d) = self.hint.hint_timeout {
            if d.is_zero() {
                return refuse("hint_timeout", "no reading is younger than 0 s");
            }
            c.hint.timeout = Some(d);
        }
        c.hint.base = self.hint.hint_base.unwrap_or(c.hint.base);
        if c.hint.base.algorithm().is_none_or(|a| a.needs.hints) {
            return refuse("hint_base", "name a built-in algorithm that needs no hints, such as `cubic`");
        }
        c.hint.rtt = self.hint.hint_rtt.unwrap_or(c.hint.rtt);
        c.hint.queue_term = self.hint.hint_queue_term.unwrap_or(c.hint.queue_term);
        cubic.reading = self.cubic.cubic_reading.unwrap_or(cubic.reading);
        cubic.fast_convergence = self.cubic.cubic_fast_convergence.unwrap_or(cubic.fast_convergence);
        cubic.friendliness = self.cubic.cubic_friendliness.unwrap_or(cubic.friendliness);
        cubic.abe = self.ecn.abe.unwrap_or(cubic.abe);
        if let Some(beta) = self.ecn.abe_beta {
            if !(0.5..=1.0).contains(&beta) {
                return refuse("abe_beta", format!("{beta} is outside 0.5 to 1"));
            }
            (cubic.abe_beta, c.reno_abe_beta) = (beta, beta);
        }
        c.vegas.reading = self.vegas.vegas_reading.unwrap_or(c.vegas.reading);
        c.hystart = self.readings.hystart.unwrap_or(c.hystart);
        c.cc_reading = self.readings.cc_reading.unwrap_or(c.cc_reading);
        c.westwood_reading = self.westwood.westwood_reading.unwrap_or(c.westwood_reading);
        c.zero_interval = self.westwood.zero_interval.unwrap_or(c.zero_interval);
        Ok(())
    }
}

/// What no key forbids alone.
fn check_together(c: &Config) -> Result<(), OptionError> {
    if c.min_rto > c.max_rto {
        return refuse("min_rto", format!("{} is above max_rto, {}", c.min_rto, c.max_rto));
    }
    if c.initial_rto.is_zero() || c.max_rto.is_zero() {
        return refuse("initial_rto", "a timeout of 0 s would fire for ever");
    }
    // A peer that is gone is asked again at this interval, for ever where nothing limits it.
    if c.max_rto < Duration::from_millis(1) {
        return refuse("max_rto", format!("{} is below 1 ms", c.max_rto));
    }
    if c.min_rto.is_zero() && c.rtt_estimator == RttEstimator::Rfc6298 && c.clock_granularity.is_zero() {
        return refuse("min_rto", "0 s needs a clock granularity above 0 s");
    }
    if c.l4s && !c.ecn.asks() {
        return refuse("l4s", "needs `ecn = \"accurate\"` or `\"on\"`: without ECN nothing is marked");
    }
    if c.vegas.alpha > c.vegas.beta {
        return refuse("vegas_alpha", format!("{} is above vegas_beta, {}", c.vegas.alpha, c.vegas.beta));
    }
    let control = c.control_at_work();
    if control.needs().delivery_rate && c.recovery != RecoveryFlavour::Rack {
        let name = control.name();
        return refuse(
            "cc",
            format!("`{name}` needs `recovery = \"rack\"`, which estimates the delivery rate"),
        );
    }
    if c.recovery == RecoveryFlavour::Sack && !c.sack && c.profile != Profile::Rfc {
        return refuse("recovery", "`sack` needs `sack = true`");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_replaces_the_profile_and_errors_name_the_key() {
        let o = Options {
            window: WindowOptions { mss: Some(Bytes(1000)), ..WindowOptions::default() },
            ..Options::default()
        };
        assert_eq!(o.resolve().unwrap().mss, 1000);
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
        assert_eq!((c.mss, c.min_rto, c.vegas.rto), (512, Duration::from_millis(200), VegasRto::Fine));
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
        assert_eq!((c.max_window, c.initial_ssthresh), (Some(20), 20.0));
    }
}
