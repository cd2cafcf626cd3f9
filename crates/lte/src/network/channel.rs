//! The radio channel, also while UEs receive in other threads.
//!
//! The results of a TTI's downlink are first needed some TTIs later. With several threads the
//! reception of many UEs is a [`Job`] of the other threads, which have the channel meanwhile. The
//! calling thread processes packets and events until something needs the channel
//! ([`Channel::get`]) or the results ([`Channel::take_results`]), and waits then.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Mutex, PoisonError};

use lasthop_units::Tti;

use super::reception::Job;
use super::team::{Team, Waits};
use crate::phy::air::Air;

/// The end of a job: the channel and the results, or a panic of the thread.
type Ended = Result<(Box<Air>, Job), Box<dyn Any + Send>>;

/// The radio channel of a network.
#[derive(Debug)]
pub(super) struct Channel {
    /// None while a job has it.
    air: Option<Box<Air>>,
    /// The TTI of a job whose results are not taken yet.
    receives: Option<Tti>,
    /// A job that has ended, whose results are not taken yet.
    ended: Option<Job>,
    /// Memory for the next job.
    spare: Option<Job>,
    sender: Sender<Ended>,
    receiver: Mutex<Receiver<Ended>>,
    waits: Waits,
}

impl Channel {
    /// The channel `air`.
    pub fn new(air: Air) -> Channel {
        let (sender, receiver) = mpsc::channel();
        Channel {
            air: Some(Box::new(air)),
            receives: None,
            ended: None,
            spare: None,
            sender,
            receiver: Mutex::new(receiver),
            waits: Waits::default(),
        }
    }

    /// The channel; waits while a job has it.
    #[inline]
    pub fn get(&mut self) -> &mut Air {
        let Channel { air, ended, receiver, waits, .. } = self;
        air.get_or_insert_with(|| {
            let (air, job) = wait(receiver, waits);
            *ended = Some(job);
            air
        })
    }

    /// Keeps the memory of `job`.
    pub fn keep(&mut self, job: Job) {
        self.spare = Some(job);
    }

    /// Memory for a job.
    pub fn job(&mut self) -> Job {
        self.spare.take().unwrap_or_default()
    }

    /// True if a job of a TTI before the one before `tti` has results to be taken: they may be
    /// needed from now on.
    pub fn began_before(&self, tti: Tti) -> bool {
        self.receives.is_some_and(|of| of.plus(1) < tti)
    }

    /// Gives `job` of `tti` to the other threads of `team`. The results of the one before must have
    /// been taken.
    pub fn begin(&mut self, tti: Tti, mut job: Job, team: &Team) {
        debug_assert!(self.receives.is_none(), "results that nobody has taken");
        self.receives = Some(tti);
        self.get();
        let Some(mut air) = self.air.take() else { return };
        let sender = self.sender.clone();
        team.spawn(move || {
            let run = AssertUnwindSafe(move || {
                job.run(&mut air);
                (air, job)
            });
            // The receiver is gone where the network is dropped during a job.
            let _dropped = sender.send(catch_unwind(run));
        });
    }

    /// Passes the results of the last job, with its TTI, to `take`, once.
    #[inline]
    pub fn take_results(&mut self, take: impl FnOnce(Tti, &Job)) {
        if let Some(tti) = self.receives.take() {
            self.get();
            if let Some(job) = self.ended.take() {
                take(tti, &job);
                self.spare = Some(job);
            }
        }
    }
}

/// Waits for the end of the job that has the channel.
#[cold]
fn wait(receiver: &mut Mutex<Receiver<Ended>>, waits: &Waits) -> (Box<Air>, Job) {
    let receiver = receiver.get_mut().unwrap_or_else(PoisonError::into_inner);
    let mut ended = None;
    waits.wait(|| {
        ended = receiver.try_recv().ok();
        ended.is_some()
    });
    match ended.unwrap_or_else(|| receiver.recv().expect("the channel has a sender of its own")) {
        Ok(ended) => ended,
        Err(panic) => resume_unwind(panic),
    }
}
