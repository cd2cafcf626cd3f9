//! The radio links between the devices of a medium: received power for every pair.

use lasthop_engine::{Draw, Purpose, math};
use lasthop_radio::{
    Ends, Fading, FadingProfile, FadingShape, Mobility, Motion, Position, SPEED_OF_LIGHT, linear, milliwatts,
    thermal_noise,
};
use lasthop_units::{Db, Hertz, Instant};

use super::config::{AirConfig, ApConfig, DeviceRadioConfig};

/// Subcarrier groups of 180 kHz over which fading is averaged: 17.6 of 20 MHz carry data.
const GROUPS: usize = 98;
/// Fading is computed again after this part of a wavelength.
const GRAIN: f64 = 64.0;

/// The radio of a device.
#[derive(Clone, Debug)]
struct Device {
    motion: Motion,
    mobility: Mobility,
    /// Its initial position, or the one that was set.
    start: Position,
    /// Its position when gains were last computed.
    position: Position,
    /// Transmit power [mW].
    power_mw: f64,
    key: u64,
}

/// The fading of one pair, with the last result.
#[derive(Debug)]
struct Pair {
    link: Fading,
    grain: u64,
    gain: f64,
}

/// All pairs of devices of a medium.
#[derive(Debug)]
pub struct Radios {
    config: AirConfig,
    carrier: Hertz,
    bandwidth_hz: f64,
    seed: u64,
    devices: Vec<Device>,
    /// Noise of each device [mW].
    noises_mw: Vec<f64>,
    /// `[from * n + to]`: gain by path loss and shadowing, linear; empty before the first refresh.
    gains: Vec<f64>,
    /// When the gains are computed again; MAX if no device moves.
    refresh_at: Instant,
    shape: Option<FadingShape>,
    pairs: Vec<Option<Box<Pair>>>,
    row: Vec<f32>,
}

impl Radios {
    /// Creates the links on a carrier with a bandwidth [Hz].
    pub fn new(config: &AirConfig, carrier: Hertz, bandwidth_hz: f64, seed: u64) -> Radios {
        let shape = match config.fading {
            FadingProfile::None => None,
            FadingProfile::Flat => Some(FadingShape::new(FadingProfile::Flat, 1)),
            profile => Some(FadingShape::new(profile, GROUPS)),
        };
        Radios {
            config: *config,
            carrier,
            bandwidth_hz,
            seed,
            devices: Vec::new(),
            noises_mw: Vec::new(),
            gains: Vec::new(),
            refresh_at: Instant::ZERO,
            shape,
            pairs: Vec::new(),
            row: vec![0.0; GROUPS],
        }
    }

    /// Adds a device; `key` identifies it in draws.
    pub fn add(&mut self, radio: &DeviceRadioConfig, key: u64) {
        let noise = thermal_noise(Hertz(self.bandwidth_hz), radio.noise_figure);
        let start = radio.position.map(|m| m.0);
        self.devices.push(Device {
            motion: Motion::new(radio.mobility, start, self.seed, WIRELESS | key),
            mobility: radio.mobility,
            start,
            position: start,
            power_mw: milliwatts(radio.power),
            key,
        });
        self.noises_mw.push(milliwatts(noise));
        self.gains.clear();
        self.pairs.clear();
        self.refresh_at = Instant::ZERO;
    }

    /// Sets transmit power and noise figure of a device, and the position of one that does not
    /// move.
    pub fn retune(&mut self, device: usize, radio: &DeviceRadioConfig) {
        self.noises_mw[device] = milliwatts(thermal_noise(Hertz(self.bandwidth_hz), radio.noise_figure));
        let device = &mut self.devices[device];
        device.power_mw = milliwatts(radio.power);
        let position = radio.position.map(|m| m.0);
        if !device.motion.moves() && position != device.start {
            device.start = position;
            device.motion = Motion::new(Mobility::Static, position, self.seed, WIRELESS | device.key);
            // Gains of devices that do not move are computed once: all are computed again.
            self.refresh_at = Instant::ZERO;
        }
    }

    /// Noise of a device [mW].
    #[inline]
    pub fn noise_mw(&self, device: usize) -> f64 {
        self.noises_mw[device]
    }

    /// Noise of each device [mW].
    #[inline]
    pub fn noises_mw(&self) -> &[f64] {
        &self.noises_mw
    }

    /// Updates the large-scale gains.
    #[inline]
    pub fn refresh(&mut self, now: Instant) {
        if now >= self.refresh_at {
            self.work_out(now);
        }
    }

    /// Computes the power [mW] of `from` at every device, 0 at itself. Call
    /// [`refresh`](Self::refresh) first.
    pub fn receive(&mut self, now: Instant, from: usize, powers_mw: &mut Vec<f64>) {
        let n = self.devices.len();
        let power_mw = self.devices[from].power_mw;
        powers_mw.clear();
        powers_mw.extend(self.gains[from * n..][..n].iter().map(|gain| power_mw * gain));
        powers_mw[from] = 0.0;
        if self.shape.is_some() {
            for to in (0..n).filter(|to| *to != from) {
                powers_mw[to] *= self.faded(now, from, to, powers_mw[to] / self.noises_mw[to]);
            }
        }
    }

    /// Power [mW] of `from` at `to`. Call [`refresh`](Self::refresh) first.
    fn received_mw(&mut self, now: Instant, from: usize, to: usize) -> f64 {
        let power_mw = self.devices[from].power_mw * self.gains[from * self.devices.len() + to];
        if self.shape.is_none() {
            return power_mw;
        }
        power_mw * self.faded(now, from, to, power_mw / self.noises_mw[to])
    }

    /// Linear SNR of a transmission from `from` to `to`.
    pub fn snr(&mut self, now: Instant, from: usize, to: usize) -> f64 {
        self.refresh(now);
        self.received_mw(now, from, to) / self.noises_mw[to]
    }

    /// The SNR without fading as last computed, for probes.
    pub fn mean_snr(&self, from: usize, to: usize) -> f64 {
        let gain = self.gains.get(from * self.devices.len() + to).copied().unwrap_or(0.0);
        self.devices[from].power_mw * gain / self.noises_mw[to]
    }

    fn work_out(&mut self, now: Instant) {
        let n = self.devices.len();
        let first = self.refresh_at == Instant::ZERO;
        self.gains.resize(n * n, 0.0);
        if self.shape.is_some() {
            self.pairs.resize_with(n * n, || None);
        }
        let moves = |d: &Device| d.motion.moves();
        let t = now.as_secs_f64();
        for device in &mut self.devices {
            device.position = device.motion.position(t);
        }
        for a in 0..n {
            for b in a + 1..n {
                if !first && !moves(&self.devices[a]) && !moves(&self.devices[b]) {
                    continue;
                }
                let gain = self.large_scale(a, b);
                self.gains[a * n + b] = gain;
                self.gains[b * n + a] = gain;
            }
        }
        let moving = self.devices.iter().any(moves);
        self.refresh_at = if moving { now.saturating_add(self.config.refresh) } else { Instant::MAX };
    }

    /// Path loss and shadowing between two devices at their positions, linear.
    fn large_scale(&self, a: usize, b: usize) -> f64 {
        let (da, db) = (&self.devices[a], &self.devices[b]);
        let (pa, pb) = (da.position, db.position);
        let (dx, dy) = (pa[0] - pb[0], pa[1] - pb[1]);
        let ends = Ends::new(math::sqrt(dx * dx + dy * dy), pa[2].max(pb[2]), pa[2].min(pb[2]));
        let key = pair_key(da.key, db.key);
        let model = &self.config.path_loss;
        let sight = Draw::new(self.seed, Purpose::LineOfSight, key)
            .happens(0, model.line_of_sight_probability(&ends));
        let mut loss = model.loss(self.carrier, &ends, sight);
        if let Some(deviation) = self.config.shadowing {
            let draw = Draw::new(self.seed, Purpose::Shadowing, key);
            loss = loss + Db(deviation.0 * draw.stream(0).normal());
        }
        linear(-loss).min(1.0)
    }

    /// Fading of a pair: the gain of a flat channel with the same capacity at this SNR.
    fn faded(&mut self, now: Instant, from: usize, to: usize, snr: f64) -> f64 {
        let (a, b) = (from.min(to), from.max(to));
        let Some(shape) = &self.shape else { return 1.0 };
        let (da, db) = (&self.devices[a], &self.devices[b]);
        let t = now.as_secs_f64();
        let cycles = (da.mobility.travelled(t) + db.mobility.travelled(t)) * self.carrier.0 / SPEED_OF_LIGHT;
        let grain = (cycles * GRAIN) as u64;
        let place = &mut self.pairs[a * self.devices.len() + b];
        let pair = match place {
            Some(pair) => pair,
            None => {
                let Some(link) = shape.link(self.seed, pair_key(da.key, db.key)) else { return 1.0 };
                place.insert(Box::new(Pair { link, grain: u64::MAX, gain: 1.0 }))
            }
        };
        if pair.grain != grain {
            pair.grain = grain;
            let groups = if self.config.fading == FadingProfile::Flat { 1 } else { GROUPS };
            pair.link.gains(grain as f64 / GRAIN, &mut self.row);
            let bits: f64 = self.row[..groups].iter().map(|g| math::log2(1.0 + snr * f64::from(*g))).sum();
            pair.gain = (math::pow(2.0, bits / groups as f64) - 1.0) / snr;
        }
        pair.gain
    }
}

impl AirConfig {
    /// The power [dBm] of the weaker direction between an access point and a station that does not
    /// move, if its preambles cannot be detected whatever is drawn. Line of sight is assumed, and
    /// shadowing and fading add the gain that one link in a thousand has.
    pub fn falls_short(&self, ap: &ApConfig, station: &DeviceRadioConfig) -> Option<f64> {
        if ap.radio.mobility != Mobility::Static || station.mobility != Mobility::Static {
            return None;
        }
        let (a, b) = (ap.radio.position.map(|m| m.0), station.position.map(|m| m.0));
        let (dx, dy) = (a[0] - b[0], a[1] - b[1]);
        let ends = Ends::new(math::sqrt(dx * dx + dy * dy), a[2].max(b[2]), a[2].min(b[2]));
        let loss_db = self.path_loss.loss(ap.frequency(), &ends, true).0.max(0.0);
        let margin_db = 3.1 * self.shadowing.map_or(0.0, |s| s.0)
            + if self.fading == FadingProfile::None { 0.0 } else { 8.4 };
        let arrives_dbm = ap.radio.power.0.min(station.power.0) - loss_db;
        // 3 dB for each doubling of the width.
        let needed_dbm = self.preamble_detection.0 + 10.0 * math::log10(f64::from(ap.width.mhz()) / 20.0);
        (arrives_dbm + margin_db < needed_dbm).then_some(arrives_dbm)
    }
}

/// Separates the random draws of these devices' mobility from those of a cellular network.
const WIRELESS: u64 = 1 << 32;

/// One number for two devices, whatever their order.
fn pair_key(a: u64, b: u64) -> u64 {
    a.min(b) << 32 | a.max(b)
}
