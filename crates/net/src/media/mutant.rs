//! Deliberate mistakes of the built-in rate controls, for tests of test cases: a switch makes a
//! control break one rule of its document. A switch is a word of the key `mutant` of media flows.

use lasthop_engine::custom::Fault;
use lasthop_engine::observe::Observer;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::control::{BoxedRateControl, Feedback, RateControl, SentPacket};
use super::name::RateControlName;

/// A deliberate error in a built-in rate control.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RateMutant {
    /// The rate never falls.
    NeverSlower,
    /// NADA: the reference signal does not depend on the rate. In RFC 8698 section 4.3 it is
    /// inversely proportional to the rate, which makes the rates of flows equal.
    FixedReferenceDelay,
}

impl RateMutant {
    const ALL: [RateMutant; 2] = [RateMutant::NeverSlower, RateMutant::FixedReferenceDelay];

    /// As a scenario writes it.
    pub const fn name(self) -> &'static str {
        match self {
            RateMutant::NeverSlower => "never-slower",
            RateMutant::FixedReferenceDelay => "fixed-reference-delay",
        }
    }
    /// Whether a control has this switch.
    pub fn fits(self, control: RateControlName) -> bool {
        match self {
            RateMutant::NeverSlower => !matches!(control, RateControlName::None | RateControlName::Custom(_)),
            RateMutant::FixedReferenceDelay => control == RateControlName::Nada,
        }
    }
    /// The switches of a control.
    pub fn of(control: RateControlName) -> impl Iterator<Item = RateMutant> {
        Self::ALL.into_iter().filter(move |mutant| mutant.fits(control))
    }
}

/// A control whose rate never falls.
#[derive(Clone, Debug)]
pub(super) struct Mutated {
    control: Box<dyn BoxedRateControl>,
    most: f64,
}

impl Mutated {
    pub fn new(control: Box<dyn BoxedRateControl>) -> Mutated {
        Mutated { most: control.target(0), control }
    }
}

#[deny(clippy::missing_trait_methods)]
impl RateControl for Mutated {
    fn on_sent(&mut self, sent: &SentPacket) {
        self.control.on_sent(sent);
    }
    fn on_feedback(&mut self, feedback: &Feedback<'_>) {
        self.control.on_feedback(feedback);
        self.most = self.most.max(self.control.target(feedback.queued));
    }
    fn on_limits(&mut self, min: f64, max: f64) {
        self.control.on_limits(min, max);
        self.most = self.most.min(max);
    }
    fn target(&self, queued: u64) -> f64 {
        self.control.target(queued).max(self.most)
    }
    fn pacing(&self, queued: u64) -> f64 {
        self.control.pacing(queued).max(self.most)
    }
    fn window(&self) -> Option<u64> {
        None
    }
    fn fault(&mut self) -> Option<Fault> {
        self.control.fault()
    }
    fn observe(&self, o: &mut Observer<'_>) {
        self.control.observe(o);
    }
}

#[cfg(test)]
mod tests {
    use super::super::control::testing::{Path, setup};
    use super::super::nada::Nada;
    use super::*;
    use lasthop_units::Duration;

    #[test]
    fn the_rate_of_a_control_that_is_never_slower_stays_where_it_was_highest() {
        let mut control = Mutated::new(Box::new(Nada::new(&setup())));
        let mut path = Path::new(Duration::from_millis(50));
        // Without a queue NADA accelerates; 400 ms of queueing make it slow down.
        path.run(5_000, 20, 1000, |_, _| 0.0, |f| control.on_feedback(f));
        let before = control.target(0);
        path.run(5_000, 20, 1000, |_, _| 400.0, |f| control.on_feedback(f));
        // The last reports without a queue come in the second phase.
        assert!(control.target(0) >= before);
        let inner = control.control.target(0);
        assert!(inner < 0.5 * before, "{inner} {before}");
        assert!(before > setup().start);
    }
}
