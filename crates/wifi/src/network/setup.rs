//! Construction of a [`Wlan`], and changes while it runs.

use std::collections::VecDeque;

use lasthop_engine::{Draw, Purpose};
use lasthop_units::{ApId, Id, IndexVec, Instant, StationId};

use super::agenda::{Agenda, Event};
use super::ap::AccessPoint;
use super::config::{ApConfig, DeviceRadioConfig, InitialState, StationConfig, WlanConfig};
use super::exchange::Burst;
use super::medium::Medium;
use super::output::End;
use super::record::Recorders;
use super::tx_queue::Lost;
use super::{CONTENDERS, Device, Link, Pending, Wlan};
use crate::mac::{Access, Category, Contender, Counting, Pool};
use crate::rate::{RateConfig, RateControl};

impl Wlan {
    /// Creates the networks of `config`, which must be valid, with the draws of the run `seed`.
    pub fn new(config: &WlanConfig, seed: u64) -> Wlan {
        let mut wlan = Wlan {
            aps: config.aps.iter().cloned().map(AccessPoint::new).collect(),
            ap_devices: IndexVec::new(),
            links: IndexVec::new(),
            stations: config.stations.clone(),
            devices: Vec::new(),
            media: Vec::new(),
            agenda: Agenda::default(),
            air: config.radio,
            seed,
            pool: Pool::default(),
            errors: Draw::new(seed, Purpose::FrameError, 0),
            lost: Lost::default(),
            settle: VecDeque::new(),
            internal: Vec::new(),
            unsure: Vec::new(),
            recorders: Recorders::default(),
        };
        for (id, ap) in config.aps.enumerate() {
            let device = wlan.add_device(id, ap, None, &ap.radio);
            wlan.ap_devices.push(device);
            if !ap.beacon.interval.is_zero() {
                // Each access point begins at a drawn moment within an interval.
                let draw = Draw::new(seed, Purpose::BackOff, 0xbeac << 32 | id.index() as u64);
                let first = (ap.beacon.interval.0 as f64 * draw.uniform(0)) as u64;
                wlan.agenda.schedule(Instant(first), Event::Beacon { ap: id });
            }
        }
        for (id, station) in config.stations.enumerate() {
            wlan.add_station(id, station);
        }
        for id in wlan.links.ids() {
            let ap = wlan.links[id].ap;
            match wlan.aps[ap].config.start {
                InitialState::Attach => wlan.agenda.schedule(Instant::ZERO, Event::Associate(id)),
                InitialState::Associated => wlan.links[id].associated = true,
            }
        }
        wlan
    }

    fn add_device(
        &mut self,
        id: ApId,
        ap: &ApConfig,
        station: Option<StationId>,
        radio: &DeviceRadioConfig,
    ) -> usize {
        let medium = self.media.iter().position(|m| m.channel == ap.channel).unwrap_or_else(|| {
            self.media.push(Medium::new(ap, &self.air, self.seed));
            self.media.len() - 1
        });
        let key = station.map_or(id.index() as u64, |s| 1 << 20 | s.index() as u64);
        let device = self.devices.len();
        let member = self.media[medium].join(device, radio, key);
        let mut contenders = [Contender::new(Access::BEACON); CONTENDERS];
        for category in Category::ALL {
            contenders[category.index()] = Contender::new(ap.access(category));
        }
        self.devices.push(Device {
            medium,
            member,
            ap: id,
            station,
            contenders,
            counting: if ap.standard.qos() { Counting::Edca } else { Counting::Dcf },
            ring: Default::default(),
            queued: [0; 4],
            management: VecDeque::new(),
            burst: Burst::new(ap.lowest()),
            pending: Pending::Nothing,
            answer: None,
            txop_end: Instant::ZERO,
            draw: Draw::new(self.seed, Purpose::BackOff, key),
            drawn: 0,
            turn_ended: Instant::ZERO,
        });
        device
    }

    fn add_station(&mut self, id: StationId, config: &StationConfig) {
        let device = self.add_device(config.ap, &self.aps[config.ap].config.clone(), Some(id), &config.radio);
        self.links.push(Link {
            ap: config.ap,
            devices: [self.ap_devices[config.ap], device],
            associated: false,
            tx_queues: Default::default(),
            control: self.controls(id),
            stats: Default::default(),
        });
    }

    /// The rate control of a station's link.
    fn rate_config(&self, id: StationId) -> RateConfig {
        let config = &self.stations[id];
        config.rate.unwrap_or(self.aps[config.ap].config.rate)
    }

    /// Rate control of both ends of a station's link, at its beginning.
    fn controls(&self, id: StationId) -> [RateControl; 2] {
        let ap = &self.aps[self.stations[id].ap].config;
        let (rate, modes) = (self.rate_config(id), ap.modes());
        let fixed = match rate {
            RateConfig::Fixed { mcs, streams } => ap.mode(mcs, streams).ok(),
            _ => None,
        };
        [End::Ap, End::Station].map(|end| {
            let key = (id.index() as u64) << 1 | end.index() as u64;
            RateControl::new(&rate, fixed, &modes, Draw::new(self.seed, Purpose::RateSampling, key))
        })
    }

    /// Makes an access point use `config`, which must be valid, from the next assembled PPDU on.
    /// Packets in the queues stay there, also beyond a smaller limit. Standard, channel, width,
    /// guard interval, streams, the kind of queue, beacons and `start` keep their initial values.
    /// Rate control of its stations restarts where it differs.
    pub fn reconfigure_ap(&mut self, id: ApId, config: &ApConfig) {
        let ap = &self.aps[id].config;
        let new = ApConfig {
            node: ap.node.clone(),
            standard: ap.standard,
            channel: ap.channel,
            width: ap.width,
            guard_interval: ap.guard_interval,
            streams: ap.streams,
            reorder_timeout: ap.reorder_timeout,
            buffer: config.buffer.within(&ap.buffer),
            beacon: ap.beacon,
            start: ap.start,
            ..config.clone()
        };
        let stations: Vec<StationId> = self.links.ids().filter(|s| self.links[*s].ap == id).collect();
        let rates: Vec<RateConfig> = stations.iter().map(|s| self.rate_config(*s)).collect();
        let devices = stations.iter().map(|s| self.links[*s].devices[End::Station.index()]);
        for d in devices.chain([self.ap_devices[id]]) {
            for category in Category::ALL {
                self.devices[d].contenders[category.index()].set_access(new.access(category));
            }
        }
        self.retune(self.ap_devices[id], &new.radio);
        self.aps[id] = AccessPoint::new(new);
        for (station, before) in stations.into_iter().zip(rates) {
            self.set_limits(station, End::Ap);
            if self.rate_config(station) != before {
                self.links[station].control = self.controls(station);
            }
        }
    }

    /// Makes a station use `config`, which must be valid, from the next assembled PPDU on. Its
    /// access point and its mobility keep their initial values. Rate control of both directions
    /// restarts where it differs.
    pub fn reconfigure_station(&mut self, id: StationId, config: &StationConfig) {
        let before = self.rate_config(id);
        self.retune(self.links[id].devices[End::Station.index()], &config.radio);
        self.stations[id] = StationConfig { ap: self.stations[id].ap, ..*config };
        self.set_limits(id, End::Station);
        if self.rate_config(id) != before {
            self.links[id].control = self.controls(id);
        }
    }

    /// Sets power and position of a device.
    fn retune(&mut self, device: usize, radio: &DeviceRadioConfig) {
        let device = &self.devices[device];
        self.media[device.medium].radios.retune(device.member, radio);
    }

    /// Sets the limits of the queues of one end.
    fn set_limits(&mut self, station: StationId, end: End) {
        let packets = match end {
            End::Ap => self.aps[self.links[station].ap].config.buffer.packets_of_a_station(),
            End::Station => Some(self.stations[station].packets),
        };
        for queue in self.links[station].tx_queues[end.index()].iter_mut().flatten() {
            queue.set_limit(packets);
        }
    }
}
