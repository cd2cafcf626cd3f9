//! Uplink power control (TS 36.213 v12.4.0 clause 5.1): formulas and the state of the closed loop.

use lasthop_engine::math::log10;
use lasthop_units::{Db, Dbm};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The parameters that RRC gives (TS 36.331 UplinkPowerControl).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PowerControlConfig {
    /// False: the UE always sends with its largest power.
    pub enabled: bool,
    /// P_0_PUSCH: target received power per resource block.
    pub p0: Dbm,
    /// alpha, the share of the path loss for which the UE compensates: 0, 0.4, 0.5, 0.6, 0.7, 0.8,
    /// 0.9 or 1.
    pub alpha: f64,
    /// How transmit power control commands act.
    pub closed_loop: ClosedLoop,
    /// P_SRS_OFFSET, 0 to 15 (TS 36.213 clause 5.1.3.1): the power of the sounding signal, relative
    /// to that of PUSCH, is 1.5 dB times this value minus 10.5 dB (for K_S = 0), so 7 means 0 dB.
    pub srs_offset: u8,
    /// deltaPreambleMsg3, -2 to 12 dB by 2: the received power of a resource block of Msg3 for
    /// which UEs aim, relative to that of a preamble (`random_access.target_power`). TS 36.331 has
    /// no default; 0 here.
    #[serde(skip_serializing_if = "is_zero")]
    pub delta_preamble_msg3: Db,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde requires a reference")]
fn is_zero(ratio: &Db) -> bool {
    ratio.0 == 0.0
}

impl Default for PowerControlConfig {
    /// Fractional, as TR 36.942 v8.4.0 clause 5.1.1.6 has it in its set 2 (alpha 0.8): who is near
    /// the edge disturbs the neighbours least. No source gives P0. The value was read from curves
    /// of mean and 5 % point over P0 (`docs/concepts/lte-many-cells.md`).
    fn default() -> Self {
        PowerControlConfig {
            enabled: true,
            p0: Dbm(-82.0),
            alpha: 0.8,
            closed_loop: ClosedLoop::Accumulated,
            srs_offset: 7,
            delta_preamble_msg3: Db(0.0),
        }
    }
}

/// How transmit power control commands act (TS 36.213 clause 5.1.1.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ClosedLoop {
    /// Commands have no effect.
    Off,
    /// Each command counts from zero: -4, -1, 1, 4 dB.
    Absolute,
    /// Commands add up: -1, 0, 1, 3 dB.
    #[default]
    Accumulated,
}

/// Lowest power of a UE (TS 36.101 clause 6.3.2).
pub const MIN_POWER: Dbm = Dbm(-40.0);

/// A transmit power control command, 0 to 3.
pub type TpcCommand = u8;

/// What the commands mean [dB], TS 36.213 table 5.1.1.1-2.
const ABSOLUTE: [f64; 4] = [-4.0, -1.0, 1.0, 4.0];
const ACCUMULATED: [f64; 4] = [-1.0, 0.0, 1.0, 3.0];

/// The state of a UE's power control: f(i).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PowerControl {
    f: f64,
}

impl PowerControl {
    /// Applies a received command; `pusch` is the UE's PUSCH power before it, without limits.
    ///
    /// Clause 5.1.1.1 [unverified]: If UE has reached P_CMAX, positive TPC commands shall not be
    /// accumulated. If UE has reached minimum power, negative TPC commands shall not be
    /// accumulated.
    pub fn command(&mut self, config: &PowerControlConfig, command: TpcCommand, pusch: Dbm, largest: Dbm) {
        let i = usize::from(command.min(3));
        match config.closed_loop {
            ClosedLoop::Off => {}
            ClosedLoop::Absolute => self.f = ABSOLUTE[i],
            ClosedLoop::Accumulated => {
                let step = ACCUMULATED[i];
                let stuck = (step > 0.0 && pusch.0 >= largest.0) || (step < 0.0 && pusch.0 <= MIN_POWER.0);
                if !stuck {
                    self.f += step;
                }
            }
        }
    }

    /// The command that changes the power most nearly by `error`; None if no command reduces the
    /// error.
    pub fn towards(&self, config: &PowerControlConfig, error: Db) -> Option<TpcCommand> {
        let (steps, wanted, now) = match config.closed_loop {
            ClosedLoop::Off => return None,
            ClosedLoop::Absolute => (ABSOLUTE, self.f + error.0, self.f),
            ClosedLoop::Accumulated => (ACCUMULATED, error.0, 0.0),
        };
        let miss = |i: &usize| (steps[*i] - wanted).abs();
        let best = (0..4).min_by(|a, b| miss(a).total_cmp(&miss(b)))?;
        (miss(&best) < (now - wanted).abs()).then_some(best as TpcCommand)
    }

    /// PUSCH power before the limits: 10 log10(M) + P_0 + alpha PL + f for M resource blocks
    /// (Delta_TF is 0).
    pub fn unlimited(&self, config: &PowerControlConfig, blocks: u32, path_loss: Db) -> Dbm {
        Dbm(10.0 * log10(f64::from(blocks)) + config.p0.0 + config.alpha * path_loss.0 + self.f)
    }

    /// PUSCH power for `blocks` resource blocks.
    pub fn pusch(&self, config: &PowerControlConfig, blocks: u32, path_loss: Db, largest: Dbm) -> Dbm {
        if !config.enabled {
            return largest;
        }
        limited(self.unlimited(config, blocks, path_loss), largest)
    }

    /// PUSCH power of an Msg3 before the limits, with `target` for the first preamble: j = 2 in
    /// clause 5.1.1.1.
    // 5.1.1.1 [unverified]: For j = 2, P_O_UE_PUSCH,c(2) = 0 and P_O_NOMINAL_PUSCH,c(2) = P_O_PRE +
    // Delta_PREAMBLE_Msg3, where the parameter preambleInitialReceivedTargetPower (P_O_PRE) and
    // Delta_PREAMBLE_Msg3 are signalled from higher layers; alpha_c(j) = 1.
    fn unlimited_msg3(&self, config: &PowerControlConfig, target: Dbm, blocks: u32, path_loss: Db) -> Dbm {
        let own = PowerControlConfig { p0: target + config.delta_preamble_msg3, alpha: 1.0, ..*config };
        self.unlimited(&own, blocks, path_loss)
    }

    /// Sets f to its first value, with which an Msg3 on `blocks` resource blocks is sent: the
    /// `ramping` of the preambles, as far as the power allows it. The power control command of the
    /// response is 0 dB.
    // 5.1.1.1 [unverified]: If the UE receives the random access response message for a serving
    // cell c: f_c(0) = Delta P_rampup,c + delta_msg2,c, where [...] Delta P_rampup,c = min [{max
    // (0, P_CMAX,c - (10 log10 (M_PUSCH,c (0)) + P_O_PUSCH,c (2) + delta_msg2 + alpha_c (2) PL +
    // Delta_TF,c (0)))}, Delta P_rampuprequested,c] and Delta P_rampuprequested,c is provided by
    // higher layers and corresponds to the total power ramp-up requested by higher layers from the
    // first to the last preamble.
    pub fn start(
        &mut self,
        config: &PowerControlConfig,
        (target, ramping): (Dbm, Db),
        blocks: u32,
        path_loss: Db,
        largest: Dbm,
    ) {
        self.f = 0.0;
        let spare = largest - self.unlimited_msg3(config, target, blocks, path_loss);
        self.f = spare.0.max(0.0).min(ramping.0);
    }

    /// PUSCH power of an Msg3 on `blocks` resource blocks, with `target` for the first preamble.
    pub fn msg3(
        &self,
        config: &PowerControlConfig,
        target: Dbm,
        blocks: u32,
        path_loss: Db,
        largest: Dbm,
    ) -> Dbm {
        if !config.enabled {
            return largest;
        }
        limited(self.unlimited_msg3(config, target, blocks, path_loss), largest)
    }

    /// Power headroom with an Msg3 (clause 5.1.1.2).
    pub fn msg3_headroom(
        &self,
        config: &PowerControlConfig,
        target: Dbm,
        blocks: u32,
        path_loss: Db,
        largest: Dbm,
    ) -> Db {
        largest - self.unlimited_msg3(config, target, blocks, path_loss)
    }

    /// Sounding reference signal power over `blocks` resource blocks (clause 5.1.3.1, K_S = 0).
    pub fn srs(&self, config: &PowerControlConfig, blocks: u32, path_loss: Db, largest: Dbm) -> Dbm {
        if !config.enabled {
            return largest;
        }
        let offset = Db(-10.5 + 1.5 * f64::from(config.srs_offset));
        limited(self.unlimited(config, blocks, path_loss) + offset, largest)
    }

    /// Power headroom (clause 5.1.1.2): the difference to the largest power; negative: the UE's
    /// power is limited.
    pub fn headroom(&self, config: &PowerControlConfig, blocks: u32, path_loss: Db, largest: Dbm) -> Db {
        largest - self.unlimited(config, blocks, path_loss)
    }
}

impl PowerControlConfig {
    /// The headroom on one resource block of other PUSCH, given that of an Msg3 on one block: the
    /// latter gives an eNB the UE's path loss, but for the ramping of the preambles.
    pub fn headroom_of_msg3(&self, target: Dbm, headroom: Db, largest: Dbm) -> Db {
        let open = PowerControl::default();
        let path_loss = open.msg3_headroom(self, target, 1, Db(0.0), largest) - headroom;
        open.headroom(self, 1, path_loss, largest)
    }
}

fn limited(power: Dbm, largest: Dbm) -> Dbm {
    Dbm(power.0.min(largest.0).max(MIN_POWER.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Ends, PathLoss};
    use lasthop_units::Hertz;

    /// Steps of -1, 0, 1 and 3 dB, or -4, -1, 1 and 4 dB from the open loop: the nearest, and none
    /// if the error is already smallest.
    #[test]
    fn commands_reduce_the_error_of_the_power() {
        let config = |closed_loop| PowerControlConfig { closed_loop, ..PowerControlConfig::default() };
        let of =
            |closed_loop, f: f64, error: f64| PowerControl { f }.towards(&config(closed_loop), Db(error));
        let accumulated = |error| of(ClosedLoop::Accumulated, 7.0, error);
        assert_eq!(
            [9.0, 2.1, 1.9, 0.6, 0.4, -0.4, -0.6, -9.0].map(accumulated),
            [Some(3), Some(3), Some(2), Some(2), None, None, Some(0), Some(0),]
        );
        let absolute = |(f, error)| of(ClosedLoop::Absolute, f, error);
        assert_eq!(
            [(0.0, 9.0), (4.0, 5.0), (4.0, -3.5), (1.0, -6.0), (0.0, 0.3)].map(absolute),
            [Some(3), None, Some(2), Some(0), None,]
        );
        assert_eq!(of(ClosedLoop::Off, 0.0, 9.0), None);
    }

    /// The setting of ns-3's test: P0 -90, alpha 1, offset 9 (+3 dB), 25 blocks, Friis at 2120 MHz.
    fn setting(closed_loop: ClosedLoop) -> PowerControlConfig {
        PowerControlConfig {
            p0: Dbm(-90.0),
            alpha: 1.0,
            srs_offset: 9,
            closed_loop,
            ..PowerControlConfig::default()
        }
    }

    fn path_loss(d: f64) -> Db {
        PathLoss::Friis.loss(Hertz(2120e6), &Ends::new(d, 0.0, 0.0), true)
    }

    const MAX: Dbm = Dbm(23.0);

    /// 10 log10(25) = 13.979; at 100 m PL = 78.974: -90 + 13.979 + 78.974 = 2.954 dBm, SRS 3 dB
    /// more.
    #[test]
    fn open_loop_gives_its_rows() {
        let c = setting(ClosedLoop::Off);
        for (d, pusch, srs) in [
            (0.0, -40.0, -40.0),
            (100.0, 2.9539, 5.9539),
            (200.0, 8.9745, 11.9745),
            (400.0, 14.9951, 17.9951),
            (600.0, 18.5169, 21.5169),
            (800.0, 21.0157, 23.0),
            (1000.0, 22.9539, 23.0),
            (1200.0, 23.0, 23.0),
        ] {
            let p = PowerControl::default();
            let found = (p.pusch(&c, 25, path_loss(d), MAX).0, p.srs(&c, 25, path_loss(d), MAX).0);
            assert!((found.0 - pusch).abs() < 0.01 && (found.1 - srs).abs() < 0.01, "{d} m: {found:?}");
        }
    }

    /// At 0 m the path loss of the model is 0 dB: -90 + 13.98 is below the smallest power.
    #[test]
    fn absolute_commands_count_from_zero() {
        let c = setting(ClosedLoop::Absolute);
        for (command, pusch) in [(0, -1.0461), (1, 1.9539), (2, 3.9539), (3, 6.9539)] {
            let mut p = PowerControl::default();
            p.command(&c, 3, Dbm(0.0), MAX);
            p.command(&c, command, Dbm(0.0), MAX);
            let found = p.pusch(&c, 25, path_loss(100.0), MAX).0;
            assert!((found - pusch).abs() < 0.01, "{command}: {found}");
            assert!((p.srs(&c, 25, path_loss(100.0), MAX).0 - pusch - 3.0).abs() < 0.01);
        }
    }

    /// At 10 m PL = 58.974 and PUSCH starts at -17.046. Twenty steps down: -37.046; twenty more
    /// reach the floor, where nothing accumulates; later increases start just below it: f stops at
    /// the first step beyond, -40.046.
    #[test]
    fn accumulated_commands_add_up_and_stop_at_the_floor() {
        let c = setting(ClosedLoop::Accumulated);
        let pl = path_loss(10.0);
        let mut p = PowerControl::default();
        assert!((p.pusch(&c, 25, pl, MAX).0 + 17.0461).abs() < 0.01);
        for (times, command, pusch, srs) in [
            (20, 0, -37.0461, -34.0461),
            (20, 0, -40.0, -37.0461),
            (1, 2, -39.0461, -36.0461),
            (10, 3, -9.0461, -6.0461),
            (15, 2, 5.9539, 8.9539),
            (1, 3, 8.9539, 11.9539),
        ] {
            for _ in 0..times {
                p.command(&c, command, p.unlimited(&c, 25, pl), MAX);
            }
            let found = (p.pusch(&c, 25, pl, MAX).0, p.srs(&c, 25, pl, MAX).0);
            assert!(
                (found.0 - pusch).abs() < 0.01 && (found.1 - srs).abs() < 0.01,
                "{times}x{command}: {found:?}"
            );
        }
    }

    /// Clause 5.1.1.1, j = 2: target -104 dBm, deltaPreambleMsg3 2 dB, three blocks (4.77 dB),
    /// alpha 1. At PL 110 the open loop gives -104 + 2 + 4.77 + 110 = 12.77 dBm; 6 dB of ramping
    /// fit below 23 dBm: 18.77. At PL 118 it gives 20.77, and 2.23 dB of the ramping fit. At PL 125
    /// it is above 23 dBm and none fits. f(0) holds for other PUSCH too: P0 -82 dBm and alpha 0.8
    /// at PL 110 are 6 dBm on one block, and with the ramping 12. Commands add to f(0).
    #[test]
    fn msg3_aims_at_the_power_of_the_preamble() {
        let c = PowerControlConfig { delta_preamble_msg3: Db(2.0), ..PowerControlConfig::default() };
        let target = Dbm(-104.0);
        let of = |loss: f64, ramping: f64| {
            let mut p = PowerControl::default();
            p.command(&c, 3, Dbm(0.0), MAX);
            p.start(&c, (target, Db(ramping)), 3, Db(loss), MAX);
            p
        };
        for (loss, ramping, f, power) in [
            (110.0, 0.0, 0.0, 12.771),
            (110.0, 6.0, 6.0, 18.771),
            (118.0, 6.0, 2.229, 23.0),
            (125.0, 6.0, 0.0, 23.0),
        ] {
            let p = of(loss, ramping);
            let found = (p.f, p.msg3(&c, target, 3, Db(loss), MAX).0);
            assert!((found.0 - f).abs() < 1e-3 && (found.1 - power).abs() < 1e-3, "{loss} dB: {found:?}");
        }
        let mut p = of(110.0, 6.0);
        assert!((p.pusch(&c, 1, Db(110.0), MAX).0 - 12.0).abs() < 1e-9);
        p.command(&c, 3, Dbm(0.0), MAX);
        assert!((p.pusch(&c, 1, Db(110.0), MAX).0 - 15.0).abs() < 1e-9);
        let full = PowerControlConfig { enabled: false, ..c };
        assert_eq!(p.msg3(&full, target, 3, Db(60.0), MAX), MAX);
    }

    /// Clause 5.1.1.2 with j = 2: at PL 110 an Msg3 on three blocks has 23 - 10.77 = 12.23 dB,
    /// which is 17 dB on one block. Other PUSCH has -82 + 88 = 6 dBm on one block, 17 dB of
    /// headroom; at PL 130 it has 1 dB, and an Msg3 -3 dB on one block.
    #[test]
    fn the_headroom_of_an_msg3_gives_that_of_other_blocks() {
        let (c, target, p) = (PowerControlConfig::default(), Dbm(-104.0), PowerControl::default());
        assert!((p.msg3_headroom(&c, target, 3, Db(110.0), MAX).0 - 12.229).abs() < 1e-3);
        for (loss, msg3, other) in [(110.0, 17.0, 17.0), (130.0, -3.0, 1.0)] {
            let reported = p.msg3_headroom(&c, target, 1, Db(loss), MAX);
            assert!((reported.0 - msg3).abs() < 1e-9);
            assert!((c.headroom_of_msg3(target, reported, MAX).0 - other).abs() < 1e-9);
        }
    }

    /// alpha 0.8, 10 blocks, PL 100: -80 + 10 + 80 = 10 dBm; headroom 13 dB; limited at PL 130: 34
    /// -> 23.
    #[test]
    fn fractional_control_makes_up_for_a_part_of_the_loss() {
        let c = PowerControlConfig { p0: Dbm(-80.0), alpha: 0.8, ..PowerControlConfig::default() };
        let p = PowerControl::default();
        assert!((p.pusch(&c, 10, Db(100.0), MAX).0 - 10.0).abs() < 1e-9);
        assert!((p.headroom(&c, 10, Db(100.0), MAX).0 - 13.0).abs() < 1e-9);
        assert_eq!(p.pusch(&c, 10, Db(130.0), MAX), MAX);
        let off = PowerControlConfig { enabled: false, ..c };
        assert_eq!(p.pusch(&off, 1, Db(50.0), MAX), MAX);
    }
}
