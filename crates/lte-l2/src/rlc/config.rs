//! Parameters of an RLC entity, as RRC would configure them (TS 36.331 clause 6.3.2, RLC-Config).

use lasthop_net::aqm::AqmConfig;
use lasthop_units::{Bytes, Duration};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Format;
use super::shortcuts::{Compat, Shortcuts};
use lasthop_bearer::End;
use lasthop_bearer::{ConfigError, OrInfinity, Warning, check, require, warn};

/// An RLC entity of LTE.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RlcConfig {
    /// Acknowledged, unacknowledged or transparent mode.
    pub mode: Mode,
    /// Parameters of acknowledged mode.
    pub am: AmConfig,
    /// Parameters of unacknowledged mode.
    pub um: UmConfig,
    /// The transmission buffer.
    pub buffer: BufferConfig,
    /// Shortcuts of another simulator, all at once.
    pub compat: Compat,
    /// Single shortcuts, in addition to those of `compat`.
    pub shortcuts: Shortcuts,
}

/// Which kind of entity.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// Acknowledged: retransmits until delivered (TS 36.322 clause 4.2.1.3).
    #[default]
    Am,
    /// Unacknowledged: segments and reorders (TS 36.322 clause 4.2.1.2).
    Um,
    /// Transparent: passes SDUs as they are (TS 36.322 clause 4.2.1.1).
    Tm,
}

/// Acknowledged mode. The defaults are for a data bearer with TCP: timers of TS 36.331 clause
/// 9.2.1.1, and polls so frequent that the window of 512 PDUs never waits for a poll.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct AmConfig {
    /// Width of the sequence number: 10 bits (window 512) or 16 (window 32768).
    pub sn_bits: u32,
    /// Width of a length indicator: 11 or 15 bits. With 11 an SDU above 2047 B can only be a PDU's
    /// last element.
    pub li_bits: u32,
    /// `sn_bits` of data from the UE to the network, where it differs: 10 or 16 bits (TS 36.331
    /// clause 6.3.2, ul-extended-RLC-AM-SN and dl-extended-RLC-AM-SN). Without it: `sn_bits`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sn_bits_uplink: Option<u32>,
    /// `li_bits` of data from the UE to the network, where it differs: 11 or 15 bits
    /// (ul-extended-RLC-LI-Field and dl-extended-RLC-LI-Field). Without it: `li_bits`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub li_bits_uplink: Option<u32>,
    /// t-PollRetransmit: time to wait for the status report that was polled. 5 to 250 ms by 5, 300
    /// to 500 by 50, 800, 1000, 2000, 4000 ms.
    pub t_poll_retransmit: Duration,
    /// pollPDU: poll after this many PDUs: 4, 8, 16, 32, 64, 128, 256 or "infinity".
    pub poll_pdu: OrInfinity<u32>,
    /// pollByte: poll after this many bytes of data: 25 kB to 3000 kB or "infinity".
    pub poll_byte: OrInfinity<Bytes>,
    /// maxRetxThreshold: this many retransmissions of one PDU are a radio link failure: 1, 2, 3, 4,
    /// 6, 8, 16, 32.
    pub max_retx_threshold: u32,
    /// t-Reordering: time to wait for a missing PDU, which HARQ may still deliver, before it is
    /// reported: 0 to 100 ms by 5, 110 to 200 by 10, 1600.
    pub t_reordering: Duration,
    /// t-StatusProhibit: least time between status reports: 0 to 250 ms by 5, 300 to 500 by 50, 800
    /// to 2400.
    pub t_status_prohibit: Duration,
}

impl Default for AmConfig {
    fn default() -> Self {
        AmConfig {
            sn_bits: 10,
            li_bits: 11,
            sn_bits_uplink: None,
            li_bits_uplink: None,
            t_poll_retransmit: Duration::from_millis(45),
            poll_pdu: OrInfinity::Value(32),
            poll_byte: OrInfinity::Value(Bytes(25_000)),
            max_retx_threshold: 16,
            t_reordering: Duration::from_millis(35),
            t_status_prohibit: Duration::from_millis(20),
        }
    }
}

impl AmConfig {
    /// The field widths of PDUs that `sender` sends.
    pub fn format(&self, sender: End) -> Format {
        let up = self.sn_bits_uplink.unwrap_or(self.sn_bits);
        match sender {
            End::Network => Format::am(self.sn_bits, self.li_bits).reporting_on(up),
            End::Ue => Format::am(up, self.li_bits_uplink.unwrap_or(self.li_bits)).reporting_on(self.sn_bits),
        }
    }
}

/// Unacknowledged mode.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct UmConfig {
    /// Width of the sequence number: 5 bits (window 16) or 10 (window 512).
    pub sn_bits: u32,
    /// `sn_bits` of data from the UE to the network, where it differs: 5 or 10 bits (TS 36.331
    /// clause 6.3.2, UL-UM-RLC and DL-UM-RLC). Without it: `sn_bits`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sn_bits_uplink: Option<u32>,
    /// t-Reordering: time to wait for a missing PDU before it is skipped: 0 to 100 ms by 5, 110 to
    /// 200 by 10, 1600.
    pub t_reordering: Duration,
}

impl Default for UmConfig {
    fn default() -> Self {
        UmConfig { sn_bits: 10, sn_bits_uplink: None, t_reordering: Duration::from_millis(35) }
    }
}

impl UmConfig {
    /// The field widths of PDUs that `sender` sends.
    pub fn format(&self, sender: End) -> Format {
        Format::um(match sender {
            End::Network => self.sn_bits,
            End::Ue => self.sn_bits_uplink.unwrap_or(self.sn_bits),
        })
    }
}

/// The transmission buffer: SDUs that are in no PDU yet.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct BufferConfig {
    /// Most bytes waiting. Default: 2 MiB where a UE's cells have 100 resource blocks and one
    /// layer; otherwise in proportion to the resource blocks, and twice as much with two layers.
    /// That is about 225 ms at the peak rate.
    pub bytes: OrInfinity<Bytes>,
    /// Most SDUs waiting.
    pub packets: OrInfinity<u32>,
    /// The SDU that is dropped when the buffer is full.
    pub discipline: Discipline,
    /// Active queue management in front of the limits: it decides about an SDU when it arrives and
    /// when its first byte is about to be sent, and may mark the packet inside instead of dropping
    /// it (ECN). Without it: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub aqm: Option<AqmConfig>,
}

impl Default for BufferConfig {
    fn default() -> Self {
        BufferConfig {
            bytes: OrInfinity::Value(Bytes(2 << 20)),
            packets: OrInfinity::INFINITY,
            discipline: Discipline::DropTail,
            aqm: None,
        }
    }
}

/// The SDU that is dropped when the transmission buffer is full.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Discipline {
    /// The arriving SDU.
    #[default]
    DropTail,
    /// The oldest SDU of which nothing has been sent.
    HeadDrop,
}

impl RlcConfig {
    /// Checks every parameter against the values of TS 36.331 clause 6.3.2.
    pub fn validate(&self) -> Result<Vec<Warning>, ConfigError> {
        self.am.validate(self.shortcuts().any_poll)?;
        self.um.validate()?;
        if let Some(Err((key, problem))) = self.buffer.aqm.map(|aqm| aqm.validate()) {
            return check(false, &format!("buffer.aqm.{key}"), &problem).map(|()| Vec::new());
        }
        let fragment = self.shortcuts.fixed_fragment.unwrap_or(1);
        require(fragment > 0, "shortcuts.fixed_fragment", &fragment, "at least 1 byte")?;
        let mut warnings = Vec::new();
        warn(
            self.mode == Mode::Am && self.am.t_poll_retransmit <= self.am.t_status_prohibit,
            "am.t_poll_retransmit",
            "the answer to a poll may be prohibited for longer than the sender waits for it, so PDUs are sent \
             twice: choose it above `am.t_status_prohibit` plus a round trip",
            &mut warnings,
        );
        let bytes = self.buffer.bytes.value().map_or(u64::MAX, |b| b.0);
        warn(
            bytes < 64 * 1024,
            "buffer.bytes",
            "a buffer below the bandwidth-delay product makes TCP lose packets in bursts: about 2 MB suits a \
             20 MHz cell",
            &mut warnings,
        );
        Ok(warnings)
    }

    /// The shortcuts in force.
    pub const fn shortcuts(&self) -> Shortcuts {
        self.shortcuts.or(self.compat.shortcuts())
    }
}

impl AmConfig {
    /// Checks the parameters; with `any_poll` any poll interval is valid.
    fn validate(&self, any_poll: bool) -> Result<(), ConfigError> {
        require([10, 16].contains(&self.sn_bits), "am.sn_bits", &self.sn_bits, "10 or 16")?;
        require([11, 15].contains(&self.li_bits), "am.li_bits", &self.li_bits, "11 or 15")?;
        let (sn, li) = (self.sn_bits_uplink.unwrap_or(10), self.li_bits_uplink.unwrap_or(11));
        require([10, 16].contains(&sn), "am.sn_bits_uplink", &sn, "10 or 16")?;
        require([11, 15].contains(&li), "am.li_bits_uplink", &li, "11 or 15")?;
        require(
            on_grid(self.t_poll_retransmit, 5, &[800, 1000, 2000, 4000]),
            "am.t_poll_retransmit",
            &self.t_poll_retransmit,
            "5 to 250 ms by 5, 300 to 500 by 50, 800, 1000, 2000, 4000 ms",
        )?;
        require(
            on_grid(self.t_status_prohibit, 0, &[800, 1000, 1200, 1600, 2000, 2400]),
            "am.t_status_prohibit",
            &self.t_status_prohibit,
            "0 to 250 ms by 5, 300 to 500 by 50, 800, 1000, 1200, 1600, 2000, 2400 ms",
        )?;
        self.validate_polls(any_poll)?;
        require(
            [1, 2, 3, 4, 6, 8, 16, 32].contains(&self.max_retx_threshold),
            "am.max_retx_threshold",
            &self.max_retx_threshold,
            "1, 2, 3, 4, 6, 8, 16 or 32",
        )?;
        validate_reordering("am.t_reordering", self.t_reordering)
    }

    fn validate_polls(&self, any: bool) -> Result<(), ConfigError> {
        let polls = self.poll_pdu.value().unwrap_or(4);
        require(polls > 0, "am.poll_pdu", &polls, "at least 1")?;
        require(
            any || polls.is_power_of_two() && (4..=256).contains(&polls),
            "am.poll_pdu",
            &polls,
            "4, 8, 16, 32, 64, 128, 256 or \"infinity\"",
        )?;
        let kilobytes = self.poll_byte.value().map_or(25, |b| b.0 / 1000);
        require(
            any || POLL_KILOBYTES.contains(&kilobytes),
            "am.poll_byte",
            &kilobytes,
            "25, 50, 75, 100, 125, 250, 375, 500, 750, 1000, 1250, 1500, 2000, 3000 kB or \"infinity\"",
        )
    }
}

impl UmConfig {
    fn validate(&self) -> Result<(), ConfigError> {
        require([5, 10].contains(&self.sn_bits), "um.sn_bits", &self.sn_bits, "5 or 10")?;
        let sn = self.sn_bits_uplink.unwrap_or(5);
        require([5, 10].contains(&sn), "um.sn_bits_uplink", &sn, "5 or 10")?;
        validate_reordering("um.t_reordering", self.t_reordering)
    }
}

fn validate_reordering(key: &str, t: Duration) -> Result<(), ConfigError> {
    require(is_reordering(t), key, &t, "0 to 100 ms by 5, 110 to 200 by 10, 1600 ms")
}

const POLL_KILOBYTES: [u64; 14] = [25, 50, 75, 100, 125, 250, 375, 500, 750, 1000, 1250, 1500, 2000, 3000];

fn on_grid(t: Duration, least: u64, beyond: &[u64]) -> bool {
    let ms = t.as_millis();
    let step = if ms <= 250 { 5 } else { 50 };
    Duration::from_millis(ms) == t
        && (((least..=500).contains(&ms) && ms.is_multiple_of(step)) || beyond.contains(&ms))
}

fn is_reordering(t: Duration) -> bool {
    let ms = t.as_millis();
    let step = if ms <= 100 { 5 } else { 10 };
    Duration::from_millis(ms) == t && ((ms <= 200 && ms.is_multiple_of(step)) || ms == 1600)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_are_values_of_the_standard_and_others_are_refused_by_name() {
        assert_eq!(RlcConfig::default().validate(), Ok(vec![]));
        let mut c = RlcConfig::default();
        c.am.t_poll_retransmit = Duration::from_millis(7);
        assert!(c.validate().unwrap_err().to_string().starts_with("am.t_poll_retransmit: 7 ms is not"));
        c.am.t_poll_retransmit = Duration::from_millis(5);
        c.am.t_reordering = Duration::from_millis(105);
        assert_eq!(c.validate().unwrap_err().key, "am.t_reordering");
        c.am.t_reordering = Duration::from_millis(1600);
        c.am.poll_pdu = OrInfinity::INFINITY;
        let warnings = c.validate().unwrap();
        assert_eq!(warnings.len(), 1, "t-PollRetransmit 5 ms below t-StatusProhibit 20 ms: {warnings:?}");
    }
}
