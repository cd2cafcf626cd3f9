//! A saturated wireless LAN, and its deliveries.

use lasthop_net::Item;
use lasthop_units::{ApId, Ecn, FlowId, Id, IndexVec, Instant, Metres, PacketId, StationId};
use lasthop_wifi::mac::Category;
use lasthop_wifi::network::{
    AirConfig, ApConfig, BeaconConfig, BufferConfig, DeviceRadioConfig, End, InitialState, StationConfig,
    Wlan, WlanConfig, WlanOutput,
};
use lasthop_wifi::rate::RateConfig;

pub fn packet(size: u32, flow: usize) -> Item {
    let (id, flow) = (PacketId::from_index(flow), FlowId::from_index(flow));
    Item { id, size, flow, ecn: Ecn::NotEct, content: Default::default(), enqueued: Instant::ZERO }
}

/// A network without beacons, with every station associated and a fixed rate.
pub fn quiet(mcs: u8) -> ApConfig {
    ApConfig {
        rate: RateConfig::Fixed { mcs, streams: None },
        beacon: BeaconConfig { interval: lasthop_units::Duration::ZERO, ..BeaconConfig::default() },
        start: InitialState::Associated,
        buffer: BufferConfig::PerStation { packets: 1000 },
        lifetime: None,
        ..ApConfig::default()
    }
}

pub fn at(x: f64, y: f64) -> DeviceRadioConfig {
    DeviceRadioConfig { position: [Metres(x), Metres(y), Metres(1.5)], ..DeviceRadioConfig::default() }
}

pub fn station(x: f64, y: f64) -> StationConfig {
    StationConfig { ap: ApId::from_index(0), rate: None, packets: 1000, radio: at(x, y) }
}

/// A flow without end from one end of a station's link.
#[derive(Clone, Copy)]
pub struct Source {
    pub station: usize,
    pub end: End,
    pub size: u32,
    pub category: Category,
}

impl Source {
    pub fn up(station: usize, size: u32) -> Source {
        Source { station, end: End::Station, size, category: Category::BestEffort }
    }
    pub fn down(station: usize, size: u32) -> Source {
        Source { end: End::Ap, ..Source::up(station, size) }
    }
}

pub fn build(ap: ApConfig, stations: Vec<StationConfig>, seed: u64) -> Wlan {
    let config = WlanConfig {
        radio: AirConfig::default(),
        aps: [ap].into_iter().collect(),
        stations: stations.into_iter().collect::<IndexVec<_, _>>(),
    };
    Wlan::new(&config, seed)
}

/// Bytes delivered of each source from `from` to `until` seconds, with queues that are never empty.
pub fn saturate(wlan: &mut Wlan, sources: &[Source], from: f64, until: f64) -> Vec<u64> {
    let mut out = WlanOutput::default();
    let mut got = vec![0; sources.len()];
    let stop = Instant((until * 1e9) as u64);
    let fill = |wlan: &mut Wlan, now, s: &Source, n, out: &mut WlanOutput| {
        for _ in 0..n {
            // The packet's number identifies its source.
            let id = sources.iter().position(|o| std::ptr::eq(o, s)).unwrap();
            wlan.push(now, StationId::from_index(s.station), s.end, packet(s.size, id), s.category, out);
        }
    };
    for s in sources {
        fill(wlan, Instant::ZERO, s, 200, &mut out);
    }
    while let Some(now) = wlan.poll_at().filter(|t| *t <= stop) {
        wlan.on_time(now, &mut out);
        let delivered = std::mem::take(&mut out.delivered);
        for (_, _, item) in &delivered {
            let i = item.flow.index();
            if now.as_secs_f64() > from {
                got[i] += u64::from(item.size);
            }
            fill(wlan, now, &sources[i], 1, &mut out);
        }
        out.delivered = delivered;
        out.delivered.clear();
        let dropped: Vec<usize> = out.dropped.drain(..).map(|d| d.3.flow.index()).collect();
        for i in dropped {
            fill(wlan, now, &sources[i], 1, &mut out);
        }
        out.events.clear();
    }
    got
}
