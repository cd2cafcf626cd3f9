//! A built-in control that deviates from its document (the key `mutant`).

use lasthop_units::{Bitrate, Duration, Instant};

use super::{
    AckSample, Congestion, CongestionControl, DupAck, DupAckAction, Established, Fault, Hint, Observer,
    Signal, TransmitStart,
};
use crate::mutant::Mutant;

/// A control with a mistake in one of its answers.
#[derive(Clone, Debug)]
pub(super) struct Mutated<C> {
    cc: Box<C>,
    mutant: Mutant,
    /// The latest congestion was withheld from the control, whose threshold does not fall.
    skipped: bool,
}

impl<C> Mutated<C> {
    /// The control itself, where the mistake is in its own file.
    pub fn new(cc: C, mutant: Mutant) -> Result<Mutated<C>, C> {
        let here = matches!(
            mutant,
            Mutant::ForgottenCut
                | Mutant::IgnoresLosses
                | Mutant::IgnoresMarks
                | Mutant::HalvesPerMark
                | Mutant::NoUndo
        );
        if here { Ok(Mutated { cc: Box::new(cc), mutant, skipped: false }) } else { Err(cc) }
    }

    /// True if this congestion is withheld from the control.
    fn keeps(&self, signal: Signal) -> bool {
        match self.mutant {
            Mutant::ForgottenCut => true,
            Mutant::IgnoresLosses => signal == Signal::Loss,
            Mutant::IgnoresMarks => signal == Signal::Ecn,
            _ => false,
        }
    }
}

impl<C: CongestionControl + Clone + std::fmt::Debug> CongestionControl for Mutated<C> {
    fn cwnd(&self) -> f64 {
        self.cc.cwnd()
    }
    fn ssthresh(&self) -> f64 {
        self.cc.ssthresh()
    }
    fn on_established(&mut self, e: &Established) {
        self.cc.on_established(e);
    }
    fn on_ack(&mut self, ack: &AckSample) {
        self.cc.on_ack(ack);
    }
    fn on_dup_ack(&mut self, dup: &DupAck) -> DupAckAction {
        self.cc.on_dup_ack(dup)
    }
    fn on_congestion(&mut self, c: &Congestion) {
        self.skipped = self.keeps(c.signal);
        if self.skipped {
            return;
        }
        let signal = if self.mutant == Mutant::HalvesPerMark { Signal::Loss } else { c.signal };
        self.cc.on_congestion(&Congestion { signal, ..*c });
    }
    fn on_timeout(&mut self, c: &Congestion) {
        self.cc.on_timeout(c);
    }
    fn set_cwnd(&mut self, segments: f64) {
        self.cc.set_cwnd(segments);
    }
    fn set_ssthresh(&mut self, segments: f64) {
        self.cc.set_ssthresh(segments);
    }
    fn on_hint(&mut self, hint: &Hint) {
        self.cc.on_hint(hint);
    }
    fn on_idle_restart(&mut self, now: Instant, segments: f64) {
        self.cc.on_idle_restart(now, segments);
    }
    fn on_recovered(&mut self, now: Instant) {
        self.cc.on_recovered(now);
    }
    fn on_undo(&mut self, cwnd: f64, ssthresh: f64) {
        if self.mutant != Mutant::NoUndo {
            self.cc.on_undo(cwnd, ssthresh);
        }
    }
    fn on_transmit_start(&mut self, start: &TransmitStart) {
        self.cc.on_transmit_start(start);
    }
    fn answers_loss_in_cwr(&self) -> bool {
        self.cc.answers_loss_in_cwr()
    }
    fn rules_recovery(&self) -> bool {
        self.skipped || self.cc.rules_recovery()
    }
    fn oldest_is_overdue(&mut self, now: Instant, sent: Instant) -> bool {
        self.cc.oldest_is_overdue(now, sent)
    }
    fn take_reduction(&mut self) -> bool {
        self.cc.take_reduction()
    }
    fn own_timeout(&self) -> Option<Duration> {
        self.cc.own_timeout()
    }
    fn pacing_rate(&self) -> Option<Bitrate> {
        self.cc.pacing_rate()
    }
    fn fault(&mut self) -> Option<Fault> {
        self.cc.fault()
    }
    fn observe(&self, o: &mut Observer<'_>) {
        self.cc.observe(o);
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::*;
    use super::*;
    use crate::cc::Cc;
    use crate::{CcName, Options};

    fn with(cc: CcName, mutant: &str) -> Cc {
        let text = format!("profile = 'linux-6'\ncc = '{}'\nmutant = '{mutant}'", cc.name());
        let options: Options = toml::from_str(&text).unwrap();
        Cc::new(&options.resolve().unwrap())
    }

    /// What is left of 80 segments after a signal.
    fn left(cc: &mut Cc, signal: Signal) -> f64 {
        cc.set_cwnd(80.0);
        cc.on_congestion(&Congestion { signal, ..congestion(80.0) });
        cc.cwnd()
    }

    #[test]
    fn a_switch_removes_one_answer_and_leaves_the_others() {
        for (mutant, loss, mark) in
            [("forgotten-cut", 80.0, 80.0), ("ignores-losses", 80.0, 40.0), ("ignores-marks", 40.0, 80.0)]
        {
            let mut cc = with(CcName::Reno, mutant);
            assert_eq!((left(&mut cc, Signal::Loss), left(&mut cc, Signal::Ecn)), (loss, mark), "{mutant}");
        }
        // alpha is 1 at the start, so that a mark and a loss both halve; after a round without
        // marks
        // it is 15 / 16, and a mark leaves 80 - floor(37.5).
        let mut dctcp = with(CcName::Dctcp, "halves-per-mark");
        dctcp.on_ack(&AckSample { una: 1, nxt: 1, ..ack(10) });
        assert_eq!(left(&mut dctcp, Signal::Ecn), 40.0);
        let mut right = Cc::new(&linux_with(|c| c.cc = CcName::Dctcp));
        right.on_ack(&AckSample { una: 1, nxt: 1, ..ack(10) });
        assert_eq!(left(&mut right, Signal::Ecn), 43.0);
    }

    #[test]
    fn a_threshold_of_zero_ends_slow_start_for_ever() {
        for cc in [CcName::Reno, CcName::Cubic, CcName::HighSpeed] {
            let mut cc = with(cc, "ssthresh-zero");
            cc.set_cwnd(80.0);
            cc.on_timeout(&congestion(80.0));
            assert_eq!((cc.cwnd(), cc.ssthresh()), (1.0, 0.0));
        }
    }

    #[test]
    fn an_undo_may_be_omitted() {
        let mut cc = with(CcName::Reno, "no-undo");
        left(&mut cc, Signal::Loss);
        cc.on_undo(80.0, 100.0);
        assert_eq!(cc.cwnd(), 40.0);
    }

    #[test]
    fn a_switch_of_another_control_is_refused_with_those_it_has() {
        let refused = |text: &str| {
            let options: Options = toml::from_str(text).unwrap();
            options.resolve().unwrap_err().to_string()
        };
        let message = refused("cc = 'reno'\nmutant = 'drain-one-ack'");
        assert!(message.contains("drain-one-ack") && message.contains("forgotten-cut"), "{message}");
        assert!(!message.contains("drain-without-limit"), "{message}");
    }
}
