//! Status reports: when they fall due (TS 25.322 clause 9.7.2) and what they say (clause 11.5.2).

use lasthop_units::Instant;
use smallvec::{SmallVec, smallvec};

use super::rx::Rx;
use super::{AmConfig, StatusFormat, or_never};
use crate::rlc::pdu::{AmSn, StatusPdu, Sufi};

/// When the receiver reports.
#[derive(Clone, Debug, Default)]
pub(super) struct Reporter {
    /// A report was triggered and is not sent.
    wanted: bool,
    /// Expiry of Timer_Status_Prohibit.
    prohibited_until: Instant,
    /// Expiry of Timer_Status_Periodic.
    periodic: Option<Instant>,
    /// A PDU has arrived since the last periodic report.
    active: bool,
}

impl Reporter {
    /// Something asks for a report. Any number of triggers makes one report.
    pub fn trigger(&mut self) {
        self.wanted = true;
    }

    /// A PDU has arrived: the periodic report runs while there is something to report.
    #[inline]
    pub fn on_pdu(&mut self, now: Instant, cfg: &AmConfig) {
        if !cfg.timer_status_periodic.is_zero() {
            self.active = true;
            self.periodic.get_or_insert(now + cfg.timer_status_periodic);
        }
    }

    /// Clause 9.7.2: "if Timer_Status_Prohibit is active ... the status report shall be sent when
    /// it has expired".
    #[inline]
    pub fn is_due(&self, now: Instant) -> bool {
        self.wanted && now >= self.prohibited_until
    }

    /// The report is handed to MAC: Timer_Status_Prohibit starts (clause 9.5 f).
    pub fn sent(&mut self, now: Instant, cfg: &AmConfig) {
        self.wanted = false;
        self.prohibited_until = now + cfg.timer_status_prohibit;
    }

    pub fn on_time(&mut self, now: Instant, cfg: &AmConfig, missing: bool) {
        if self.periodic.is_some_and(|t| t <= now) {
            self.wanted = true;
            self.periodic = (self.active || missing).then(|| now + cfg.timer_status_periodic);
            self.active = false;
        }
    }

    /// The next moment at which something here changes; [`Instant::MAX`] for never.
    #[inline]
    pub fn poll_at(&self, now: Instant) -> Instant {
        let blocked = self.wanted && now < self.prohibited_until;
        let prohibit = if blocked { self.prohibited_until } else { Instant::MAX };
        prohibit.min(or_never(self.periodic))
    }
}

const MOST_OCTETS: u64 = 16;
const MOST_PAIRS: usize = 15;
const MOST_RUN: u64 = 16;

/// Builds the report on VR(R)..VR(H) as STATUS PDUs of at most `bits` each, after the super-fields
/// `first`.
///
/// The first PDU acknowledges as far as it lists; what further PDUs list they do not acknowledge,
/// because an ACK says that everything before it that is not listed *in the same PDU* was received
/// (clause 9.2.2.11.2).
pub(super) fn build_report(
    rx: &Rx,
    format: StatusFormat,
    bits: usize,
    mut pdu: StatusPdu,
    out: &mut Vec<StatusPdu>,
) {
    let (mut from, end) = (rx.vr_r(), rx.vr_h());
    let mut acknowledged = false;
    loop {
        // The closing ACK takes 16 bits, NO_MORE 4; `StatusPdu::bits` has counted the NO_MORE
        // already.
        let reserve = if acknowledged { 0 } else { 12 };
        while let Some(missing) = rx.received().next_missing(from, end) {
            let room = bits.saturating_sub(pdu.bits() + reserve);
            let next = match format {
                StatusFormat::Bitmap => bitmap(rx, missing, room),
                StatusFormat::List => list(rx, missing, room),
            };
            let Some((sufi, covered)) = next else { break };
            pdu.sufis.push(sufi);
            from = covered;
        }
        let done = rx.received().next_missing(from, end).is_none();
        if !acknowledged {
            let lsn = if done { end } else { from };
            pdu.sufis.push(Sufi::Ack(AmSn::new(lsn as u32)));
            acknowledged = true;
        }
        out.push(std::mem::take(&mut pdu));
        if done {
            return;
        }
    }
}

/// A BITMAP from `first` on, and the first SN after it. All bits are known: one that would reach
/// beyond VR(H) starts before `first` instead.
fn bitmap(rx: &Rx, first: u64, room: usize) -> Option<(Sufi, u64)> {
    let octets = (room.checked_sub(20)? as u64 / 8).min(MOST_OCTETS);
    if octets == 0 {
        return None;
    }
    let reach = (first + 8 * octets).min(rx.vr_h());
    let last = rx.received().last_missing(first, reach).unwrap_or(first);
    let octets = (last - first) / 8 + 1;
    let end = (first + 8 * octets).min(rx.vr_h());
    // May lie before VR(R), even before count 0: everything there was received, or ignored.
    let fsn = end as i64 - 8 * octets as i64;
    let bits = (0..octets as i64).map(|o| {
        (0..8).fold(0u8, |octet, b| {
            let count = fsn + 8 * o + b;
            let received = count < rx.vr_r() as i64 || rx.received().contains(count as u64);
            octet << 1 | u8::from(received)
        })
    });
    Some((Sufi::Bitmap { fsn: AmSn::new(fsn as u32), octets: bits.collect() }, end))
}

/// A LIST of runs from `first` on, and the first SN after it.
fn list(rx: &Rx, first: u64, room: usize) -> Option<(Sufi, u64)> {
    let most = (room.checked_sub(8)? / 16).min(MOST_PAIRS);
    if most == 0 {
        return None;
    }
    let mut pairs: SmallVec<[(AmSn, u8); 4]> = smallvec![];
    let mut from = first;
    while pairs.len() < most {
        let Some(start) = rx.received().next_missing(from, rx.vr_h()) else { break };
        let limit = (start + MOST_RUN).min(rx.vr_h());
        let end = rx.received().next_in(start, limit).unwrap_or(limit);
        pairs.push((AmSn::new(start as u32), (end - start - 1) as u8));
        from = end;
    }
    Some((Sufi::List(pairs), from))
}
