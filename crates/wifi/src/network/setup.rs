//! How a [`Wlan`] is made, and what of it may change while it runs.

use std::collections::{BinaryHeap, VecDeque};

use lasthop_engine::{Draw, Purpose};
use lasthop_units::{ApId, Dbm, Id, IndexVec, Instant, StationId};

use super::config::{ApConfig, DeviceRadioConfig, InitialState, StationConfig, WlanConfig};
use super::exchange::{Burst, Pending};
use super::lane::Lost;
use super::medium::Medium;
use super::output::End;
use super::{CONTENDERS, Device, Event, Link, Wlan};
use crate::mac::{Access, Category, Contender, Counting, Pool};
use crate::rate::{RateConfig, RateControl};

impl Wlan {
    /// The networks of `config`, which must be valid, with the draws of the run `seed`.
    pub fn new(config: &WlanConfig, seed: u64) -> Wlan {
        let mut wlan = Wlan {
            aps: config.aps.clone(),
            ap_devices: IndexVec::new(),
            links: IndexVec::new(),
            packets: config.stations.iter().map(|s| s.packets).collect(),
            devices: Vec::new(),
            media: Vec::new(),
            events: BinaryHeap::new(),
            scheduled: 0,
            air: config.radio,
            seed,
            pool: Pool::default(),
            errors: Draw::new(seed, Purpose::FrameError, 0),
            lost: Lost::default(),
            settle: Vec::new(),
            internal: Vec::new(),
        };
        for (id, ap) in config.aps.enumerate() {
            let device = wlan.add_device(id, ap, None, &ap.radio);
            wlan.ap_devices.push(device);
            if !ap.beacon.interval.is_zero() {
                // Access points begin at moments of their own within an interval.
                let draw = Draw::new(seed, Purpose::BackOff, 0xbeac << 32 | id.index() as u64);
                let first = (ap.beacon.interval.0 as f64 * draw.uniform(0)) as u64;
                wlan.schedule(Instant(first), Event::Beacon { ap: id });
            }
        }
        for (id, station) in config.stations.enumerate() {
            wlan.add_station(id, station);
        }
        for id in wlan.links.ids() {
            let ap = wlan.links[id].ap;
            match wlan.aps[ap].start {
                InitialState::Attach => wlan.schedule(Instant::ZERO, Event::Associate(id)),
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
        });
        device
    }

    fn add_station(&mut self, id: StationId, config: &StationConfig) {
        let ap = self.aps[config.ap].clone();
        let device = self.add_device(config.ap, &ap, Some(id), &config.radio);
        let control = self.controls(id, &ap, &config.rate.unwrap_or(ap.rate));
        self.links.push(Link {
            ap: config.ap,
            devices: [self.ap_devices[config.ap], device],
            associated: false,
            lanes: Default::default(),
            control,
            stats: Default::default(),
        });
    }

    /// Rate control of both ends of a station's link.
    fn controls(&self, id: StationId, ap: &ApConfig, rate: &RateConfig) -> [RateControl; 2] {
        let modes = ap.modes();
        [End::Ap, End::Station].map(|end| {
            let fixed = match *rate {
                RateConfig::Fixed { mcs, streams } => ap.mode(mcs, streams).ok(),
                _ => None,
            };
            let key = (id.index() as u64) << 1 | end.index() as u64;
            RateControl::new(rate, fixed, &modes, Draw::new(self.seed, Purpose::RateSampling, key))
        })
    }

    /// Transmit power of an access point, from its next PPDU on.
    pub fn set_ap_power(&mut self, ap: ApId, power: Dbm) {
        self.set_power(self.ap_devices[ap], power);
    }

    /// Transmit power of a station, from its next PPDU on.
    pub fn set_station_power(&mut self, station: StationId, power: Dbm) {
        self.set_power(self.links[station].devices[End::Station.index()], power);
    }

    fn set_power(&mut self, device: usize, power: Dbm) {
        let device = &self.devices[device];
        self.media[device.medium].radios.set_power(device.member, power);
    }

    /// Rate control of both ends of a station's link begins anew, for what is put together from now on. The rate must be one of the
    /// access point's.
    pub fn set_rate(&mut self, station: StationId, rate: &RateConfig) {
        let ap = self.aps[self.links[station].ap].clone();
        self.links[station].control = self.controls(station, &ap, rate);
    }
}
