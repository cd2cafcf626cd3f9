//! Setup of a bearer, and its output.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::config::PdcpConfig;
use crate::rlc::{Mode, RlcConfig, RlcEvent};
use lasthop_bearer::{ConfigError, Warning, check, within};
use lasthop_bearer::{DropCause, End, Sdu};

/// A data radio bearer of LTE.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct LteBearerConfig {
    /// PDCP at both ends.
    pub pdcp: PdcpConfig,
    /// RLC at both ends.
    pub rlc: RlcConfig,
}

impl LteBearerConfig {
    /// Checks each layer and their combination (TS 36.323 clause 4.2.2, TS 36.331 clause 6.3.2).
    pub fn validate(&self) -> Result<Vec<Warning>, ConfigError> {
        let mut warnings = Vec::new();
        within("pdcp", self.pdcp.validate(), &mut warnings)?;
        within("rlc", self.rlc.validate(), &mut warnings)?;
        check(self.rlc.mode != Mode::Tm, "rlc.mode", "a data bearer is \"am\" or \"um\"")?;
        let bits: &[u32] = if self.rlc.mode == Mode::Am { &[12, 15, 18] } else { &[7, 12] };
        check(
            bits.contains(&self.pdcp.sn_bits),
            "pdcp.sn_bits",
            "AM uses 12, 15 or 18 bits, UM with 7 or 12",
        )?;
        Ok(warnings)
    }
}

/// The output of a bearer's calls; the caller reuses it.
#[derive(Clone, Debug, Default)]
pub struct LteBearerOutput {
    /// Packets that have reached an end, with that end, as they were pushed.
    pub delivered: Vec<(End, Sdu)>,
    /// Packets that left in another way, with the end that had pushed them. Each packet is reported
    /// once in all.
    pub dropped: Vec<(End, Sdu, DropCause)>,
    /// Packets that an active queue management marked, with the end that had pushed them.
    pub marked: Vec<(End, Sdu)>,
    /// Events, with the end of each.
    pub events: Vec<(End, RlcEvent)>,
}

impl LteBearerOutput {
    /// True if the output is empty.
    #[inline]
    pub const fn is_empty(&self) -> bool {
        self.delivered.is_empty()
            && self.dropped.is_empty()
            && self.marked.is_empty()
            && self.events.is_empty()
    }
    /// Empties the lists and keeps their memory.
    pub fn clear(&mut self) {
        self.delivered.clear();
        self.dropped.clear();
        self.marked.clear();
        self.events.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lasthop_units::{Bytes, Duration};

    #[test]
    fn a_table_is_read_with_its_units_and_unknown_keys_are_refused() {
        let text = r#"{ "pdcp": { "sn_bits": 18, "discard_timer": "300 ms", "compression": { "kind": "ideal" } },
            "rlc": { "am": { "poll_pdu": "infinity", "poll_byte": "50000 B", "t_reordering": "50 ms" },
                     "buffer": { "bytes": "1000000 B", "discipline": "head-drop" }, "compat": "ns3" } }"#;
        let c: LteBearerConfig = serde_json::from_str(text).unwrap();
        assert_eq!(c.pdcp.discard_timer.value(), Some(Duration::from_millis(300)));
        assert_eq!((c.rlc.am.poll_pdu.value(), c.rlc.am.poll_byte.value()), (None, Some(Bytes(50_000))));
        assert!(c.rlc.shortcuts().no_resegmentation);
        assert_eq!(c.validate(), Ok(vec![]));
        let again: LteBearerConfig = serde_json::from_str(&serde_json::to_string(&c).unwrap()).unwrap();
        assert_eq!(again, c);
        let wrong =
            serde_json::from_str::<LteBearerConfig>(r#"{ "rlc": { "am": { "t_reorder": "5 ms" } } }"#);
        assert!(wrong.unwrap_err().to_string().contains("unknown field `t_reorder`"));
        let schema = serde_json::to_string(&schemars::schema_for!(LteBearerConfig)).unwrap();
        assert!(schema.contains("t-PollRetransmit") && schema.contains("statusReportRequired"));
    }
}
