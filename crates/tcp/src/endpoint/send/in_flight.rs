//! What is in flight, what of it is lost, and how much may be.

use lasthop_units::Instant;

use super::super::connection::Connection;
use super::detector::{Believed, Detector, by_detector};
use super::frto::Frto;
use super::prr::Reduction;
use super::sequence::SendSequence;
use super::tlp::LossProbe;
use super::undo::Undo;
use crate::cc::Cc;
use crate::config::Config;
use crate::flight::Flight;
use crate::recovery::{Rack, Recovery, SenderView};

/// The records of what is outstanding, with loss recovery and congestion control, which judge by
/// them.
#[derive(Clone, Debug)]
pub struct InFlight {
    pub cc: Cc,
    pub recovery: Recovery,
    /// RACK's memory; empty in the other flavours.
    pub rack: Box<Rack>,
    pub flight: Flight,
    pub reduction: Reduction,
    pub undo: Undo,
    pub frto: Frto,
    pub tlp: LossProbe,
    /// Octets delivered since the start: acknowledged or SACKed.
    pub delivered: u64,
    /// Without SACK: octets that duplicate ACKs account for, above SND.UNA.
    pub delivered_by_dups: u64,
}

impl InFlight {
    pub fn new(config: &Config, cc: Cc) -> InFlight {
        InFlight {
            cc,
            recovery: Recovery::new(config, false, u32::from(config.window.mss)),
            rack: Box::default(),
            flight: Flight::default(),
            reduction: Reduction::default(),
            undo: Undo::default(),
            frto: Frto::default(),
            tlp: LossProbe::default(),
            delivered: 0,
            delivered_by_dups: 0,
        }
    }

    /// Recovery, and the view of the sender it works on.
    #[inline]
    pub fn recovery_and_view<'a>(
        &'a mut self,
        c: &'a Connection,
        seq: &SendSequence,
        now: Instant,
    ) -> (&'a mut Recovery, SenderView<'a>) {
        let view = SenderView {
            config: &c.config,
            cc: &mut self.cc,
            flight: &self.flight,
            now,
            una: seq.una,
            max: seq.max,
            mss: c.negotiated.mss,
            wnd: seq.wnd,
        };
        (&mut self.recovery, view)
    }

    /// What is believed of the segments in flight.
    pub fn believed(&self, c: &Connection, seq: &SendSequence) -> Believed {
        by_detector!(self, D => D::believed(self, c, seq))
    }
}
