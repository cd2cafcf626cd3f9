//! Checks of the configuration; errors have the key.

use lasthop_radio::bounds::HEIGHT;
use lasthop_units::Duration;

use super::channel::{self, Band};
use super::config::{AirConfig, ApConfig, BufferConfig, DeviceRadioConfig, Standard, control_mode};
use crate::config::{ConfigError, Warning, check, refuse, within};
use crate::mac::Category;
use crate::phy::{Guard, Width};
use crate::rate::RateConfig;

impl ApConfig {
    /// Refuses invalid values, naming the key; warns of known pitfalls.
    ///
    /// # Errors
    /// The first invalid key.
    pub fn validate(&self) -> Result<Vec<Warning>, ConfigError> {
        let mut warnings = Vec::new();
        self.check_channel()?;
        check((1..=4).contains(&self.streams), "streams", "1 to 4 streams")?;
        refuse(self.streams == 1 || self.standard.qos(), "streams", || {
            (
                format!("{} has one stream", self.standard.name()),
                "only 802.11n and 802.11ac have several streams".into(),
            )
        })?;
        refuse(self.guard_interval == Guard::Long || self.standard.qos(), "guard_interval", || {
            (
                format!("{} has one guard interval", self.standard.name()),
                "only 802.11n and 802.11ac have a short one: leave `guard_interval` out".into(),
            )
        })?;
        self.check_rate(&self.rate).map_err(|e| ConfigError { key: format!("rate.{}", e.key), ..e })?;
        within("rate", self.rate.validate(), &mut warnings)?;
        if let Some(rate) = self.control_rate {
            let message = if self.standard == Standard::B {
                "1, 2, 5.5 or 11 Mbit/s"
            } else {
                "a rate of OFDM: 6, 9, 12, 18, 24, 36, 48 or 54 Mbit/s"
            };
            check(control_mode(self.standard, rate).is_some(), "control_rate", message)?;
        }
        for (key, n) in [("short_retry", self.short_retry), ("long_retry", self.long_retry)] {
            check((1..=1_000_000).contains(&n), key, "1 to 1000000 transmissions")?;
        }
        check(
            self.lifetime.is_none_or(|t| !t.is_zero()),
            "lifetime",
            "above 0 s; leave it out for no limit",
        )?;
        check(!self.reorder_timeout.is_zero(), "reorder_timeout", "above 0 s")?;
        within("aggregation", self.aggregation.validate().map(|()| Vec::new()), &mut warnings)?;
        for category in Category::ALL {
            self.check_access(category)?;
        }
        let beacon = self.beacon;
        let enough = beacon.interval.is_zero() || beacon.interval >= Duration::from_millis(1);
        check(enough, "beacon.interval", "0 s (none) or at least 1 ms")?;
        check((28..=2_304).contains(&beacon.size.0), "beacon.size", "28 B to 2304 B")?;
        self.check_buffer()?;
        within("radio", self.radio.validate().map(|()| Vec::new()), &mut warnings)?;
        Ok(warnings)
    }

    /// Checks that channel and width exist for this standard.
    fn check_channel(&self) -> Result<(), ConfigError> {
        let (n, standard) = (self.channel, self.standard.name());
        let band = Band::of(n);
        check(band.is_some(), "channel", "1 to 14 (2.4 GHz) or 36 to 177 (5 GHz)")?;
        let (band_of, numbers) = match self.standard {
            Standard::B => (Some(Band::Two), "2.4 GHz: channels 1 to 14"),
            Standard::A | Standard::Ac => (Some(Band::Five), "5 GHz: channels 36 to 177"),
            Standard::N => (band, ""),
        };
        refuse(band == band_of, "channel", || {
            (format!("{standard} is in {numbers}"), "choose a channel there, or another standard".into())
        })?;
        refuse(n != 14 || self.standard == Standard::B, "channel", || {
            ("channel 14 is for 802.11b alone".into(), "802.11n has channels 1 to 13 in 2.4 GHz".into())
        })?;
        let widest = match self.standard {
            Standard::A | Standard::B => Width::W20,
            Standard::N => Width::W40,
            Standard::Ac => Width::W160,
        };
        refuse(self.width <= widest, "width", || {
            let message = format!("{standard} has at most {} MHz", widest.mhz());
            (message, format!("\"{} MHz\" at most, or another standard", widest.mhz()))
        })?;
        refuse(channel::block(n, Width::W20).is_some(), "channel", || {
            let message =
                format!("no channel of 20 MHz has the number {n}; a wider one has that of any of its parts");
            (message, format!("channels of 5 GHz: {}", channel::numbers(Width::W20)))
        })?;
        refuse(channel::block(n, self.width).is_some(), "channel", || {
            let message = format!("no channel of {} MHz holds channel {n}", self.width.mhz());
            (message, format!("those that are in one: {}", channel::numbers(self.width)))
        })
    }

    /// Refuses a rate control, of this access point or of stations of it, that is invalid with it,
    /// naming the key.
    ///
    /// # Errors
    /// The first invalid key.
    pub fn check_rate(&self, rate: &RateConfig) -> Result<(), ConfigError> {
        let RateConfig::Fixed { mcs, streams } = *rate else { return rate.validate().map(|_| ()) };
        let mode = self.mode(mcs, streams);
        let message = mode.as_ref().err().map(|e| e.0.clone()).unwrap_or_default();
        refuse(mode.is_ok(), "mcs", || (message, format!("rates here: {}", self.rate_numbers())))?;
        let needed = streams.unwrap_or(1).max(mode.map_or(1, |m| m.streams()));
        refuse(needed <= self.streams, if streams.is_some() { "streams" } else { "mcs" }, || {
            let has = self.streams;
            let message = format!("a rate of {needed} streams, and its access point has `streams = {has}`");
            (message, format!("set `streams = {needed}` there, or choose a rate of at most {has}"))
        })
    }

    /// The valid values of `mcs`.
    fn rate_numbers(&self) -> &'static str {
        match self.standard {
            Standard::B => "0 to 3 for 1, 2, 5.5 and 11 Mbit/s",
            Standard::A => "0 to 7 for 6, 9, 12, 18, 24, 36, 48 and 54 Mbit/s",
            Standard::N => "0 to 7 with the streams of the access point, or 0 to 31 for one to four streams",
            Standard::Ac => "0 to 9, some of them not with every width and number of streams",
        }
    }

    fn check_access(&self, category: Category) -> Result<(), ConfigError> {
        let Some(a) = self.edca.given(category) else { return Ok(()) };
        let key = |name: &str| format!("edca.{}.{name}", category.name().replace('-', "_"));
        check((1..=15).contains(&a.aifsn), &key("aifsn"), "1 to 15")?;
        let window = |w: u32| w <= 32_767 && (w + 1).is_power_of_two();
        check(window(a.cw_min), &key("cw_min"), "one less than a power of two, up to 32767")?;
        check(
            window(a.cw_max) && a.cw_max >= a.cw_min,
            &key("cw_max"),
            "one less than a power of two, not below cw_min",
        )?;
        check(a.txop <= Duration::from_micros(2_097_120), &key("txop"), "at most 2.09712 s")
    }

    fn check_buffer(&self) -> Result<(), ConfigError> {
        let packets = match self.buffer {
            BufferConfig::Fifo { packets } | BufferConfig::PerStation { packets } => packets,
            BufferConfig::FqCodel(q) => {
                let ok = (1..=65_535).contains(&q.flows) && q.quantum.0 > 0;
                check(ok, "buffer", "1 to 65535 flows and a quantum above 0 B")?;
                check(!q.interval.is_zero(), "buffer.interval", "above 0 s")?;
                if let Some(d) = q.driver {
                    check(d.packets > 0, "buffer.driver.packets", "capacity for at least one packet")?;
                    check(!d.aql_low.is_zero(), "buffer.driver.aql_low", "above 0 s")?;
                    check(d.aql_low <= d.aql_high, "buffer.driver.aql_high", "not below `aql_low`")?;
                }
                q.packets
            }
        };
        check(packets > 0, "buffer.packets", "capacity for at least one packet")
    }
}

impl DeviceRadioConfig {
    /// Refuses an invalid position or radio.
    ///
    /// # Errors
    /// The first invalid key.
    pub fn validate(&self) -> Result<(), ConfigError> {
        let place = self.position.iter().all(|m| m.0.is_finite() && m.0.abs() <= 1e6);
        check(place, "position", "within 1000 km")?;
        check(HEIGHT.hold(self.position[2].0), "position", HEIGHT.text)?;
        check((-50.0..=60.0).contains(&self.power.0), "power", "-50 dBm to 60 dBm")?;
        check((0.0..=50.0).contains(&self.noise_figure.0), "noise_figure", "0 dB to 50 dB")?;
        self.mobility.validate().map_err(|(key, message)| ConfigError {
            key: format!("mobility.{key}"),
            message: message.to_owned(),
            help: None,
        })
    }
}

impl AirConfig {
    /// Refuses invalid values.
    ///
    /// # Errors
    /// The first invalid key.
    pub fn validate(&self) -> Result<Vec<Warning>, ConfigError> {
        check(!self.refresh.is_zero(), "refresh", "above 0 s")?;
        self.path_loss.validate().map_err(|(parameter, message)| ConfigError {
            key: format!("path_loss.{parameter}"),
            message: message.to_owned(),
            help: None,
        })?;
        let wrong =
            |message: &str| ConfigError { key: "fading".into(), message: message.to_owned(), help: None };
        self.fading.validate().map_err(wrong)?;
        check(self.shadowing.is_none_or(|s| (0.0..=30.0).contains(&s.0)), "shadowing", "0 dB to 30 dB")?;
        check(self.capture.is_none_or(|c| (0.0..=60.0).contains(&c.0)), "capture", "0 dB to 60 dB")?;
        check((-20.0..=40.0).contains(&self.preamble_sinr.0), "preamble_sinr", "-20 dB to 40 dB")?;
        for (key, power) in
            [("preamble_detection", self.preamble_detection), ("energy_detection", self.energy_detection)]
        {
            check((-120.0..=0.0).contains(&power.0), key, "-120 dBm to 0 dBm")?;
        }
        Ok(Vec::new())
    }
}
