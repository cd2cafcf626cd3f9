//! The end of a PPDU: who could read it, and what follows from that.

use lasthop_units::{Bytes, Duration, Instant, StationId};

use super::exchange::Answer;
use super::medium::{Frame, Medium};
use super::{DropCause, End, Event, Wlan, WlanOutput};
use crate::mac::{ACK, Agreement, BLOCK_ACK, CTS, Category, Chain};
use crate::phy::{Format, Mode};

/// Bits of the signalling before the data: L-SIG, and HT-SIG or VHT-SIG-A; the header of DSSS.
const fn signal_bits(format: Format) -> f64 {
    match format {
        Format::Dsss => 48.0,
        Format::Ofdm => 24.0,
        Format::Ht | Format::Vht => 72.0,
    }
}

impl Wlan {
    /// A PPDU leaves the air.
    pub(super) fn transmission_ends(&mut self, now: Instant, m: usize, serial: u64, out: &mut WlanOutput) {
        let i = self.media[m].end(serial);
        let medium = &self.media[m];
        let (t, alone) = (&medium.on_air[i], medium.is_alone(i));
        let (from, to, start, nav, sure) = (t.from, t.to, t.start, t.nav, t.mode.sure());
        let check = (t.frame == Frame::Rts).then(|| self.nav_check(m, i));
        let mut received = false;
        for r in 0..self.media[m].members.len() {
            if r == from {
                continue;
            }
            let medium = &mut self.media[m];
            let (power, ear) = (medium.on_air[i].powers[r], &mut medium.ears[r]);
            if ear.locked.is_none_or(|(other, ..)| other != serial) {
                // Its preamble kept the medium busy, and it could not be read.
                if power >= medium.detection && ear.tx_until <= start && !ear.idle {
                    ear.bad = true;
                }
                continue;
            }
            ear.locked = None;
            if to == Some(r) {
                received = self.read(now, m, i, r);
                self.media[m].ears[r].bad = !received;
            } else {
                let clear = alone && power / medium.radios.noise(r) >= sure;
                let ok = clear || self.overhear(m, i, r);
                let ear = &mut self.media[m].ears[r];
                ear.bad = !ok;
                if ok {
                    reserve(ear, now, nav, check);
                }
            }
        }
        self.after(now, m, i, received, out);
    }

    /// How long after an RTS something must be heard for its reservation to hold (clause 10.3.2.4).
    fn nav_check(&self, m: usize, i: usize) -> Duration {
        let timing = &self.media[m].timing;
        let cts = self.media[m].on_air[i].mode.duration(Bytes(CTS), self.air.compat);
        timing.sifs * 2 + cts + timing.rx_start + timing.slot * 2
    }

    /// The PPDU has left the air and `received` says whether the one it was for could read any of
    /// it.
    fn after(&mut self, now: Instant, m: usize, i: usize, received: bool, out: &mut WlanOutput) {
        let t = &self.media[m].on_air[i];
        let (frame, mode, nav, station) = (t.frame, t.mode, t.nav, t.station);
        let sender = self.media[m].members[t.from];
        let Some(to) = t.to.map(|to| (to, self.media[m].members[to])) else {
            // For all: nobody answers.
            return self.end_turn(now, sender);
        };
        if received && matches!(frame, Frame::Cts | Frame::Ack | Frame::BlockAck) {
            self.devices[to.1].burst.airtime += t.end.since(t.start);
        }
        match frame {
            Frame::Cts if received => return self.cleared(now, to.1),
            Frame::Ack | Frame::BlockAck if received => return self.acknowledged(now, to.1, out),
            Frame::Cts | Frame::Ack | Frame::BlockAck => return self.unanswered(now, to.1, out),
            _ => {}
        }
        if !received {
            let timeout = self.media[m].timing.ack_timeout();
            return self.schedule(now + timeout, Event::Timeout { device: sender });
        }
        let sifs = self.media[m].timing.sifs;
        let ap = &self.aps[self.devices[sender].ap];
        let answer = match frame {
            Frame::Rts => {
                // Clause 10.3.2.7: only if its NAV says that the medium is idle.
                if self.media[m].ears[to.0].nav > now {
                    let timeout = self.media[m].timing.ack_timeout();
                    return self.schedule(now + timeout, Event::Timeout { device: sender });
                }
                let length = mode.duration(Bytes(CTS), self.air.compat);
                Answer {
                    frame: Frame::Cts,
                    to: sender,
                    mode,
                    bytes: CTS,
                    nav: nav.saturating_sub(sifs + length),
                }
            }
            Frame::Data | Frame::Request => {
                let block = frame == Frame::Request || self.devices[sender].burst.ampdu;
                let (frame, bytes) = if block { (Frame::BlockAck, BLOCK_ACK) } else { (Frame::Ack, ACK) };
                Answer { frame, to: sender, mode: ap.answer(&mode), bytes, nav: Duration::ZERO }
            }
            _ => Answer {
                frame: Frame::Ack,
                to: sender,
                mode: ap.answer(&mode),
                bytes: ACK,
                nav: Duration::ZERO,
            },
        };
        self.devices[to.1].answer = Some(answer);
        self.schedule(now + sifs, Event::Answer { device: to.1 });
        match (frame, station) {
            (Frame::Data, Some(station)) => self.take_data(now, sender, station, out),
            (Frame::Request, Some(station)) => {
                let category = Category::ALL[self.devices[sender].burst.contender];
                self.take_request(now, station, self.devices[sender].end(), category, out);
            }
            (Frame::Management(_), _) => {
                let Some(front) = self.devices[sender].management.front_mut() else { return };
                let copy = *front;
                if !std::mem::replace(&mut front.arrived, true) {
                    self.managed(now, copy, out);
                }
            }
            _ => {}
        }
    }

    /// Whether somebody whom a PPDU is not for can read (the first MPDU of) it.
    fn overhear(&mut self, m: usize, i: usize, r: usize) -> bool {
        let medium = &mut self.media[m];
        let clear = medium.judge(i, r);
        let t = &medium.on_air[i];
        if clear.is_some_and(|sinr| sinr >= t.mode.sure()) {
            return true;
        }
        let p = signal(medium, i, clear) * part(medium, i, clear, 0.0, 1.0, f64::from(t.first_bits));
        let draw = medium.on_air[i].serial << 8 | 0xff;
        self.happens(m, r, draw, p)
    }

    /// Whether the one it is for can read any of it; of an A-MPDU which MPDUs is noted in the
    /// sender's burst.
    fn read(&mut self, _now: Instant, m: usize, i: usize, r: usize) -> bool {
        let medium = &mut self.media[m];
        let clear = medium.judge(i, r);
        let (serial, mode, frame) = {
            let t = &medium.on_air[i];
            (t.serial, t.mode, t.frame)
        };
        let sender = medium.members[medium.on_air[i].from];
        let sure = clear.is_some_and(|sinr| sinr >= mode.sure());
        if frame != Frame::Data {
            let bits = f64::from(medium.on_air[i].first_bits);
            let p =
                if sure { 1.0 } else { signal(medium, i, clear) * part(medium, i, clear, 0.0, 1.0, bits) };
            return sure || self.happens(m, r, serial << 8, p);
        }
        let count = self.devices[sender].burst.sns.len();
        if sure {
            self.devices[sender].burst.heard.resize(count, true);
            return true;
        }
        let head = signal(medium, i, clear);
        if !self.happens(m, r, serial << 8 | 0xff, head) {
            self.devices[sender].burst.heard.resize(count, false);
            return false;
        }
        self.read_mpdus(m, i, r, sender, clear)
    }

    /// One draw for each MPDU.
    fn read_mpdus(&mut self, m: usize, i: usize, r: usize, sender: usize, clear: Option<f64>) -> bool {
        let device = &self.devices[sender];
        let Some(station) = device.burst.station else { return false };
        let (end, category) = (device.end(), device.burst.contender);
        let whole = device.burst.psdu.0 as f64;
        let mut heard = std::mem::take(&mut self.devices[sender].burst.heard);
        let sns = std::mem::take(&mut self.devices[sender].burst.sns);
        let (mut at, mut any) = (0u64, false);
        let serial = self.media[m].on_air[i].serial;
        let mode = self.media[m].on_air[i].mode;
        for (n, sn) in sns.iter().enumerate() {
            let lane = self.links[station].lanes[end.index()][category].as_ref();
            let bytes = lane.and_then(|l| l.originator.get(*sn)).map_or(0, |m| m.bytes);
            let ap = &self.aps[self.links[station].ap];
            let length =
                if sns.len() > 1 { u64::from(ap.aggregation.subframe(bytes, &mode)) } else { whole as u64 };
            let (a, b) = (at as f64 / whole, ((at + length) as f64 / whole).min(1.0));
            at += length;
            let p = part(&self.media[m], i, clear, a, b, 8.0 * f64::from(bytes));
            let ok = self.happens(m, r, serial << 8 | n as u64, p);
            heard.push(ok);
            any |= ok;
        }
        let burst = &mut self.devices[sender].burst;
        (burst.heard, burst.sns) = (heard, sns);
        any
    }

    fn happens(&self, m: usize, r: usize, index: u64, p: f64) -> bool {
        if p >= 1.0 || p <= 0.0 {
            return p >= 1.0;
        }
        // The device's number is part of the index: one frame has as many fates as listeners.
        let device = self.media[m].members[r] as u64;
        self.errors.happens(index << 16 ^ device, p)
    }

    /// The recipient takes in the MPDUs that it has read.
    fn take_data(&mut self, now: Instant, sender: usize, station: StationId, out: &mut WlanOutput) {
        let end = self.devices[sender].end();
        let category = Category::ALL[self.devices[sender].burst.contender];
        let burst = &self.devices[sender].burst;
        let link = &mut self.links[station];
        let Some(lane) = &mut link.lanes[end.index()][category.index()] else { return };
        let pool = &mut self.pool;
        let (mut bytes, mut left) = (0, 0);
        let agreed = lane.originator.agreement == Agreement::Agreed;
        for (sn, _) in burst.sns.iter().zip(&burst.heard).filter(|(_, heard)| **heard) {
            // A repetition of what it has got already is recognised by its number (clause
            // 10.3.2.11, 10.24.7.6).
            let chain = lane.originator.get_mut(*sn).and_then(|m| m.chain.take());
            let Some(chain) = chain else { continue };
            let mut up = |chain: Chain| {
                pool.take(chain, |item| {
                    left += 1;
                    bytes += u64::from(item.size);
                    out.delivered.push((station, end.peer(), item));
                });
            };
            if !agreed {
                up(chain);
            } else if !lane.reorder.receive(now, *sn, chain, &mut up) {
                pool.take(chain, |item| {
                    left += 1;
                    out.dropped.push((station, end, now, item, DropCause::Late));
                });
            }
        }
        lane.inside -= left;
        link.stats[end.index()].bytes += bytes;
        self.watch_reorder(station, end, category);
    }

    /// A block ack request: the recipient stops waiting for what is before the window.
    fn take_request(
        &mut self,
        _now: Instant,
        station: StationId,
        end: End,
        category: Category,
        out: &mut WlanOutput,
    ) {
        self.release(station, end, category, out, |lane, up| {
            let start = lane.originator.start();
            lane.reorder.request(start, up);
        });
    }

    /// A reorder buffer may have waited for long enough.
    pub(super) fn reorder_timer(
        &mut self,
        now: Instant,
        station: StationId,
        end: End,
        category: Category,
        out: &mut WlanOutput,
    ) {
        self.lane(station, end, category).wake = None;
        self.release(station, end, category, out, |lane, up| lane.reorder.on_time(now, up));
        self.watch_reorder(station, end, category);
    }

    fn release(
        &mut self,
        station: StationId,
        end: End,
        category: Category,
        out: &mut WlanOutput,
        ask: impl FnOnce(&mut super::lane::Lane, &mut dyn FnMut(Chain)),
    ) {
        let link = &mut self.links[station];
        let Some(lane) = &mut link.lanes[end.index()][category.index()] else { return };
        let pool = &mut self.pool;
        let (mut count, mut bytes) = (0, 0);
        ask(lane, &mut |chain| {
            pool.take(chain, |item| {
                count += 1;
                bytes += u64::from(item.size);
                out.delivered.push((station, end.peer(), item));
            });
        });
        lane.inside -= count;
        link.stats[end.index()].bytes += bytes;
    }

    fn watch_reorder(&mut self, station: StationId, end: End, category: Category) {
        let lane = self.lane(station, end, category);
        if lane.reorder.held() > 0 && lane.wake.is_none() {
            let Some(at) = lane.reorder.poll_at() else { return };
            lane.wake = Some(at);
            self.schedule(at, Event::Reorder { station, end, category });
        }
    }
}

/// A bystander keeps off the medium for `nav`.
fn reserve(ear: &mut super::medium::Ear, now: Instant, nav: Duration, check: Option<Duration>) {
    let until = now.saturating_add(nav);
    match check {
        Some(check) if now.saturating_add(check) < until && ear.nav < until => {
            ear.nav_full = until;
            ear.nav = ear.nav.max(now.saturating_add(check));
        }
        _ => {
            ear.nav = ear.nav.max(until);
            ear.nav_full = Instant::ZERO;
        }
    }
}

/// Probability that the signalling before the data survives, at the most robust rate.
fn signal(medium: &Medium, i: usize, clear: Option<f64>) -> f64 {
    let t = &medium.on_air[i];
    let bits = signal_bits(t.mode.format());
    let mode = if t.mode.format() == Format::Dsss { Mode::dsss(10) } else { Mode::ofdm(6) };
    let Ok(mode) = mode else { return 1.0 };
    match clear {
        Some(sinr) => mode.success(sinr, bits),
        None => medium.segments().success(&mode, t.start, t.start + t.preamble, bits),
    }
}

/// Probability that `bits` survive that go from share `a` to share `b` of the data.
fn part(medium: &Medium, i: usize, clear: Option<f64>, a: f64, b: f64, bits: f64) -> f64 {
    let t = &medium.on_air[i];
    if let Some(sinr) = clear {
        return t.mode.success(sinr, bits);
    }
    let first = t.start + t.preamble;
    let length = t.end.since(first).0 as f64;
    let at = |share: f64| Instant(first.0 + (length * share) as u64);
    medium.segments().success(&t.mode, at(a), at(b).max(at(a)), bits)
}
