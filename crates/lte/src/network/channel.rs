//! The radio channel, also while UEs receive in other threads.
//!
//! The results of receptions are first needed some TTIs later. With several threads the reception
//! of many UEs, and of the cells in the same TTI, is a [`Job`] of the other threads, which have the
//! channel meanwhile. The calling thread processes packets and events until something needs the
//! channel ([`Channel::get`]) or the results ([`Channel::take_results`]), and waits then.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Mutex, PoisonError};

use lasthop_units::Tti;

use super::reception::Job;
use super::team::{Team, Waits, Worker};
use crate::phy::air::Air;

/// The end of a job, or a panic of its thread.
type Ended = Result<Returned, Box<dyn Any + Send>>;

/// What a job returns: the radio channel, the results, and the sender, which only one job has at a
/// time. After a panic there is none, so that an access to the lost channel does not wait.
struct Returned {
    air: Box<Air>,
    job: Job,
    sender: Sender<Ended>,
}

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
    /// None while a job has it.
    sender: Option<Sender<Ended>>,
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
            sender: Some(sender),
            receiver: Mutex::new(receiver),
            waits: Waits::default(),
        }
    }

    /// The channel; waits while a job has it.
    #[inline]
    pub fn get(&mut self) -> &mut Air {
        let Channel { air, ended, sender, receiver, waits, .. } = self;
        air.get_or_insert_with(|| {
            let returned = wait(receiver, waits);
            (*ended, *sender) = (Some(returned.job), Some(returned.sender));
            returned.air
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
        debug_assert!(self.receives.is_none(), "results that were not taken");
        self.receives = Some(tti);
        self.get();
        let (Some(mut air), Some(sender)) = (self.air.take(), self.sender.take()) else { return };
        job.downlink.workers.resize_with(team.size() - 1, || Worker::new(air.memory()));
        team.spawn(move || {
            let run = AssertUnwindSafe(move || {
                job.run(&mut air);
                (air, job)
            });
            let ended = catch_unwind(run).map(|(air, job)| Returned { air, job, sender: sender.clone() });
            // The receiver is gone where the network is dropped during a job.
            let _dropped = sender.send(ended);
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

/// Waits for the end of the job that has the channel; a panic of the job is passed on.
#[cold]
fn wait(receiver: &mut Mutex<Receiver<Ended>>, waits: &Waits) -> Returned {
    let receiver = receiver.get_mut().unwrap_or_else(PoisonError::into_inner);
    let mut ended = None;
    waits.wait(|| {
        ended = receiver.try_recv().ok();
        ended.is_some()
    });
    match ended.unwrap_or_else(|| receiver.recv().expect("the job that has the channel has panicked")) {
        Ok(ended) => ended,
        Err(panic) => resume_unwind(panic),
    }
}

#[cfg(test)]
mod tests {
    use lasthop_radio::lte::{ErrorModel, Mcs, McsTable};
    use lasthop_units::{CellId, Id, UeId};

    use super::super::reception::UplinkBlock;
    use super::super::{CellConfig, NetworkConfig, UeConfig, measure};
    use super::*;
    use crate::phy::RbSet;

    fn channel() -> Channel {
        let mut config = NetworkConfig::default();
        let serving = config.cells.push(CellConfig::default());
        config.ues.push(UeConfig::served_by(serving));
        Channel::new(measure::air(&config, 1))
    }

    fn team(channel: &mut Channel) -> Team {
        let air = channel.get();
        Team::new(2, || air.memory()).unwrap()
    }

    #[test]
    fn a_job_returns_the_channel_and_its_results_once() {
        let mut channel = channel();
        let team = team(&mut channel);
        for tti in [Tti(5), Tti(6)] {
            let job = channel.job();
            channel.begin(tti, job, &team);
            assert!(channel.began_before(tti.plus(2)) && !channel.began_before(tti.plus(1)));
            assert_eq!(channel.get().ues(), 1);
            let mut taken = Vec::new();
            channel.take_results(|of, _| taken.push(of));
            channel.take_results(|of, _| taken.push(of));
            assert_eq!(taken, [tti]);
        }
    }

    /// The panic of the thread comes to the caller. The channel is lost then, and the next access
    /// does not wait for it.
    #[test]
    fn a_panic_in_a_job_is_passed_on_and_no_access_waits_after_it() {
        let mut channel = channel();
        let team = team(&mut channel);
        let mut job = channel.job();
        // No such UE.
        let (cell, ue) = (CellId::from_index(0), UeId::from_index(7));
        let block = ErrorModel::of_grant(Mcs::new(0), McsTable::Uplink, 1).unwrap();
        let rbs = RbSet::range(0, 1);
        let wrong = UplinkBlock { cell, ue, rbs, block, is_first: true, errors: true };
        job.uplink.of(Tti(5)).arriving.push(wrong);
        channel.begin(Tti(5), job, &team);
        for _ in 0..2 {
            assert!(catch_unwind(AssertUnwindSafe(|| channel.get().ues())).is_err());
        }
    }
}
