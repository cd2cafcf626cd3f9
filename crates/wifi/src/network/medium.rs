//! A channel: the devices that detect each transmission, and the state of the medium at each
//! device.

use std::cell::Cell;

use lasthop_units::{Bytes, Duration, Instant, StationId};

use super::config::{AirConfig, ApConfig};
use super::manage::Management;
use super::radios::Radios;
use crate::mac::CTS;
use crate::phy::{Compat, Mode, Overlap, Segments, Timing};
use lasthop_radio::{linear, milliwatts};

/// The kind of a transmission.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Frame {
    /// Request to send, before the sender's burst.
    Rts,
    /// Clear to send.
    Cts,
    /// Acknowledgement.
    Ack,
    /// Block acknowledgement.
    BlockAck,
    /// The sender's burst of data.
    Data,
    /// Block ack request.
    Request,
    /// Management.
    Management(Management),
    /// A beacon.
    Beacon,
}

/// A transmitted PPDU, or an ended one that overlapped with a present one.
#[derive(Clone, Debug)]
pub struct Transmission {
    /// Number of the transmission on its medium, which [`Medium::begin`] gives it.
    pub serial: u64,
    /// The transmitter, as a member of the medium.
    pub from: usize,
    /// The receiver; None: all.
    pub to: Option<usize>,
    /// The station of the link to which its data belongs, if it is data.
    pub station: Option<StationId>,
    /// Start.
    pub start: Instant,
    /// End.
    pub end: Instant,
    /// Rate.
    pub mode: Mode,
    /// Length of the preamble.
    pub preamble: Duration,
    /// Bits of its first (or only) MPDU.
    pub first_bits: u32,
    /// Its kind.
    pub frame: Frame,
    /// Duration after its end for which it reserves the medium.
    pub nav: Duration,
    /// Power at each member [mW], from [`Medium::begin`] on.
    pub powers_mw: Vec<f64>,
    /// True if it has ended.
    pub over: bool,
}

/// The state of a device's receiver.
#[derive(Clone, Debug)]
pub struct Receiver {
    /// Sum of the powers of all signals [mW].
    pub power_mw: f64,
    /// Latest end of the signals whose preamble it has detected.
    pub sensed_until: Instant,
    /// End of its transmission, during which it receives nothing.
    pub tx_until: Instant,
    /// True if it neither transmits nor senses a signal: physically idle.
    pub idle: bool,
    /// True if idle and counting slots from `base` on.
    pub counting: bool,
    /// End of the last busy period and SIFS after it, with EIFS and NAV where they apply.
    pub base: Instant,
    /// End of the reservation of the medium.
    pub nav: Instant,
    /// End of the reservation by an RTS, if a PPDU is received by `nav` (clause 10.3.2.4).
    pub nav_full: Instant,
    /// The transmission that it receives, with its power and start.
    pub locked: Option<(u64, f64, Instant)>,
    /// Start and end of the last transmission that it received.
    received: (Instant, Instant),
    /// True if it failed to decode the last PPDU: EIFS applies.
    pub bad: bool,
    /// True if it waits for a response: its contenders do not count.
    pub waiting: bool,
    /// Contenders of the device that may have data to send or slots left, a bit for each: the
    /// others neither transmit nor count slots.
    pub contends: u8,
}

impl Receiver {
    const fn new() -> Receiver {
        Receiver {
            power_mw: 0.0,
            sensed_until: Instant::ZERO,
            tx_until: Instant::ZERO,
            idle: true,
            counting: true,
            base: Instant::ZERO,
            nav: Instant::ZERO,
            nav_full: Instant::ZERO,
            locked: None,
            received: (Instant::ZERO, Instant::ZERO),
            bad: false,
            waiting: false,
            contends: 0,
        }
    }

    /// True if it becomes idle at `now`.
    #[inline]
    fn becomes_idle(&self, now: Instant, energy_mw: f64) -> bool {
        !(self.idle || now < self.tx_until || now < self.sensed_until || self.power_mw >= energy_mw)
    }

    /// Begins an idle period at `now`. True if slots are counted in it.
    #[inline]
    fn begin_idle(&mut self, now: Instant, timing: &Timing) -> bool {
        self.idle = true;
        let extra = if self.bad { timing.extra() } else { Duration::ZERO };
        self.base = (now + timing.sifs + extra).max(self.nav.saturating_add(timing.sifs));
        self.bad = false;
        self.counting |= !self.waiting;
        !self.waiting
    }

    /// Sets the NAV of a device that is not the addressee.
    #[inline]
    pub fn reserve(&mut self, now: Instant, nav: Duration, check: Option<Duration>) {
        let until = now.saturating_add(nav);
        match check {
            Some(check) if now.saturating_add(check) < until && self.nav < until => {
                self.nav_full = until;
                self.nav = self.nav.max(now.saturating_add(check));
            }
            _ => {
                self.nav = self.nav.max(until);
                self.nav_full = Instant::ZERO;
            }
        }
    }

    /// Receives the start of a preamble that is strong enough to be detected: the receiver switches
    /// to it, stays with the present one, or can decode neither.
    #[inline]
    fn receive_preamble(&mut self, now: Instant, preamble: Preamble, noise_mw: f64) {
        let Preamble { serial, power_mw, sinr, capture } = preamble;
        if now <= self.nav {
            self.nav = self.nav.max(self.nav_full);
        }
        let all = self.power_mw;
        let found = |power_mw: f64| power_mw >= sinr * (noise_mw + all - power_mw);
        match self.locked {
            // Two preambles at once: the receiver detects the one that is strong enough beside the
            // other, if one is.
            Some((_, other, since)) if now.since(since) < DETECTION => {
                if found(power_mw) {
                    self.locked = Some((serial, power_mw, now));
                } else if !found(other) {
                    self.locked = None;
                }
            }
            None if found(power_mw) => {
                self.locked = Some((serial, power_mw, now));
            }
            Some((_, other, since))
                if capture.is_some_and(|c| power_mw >= c * other) && now.since(since) < CAPTURE_WINDOW =>
            {
                self.locked = Some((serial, power_mw, now));
            }
            _ => {}
        }
    }
}

/// The beginning of a transmission at a receiver.
#[derive(Clone, Copy)]
struct Preamble {
    serial: u64,
    /// Power at the receiver [mW].
    power_mw: f64,
    /// Linear SINR from which a preamble is found.
    sinr: f64,
    /// Ratio to the power of the present signal from which the receiver switches to this one; None:
    /// it never does.
    capture: Option<f64>,
}

/// A channel with its devices.
#[derive(Debug)]
pub struct Medium {
    /// Channel number.
    pub channel: u16,
    /// Devices, by their number in the network.
    pub members: Vec<usize>,
    /// State of each receiver.
    pub receivers: Vec<Receiver>,
    /// When each member transmits; MAX: not in the present state.
    due: Vec<Instant>,
    /// The earliest of these, if it is computed.
    next_turn: Cell<Option<Instant>>,
    /// The member that transmits SIFS after the last end of a PPDU.
    follower: Option<usize>,
    /// The time of that end, while the idle periods that begin with it are put off.
    put_off: Option<Instant>,
    /// Members whose idle period does not end with the PPDU of the follower.
    stay_idle: Vec<usize>,
    /// Members with something to send whose idle period ends with the PPDU that begins.
    interrupted: Vec<usize>,
    /// Transmissions in progress, and those that overlapped with one.
    pub on_air: Vec<Transmission>,
    spare: Vec<Vec<f64>>,
    active: usize,
    next_serial: u64,
    /// Radio links.
    pub radios: Radios,
    /// Times of the PHY.
    pub timing: Timing,
    /// A preamble is found from this power on [mW].
    pub detection_mw: f64,
    /// Energy keeps the medium busy from this power on [mW].
    pub energy_mw: f64,
    sinr: f64,
    capture: Option<f64>,
    segments: Segments,
    overlaps: Vec<Overlap>,
}

/// A preamble is detected within this time.
const DETECTION: Duration = Duration::from_micros(4);
/// A stronger preamble is captured only within this time after the first has begun.
const CAPTURE_WINDOW: Duration = Duration::from_micros(16);

impl Medium {
    /// Creates an empty channel with the parameters of the access point `ap`, its first.
    pub fn new(ap: &ApConfig, air: &AirConfig, seed: u64) -> Medium {
        let wider = f64::from(ap.width.mhz()) / 20.0;
        let format = ap.standard.format();
        let mhz = if format == crate::phy::Format::Dsss { 22.0 } else { 20.0 * wider };
        Medium {
            channel: ap.channel,
            members: Vec::new(),
            receivers: Vec::new(),
            due: Vec::new(),
            next_turn: Cell::new(None),
            follower: None,
            put_off: None,
            stay_idle: Vec::new(),
            interrupted: Vec::new(),
            on_air: Vec::new(),
            spare: Vec::new(),
            active: 0,
            next_serial: 0,
            radios: Radios::new(air, ap.frequency(), mhz * 1e6, seed),
            timing: Timing::of(format),
            detection_mw: milliwatts(air.preamble_detection) * wider,
            energy_mw: milliwatts(air.energy_detection) * wider,
            sinr: linear(air.preamble_sinr),
            capture: air.capture.map(linear),
            segments: Segments::default(),
            overlaps: Vec::new(),
        }
    }

    /// Adds a device. Returns its number on the medium.
    pub fn join(&mut self, device: usize, radio: &super::config::DeviceRadioConfig, key: u64) -> usize {
        self.members.push(device);
        self.receivers.push(Receiver::new());
        self.due.push(Instant::MAX);
        self.next_turn.set(None);
        self.radios.add(radio, key);
        self.members.len() - 1
    }

    /// The earliest turn of all members.
    #[inline]
    pub fn next_turn(&self) -> Instant {
        self.next_turn.get().unwrap_or_else(|| {
            let next = self.due.iter().copied().min().unwrap_or(Instant::MAX);
            self.next_turn.set(Some(next));
            next
        })
    }
    /// The time of a member's turn.
    #[inline]
    pub fn turn(&self, member: usize) -> Instant {
        self.due[member]
    }
    /// Sets the turn of a member to `at`.
    #[inline]
    pub fn set_turn(&mut self, member: usize, at: Instant) {
        let before = std::mem::replace(&mut self.due[member], at);
        self.next_turn.set(turn_moved(self.next_turn.get(), before, at));
    }
    /// The first member from `member` on whose turn has come.
    pub fn whose_turn(&self, member: usize, now: Instant) -> Option<usize> {
        let next = self.due[member..].iter().position(|t| *t <= now)?;
        Some(member + next)
    }

    /// After the end of PPDUs: devices that sense the medium idle begin to count; `turn` computes
    /// the turn of a device from the state of its receiver.
    pub fn begin_to_count(&mut self, now: Instant, turn: impl Fn(usize, &Receiver) -> Instant) {
        let timing = self.timing;
        let mut next = self.next_turn.get();
        // One index for lists of one length: most members have no data, and the work for them is
        // small.
        let members = &self.members[..self.receivers.len()];
        let due = &mut self.due[..self.receivers.len()];
        for (r, receiver) in self.receivers.iter_mut().enumerate() {
            if !receiver.becomes_idle(now, self.energy_mw) || !receiver.begin_idle(now, &timing) {
                continue;
            }
            if receiver.contends != 0 {
                let at = turn(members[r], receiver);
                next = turn_moved(next, std::mem::replace(&mut due[r], at), at);
            } else {
                debug_assert_eq!(due[r], Instant::MAX, "the turn of a member without anything to send");
            }
        }
        self.next_turn.set(next);
    }

    /// A member transmits SIFS after the end of the present PPDU.
    pub const fn follow(&mut self, member: usize) {
        self.follower = Some(member);
    }

    /// After the end of PPDUs: puts off idle periods if a member transmits SIFS later, because most
    /// of them end then without a slot counted. Returns false if there is no such member.
    pub fn put_off(&mut self, now: Instant) -> bool {
        let follows = self.follower.is_some();
        self.put_off = follows.then_some(now);
        follows
    }

    /// Returns when the idle periods began that were put off, and ends that state.
    pub const fn take_put_off(&mut self) -> Option<Instant> {
        self.follower = None;
        self.put_off.take()
    }

    /// Begins the idle period of `member` if it was put off; those of others stay put off.
    pub fn catch_up_at(&mut self, member: usize, turn: impl FnOnce(Instant, &Receiver) -> Instant) {
        let (timing, energy_mw) = (self.timing, self.energy_mw);
        let receiver = &mut self.receivers[member];
        if let Some(since) = self.put_off.filter(|since| receiver.becomes_idle(*since, energy_mw))
            && receiver.begin_idle(since, &timing)
        {
            let at = turn(since, receiver);
            self.set_turn(member, at);
        }
    }

    /// As [`take_put_off`](Self::take_put_off), at the beginning of a PPDU of `member`; None if the
    /// idle periods were not put off until this one.
    pub fn take_put_off_until(&mut self, now: Instant, member: usize) -> Option<Instant> {
        let sifs = self.timing.sifs;
        let since = self.put_off.filter(|since| self.follower == Some(member) && *since + sifs == now)?;
        self.take_put_off();
        Some(since)
    }

    /// Begins the idle periods at `since` of the members for which the PPDU that has begun at the
    /// end of their SIFS does not end them.
    pub fn begin_to_count_rest(&mut self, since: Instant, turn: impl Fn(usize, &Receiver) -> Instant) {
        let timing = self.timing;
        while let Some(r) = self.stay_idle.pop() {
            if self.receivers[r].begin_idle(since, &timing) {
                let at = turn(self.members[r], &self.receivers[r]);
                self.set_turn(r, at);
            }
        }
    }

    /// Starts `ppdu` at all receivers. `busy` gets the devices whose idle period it ends. Returns
    /// its number.
    ///
    /// `put_off`: when, SIFS ago, idle periods began that were put off. One that this PPDU ends has
    /// no effect: its first turn would be a slot later at the earliest, after the member has sensed
    /// the PPDU, no slot has passed, and its base is set anew by the next one. Its only remaining
    /// effect is that EIFS applies to one period only. The members with other periods are listed
    /// for [`begin_to_count_rest`](Self::begin_to_count_rest).
    pub fn begin(
        &mut self,
        mut ppdu: Transmission,
        put_off: Option<Instant>,
        mut busy: impl FnMut(usize, &mut Receiver, &mut Instant),
    ) -> u64 {
        let (now, from, end) = (ppdu.start, ppdu.from, ppdu.end);
        self.radios.refresh(now);
        if self.on_air.len() > self.active {
            self.sweep();
        }
        self.active += 1;
        let serial = self.next_serial;
        self.next_serial += 1;
        let mut powers_mw = self.spare.pop().unwrap_or_default();
        self.radios.receive(now, from, &mut powers_mw);
        let sender = &mut self.receivers[from];
        sender.bad &= !put_off.is_some_and(|since| sender.becomes_idle(since, self.energy_mw));
        (sender.tx_until, sender.locked, sender.idle) = (end, None, false);
        self.begin_at_receivers(serial, [now, end], &powers_mw, put_off);
        let mut next_turn = self.next_turn.get();
        for r in self.interrupted.drain(..).chain([from]) {
            let before = self.due[r];
            busy(r, &mut self.receivers[r], &mut self.due[r]);
            next_turn = turn_moved(next_turn, before, self.due[r]);
        }
        self.next_turn.set(next_turn);
        (ppdu.serial, ppdu.powers_mw) = (serial, powers_mw);
        self.on_air.push(ppdu);
        serial
    }

    /// The signals of a PPDU begin at all members that do not transmit. Separate from its callers,
    /// as is [`end_at_receivers`](Self::end_at_receivers): most variables of these loops are then
    /// in registers.
    #[inline(never)]
    fn begin_at_receivers(
        &mut self,
        serial: u64,
        [now, end]: [Instant; 2],
        powers_mw: &[f64],
        put_off: Option<Instant>,
    ) {
        let (detection_mw, energy_mw, sinr, capture) =
            (self.detection_mw, self.energy_mw, self.sinr, self.capture);
        let n = self.receivers.len();
        let (powers_mw, noises_mw) = (&powers_mw[..n], &self.radios.noises_mw()[..n]);
        for (r, receiver) in self.receivers.iter_mut().enumerate() {
            let power_mw = powers_mw[r];
            if receiver.tx_until > now {
                receiver.power_mw += power_mw;
                continue;
            }
            let put_off = put_off.is_some_and(|since| receiver.becomes_idle(since, energy_mw));
            receiver.power_mw += power_mw;
            let detected = power_mw >= detection_mw;
            if detected {
                receiver.sensed_until = receiver.sensed_until.max(end);
                receiver.receive_preamble(now, Preamble { serial, power_mw, sinr, capture }, noises_mw[r]);
            }
            let sensed = detected || receiver.power_mw >= energy_mw;
            if put_off {
                if sensed {
                    receiver.bad = false;
                } else {
                    self.stay_idle.push(r);
                }
            } else if receiver.idle && sensed {
                receiver.idle = false;
                if receiver.contends != 0 {
                    self.interrupted.push(r);
                } else {
                    debug_assert_eq!(self.due[r], Instant::MAX, "the turn of one without anything to send");
                    receiver.counting = false;
                }
            }
        }
    }

    /// The PPDU at place `i` ends at all members. Those that have received it without interference
    /// and with an SINR at which nothing is lost have decoded it, and set their NAV by it;
    /// `unsure` gets the others that have received it, and the addressee.
    #[inline(never)]
    pub fn end_at_receivers(
        &mut self,
        now: Instant,
        i: usize,
        check: Option<Duration>,
        unsure: &mut Vec<usize>,
    ) {
        let t = &self.on_air[i];
        // With interference the SINR is to be computed.
        let sure = if self.is_alone(i) { t.mode.sure() } else { f64::INFINITY };
        let (serial, to, start, nav) = (t.serial, t.to.unwrap_or(usize::MAX), t.start, t.nav);
        let detection_mw = self.detection_mw;
        let n = self.receivers.len();
        let (powers_mw, noises_mw) = (&t.powers_mw[..n], &self.radios.noises_mw()[..n]);
        // The transmitter has received nothing, with a power of zero.
        for (r, receiver) in self.receivers.iter_mut().enumerate() {
            let power_mw = powers_mw[r];
            let Some((_, _, since)) = receiver.locked.filter(|(other, ..)| *other == serial) else {
                // Its preamble kept the medium busy, and the PPDU could not be decoded. (The PHY
                // indicates no start of a PPDU that begins while it receives another one.)
                let (from, until) = receiver.received;
                let while_receiving = from + DETECTION <= start && start < until;
                if power_mw >= detection_mw
                    && receiver.tx_until <= start
                    && !receiver.idle
                    && !while_receiving
                {
                    receiver.bad = true;
                }
                continue;
            };
            (receiver.locked, receiver.received) = (None, (since, now));
            if r == to || power_mw / noises_mw[r] < sure {
                unsure.push(r);
                continue;
            }
            receiver.bad = false;
            receiver.reserve(now, nav, check);
        }
    }

    /// Ends the signal: received powers decrease. The transmission is kept for those with which it
    /// overlapped.
    pub fn end(&mut self, serial: u64) -> usize {
        let i = self.on_air.iter().position(|t| t.serial == serial);
        let i = i.unwrap_or_else(|| unreachable!("what ends is on the air"));
        self.on_air[i].over = true;
        self.active -= 1;
        if self.active == 0 {
            // Sums of floats do not return to exactly zero.
            self.receivers.iter_mut().for_each(|receiver| receiver.power_mw = 0.0);
            return i;
        }
        for (receiver, power_mw) in self.receivers.iter_mut().zip(&self.on_air[i].powers_mw) {
            receiver.power_mw = (receiver.power_mw - power_mw).max(0.0);
        }
        i
    }

    /// Removes ended transmissions that overlap with no present one: those that ended before the
    /// earliest present one began. (On a channel with networks out of each other's range a
    /// transmission may be present at all times.)
    fn sweep(&mut self) {
        let active = self.on_air.iter().filter(|t| !t.over).map(|t| t.start);
        let earliest = active.min().unwrap_or(Instant::MAX);
        let spare = &mut self.spare;
        // In order, as powers are summed up in order.
        self.on_air.retain_mut(|t| {
            let stays = !t.over || t.end > earliest;
            if !stays {
                spare.push(std::mem::take(&mut t.powers_mw));
            }
            stays
        });
    }

    /// True if no other transmission overlapped with that at place `i`.
    fn is_alone(&self, i: usize) -> bool {
        let t = &self.on_air[i];
        self.on_air.iter().all(|o| o.serial == t.serial || o.start >= t.end || o.end <= t.start)
    }

    /// Time after the RTS at place `i` within which a PPDU must be received for its reservation to
    /// hold (clause 10.3.2.4).
    pub fn nav_check(&self, i: usize, compat: Compat) -> Duration {
        let cts = self.on_air[i].mode.duration(Bytes(CTS), compat);
        self.timing.sifs * 2 + cts + self.timing.rx_start + self.timing.slot * 2
    }

    /// Computes the SINR of the transmission at place `i` at receiver `r`: Some without
    /// interference, when it is constant; None otherwise, then [`segments`](Self::segments) has it.
    pub fn judge(&mut self, i: usize, r: usize) -> Option<f64> {
        let t = &self.on_air[i];
        let noise_mw = self.radios.noise_mw(r);
        self.overlaps.clear();
        for o in &self.on_air {
            if o.serial != t.serial && o.start < t.end && o.end > t.start && o.powers_mw[r] > 0.0 {
                self.overlaps.push(Overlap { start: o.start, end: o.end, power_mw: o.powers_mw[r] });
            }
        }
        if self.overlaps.is_empty() {
            return Some(t.powers_mw[r] / noise_mw);
        }
        self.segments.set(t.start, t.end, t.powers_mw[r], noise_mw, &self.overlaps);
        None
    }

    /// The pieces that [`judge`](Self::judge) computed.
    pub const fn segments(&self) -> &Segments {
        &self.segments
    }
}

/// The earliest turn after one has moved from `before` to `at`; None: it must be searched among
/// all.
#[inline]
fn turn_moved(next: Option<Instant>, before: Instant, at: Instant) -> Option<Instant> {
    match next {
        Some(next) if at <= next => Some(at),
        Some(next) if before > next => Some(next),
        _ => None,
    }
}
