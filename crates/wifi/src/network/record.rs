//! Records of a network on request: transmitted frames, and where packets are in the MAC. Off by
//! default; no result of the simulation depends on them.

mod frames;
mod stages;

pub use frames::{FrameRecorder, Sent};
pub use stages::{BurstOf, LostMpdu, StageRecorder, WlanNote, WlanStage};

/// The recorders.
#[derive(Debug, Default)]
pub struct Recorders {
    /// Where packets are.
    pub(super) stages: StageRecorder,
    /// The transmitted frames, if they are recorded.
    pub(super) frames: Option<Box<FrameRecorder>>,
}

impl Recorders {
    /// Starts to record where packets are.
    pub fn record_stages(&mut self) {
        self.stages.begin();
    }
    /// The stages of packets since the last call.
    pub fn stages(&mut self) -> impl Iterator<Item = WlanNote> + '_ {
        self.stages.drain()
    }
    /// The MPDUs of packets that were dropped since the last call, if stages are recorded.
    pub fn lost(&mut self) -> impl Iterator<Item = LostMpdu> + '_ {
        self.stages.drain_lost()
    }
    /// Starts to list transmitted frames in [`WlanOutput::noted`](super::WlanOutput::noted).
    pub fn record_frames(&mut self) {
        self.frames = Some(Box::default());
    }
}
