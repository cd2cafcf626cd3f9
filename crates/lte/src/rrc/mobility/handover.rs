//! Handover, step by step (TS 36.300 clause 10.1.2.1, TS 36.331 clauses 5.3.5.4 to 5.3.5.6).
//!
//! Report, preparation over X2 (which the target may refuse), command, execution: the UE leaves,
//! synchronises and sends a dedicated preamble; the target serves it from
//! RRCConnectionReconfigurationComplete on and has the path switched. A step that fails is an
//! event, and the UE goes on with what the standard says.

use lasthop_units::{CellId, Tti};

use super::{Command, Commands, Context, MobilityEvent, Phase, Question, UeMobility, ttis};

/// From one attempt to bring a command to the UE to the next [TTI]: HARQ's round trip.
const REPEAT: u64 = 8;
/// A source that forwards looks again so much later whether another handover may begin [TTI].
const BUSY: u64 = 5;

impl UeMobility {
    /// A handover is ordered: nothing while another one goes on.
    pub(super) fn order(&mut self, context: &Context<'_>, target: CellId, commands: &mut Commands) {
        if context.connected && context.serving != target && self.phase == Phase::Steady {
            let at = context.open;
            self.enter(Phase::Reporting { target, at }, at, commands);
        }
    }

    /// A served UE looks at its measurements: a report, or an early preparation.
    pub(super) fn consider(&mut self, context: &Context<'_>, commands: &mut Commands) {
        if !context.connected {
            return;
        }
        let (config, tti) = (context.config, context.tti);
        let changing = context.data.is_changing();
        let report = self.measuring.events().report(&config.trigger, tti);
        let at = tti.plus(context.report());
        if let Some(target) = report {
            if self.prepared == Some(target) && !changing {
                // Conditional handover: the UE has its command already.
                return self.apply(context, target, tti, tti, commands);
            }
            self.enter(Phase::Reporting { target, at }, at, commands);
        } else if let Some(target) = self.early_target(context).filter(|_| !changing) {
            let at = at.plus(2 * context.x2_delay(target));
            self.enter(Phase::Preparing { target, at, early: true }, at, commands);
        }
    }

    /// Conditional handover: the strongest cell that is above the margin and not prepared.
    fn early_target(&self, context: &Context<'_>) -> Option<CellId> {
        let (margin, serving) = (context.config.conditional?, context.serving);
        let own = self.measured(serving).map_or(f64::NEG_INFINITY, |m| m.rsrp);
        let near = |cell, rsrp: f64| cell != serving && rsrp - own > margin.0;
        self.measuring.events().strongest(near).filter(|target| self.prepared != Some(*target))
    }

    /// The source has a report: HANDOVER REQUEST goes to the target, its answer comes back.
    pub(super) fn prepare(&mut self, context: &Context<'_>, target: CellId, commands: &mut Commands) {
        if context.data.is_changing() {
            let at = context.tti.plus(BUSY);
            return self.enter(Phase::Reporting { target, at }, at, commands);
        }
        commands.event(MobilityEvent::PreparationStarted, target);
        let at = context.tti.plus(2 * context.x2_delay(target));
        self.enter(Phase::Preparing { target, at, early: false }, at, commands);
    }

    /// HANDOVER REQUEST ACKNOWLEDGE or HANDOVER PREPARATION FAILURE is at the source.
    pub(super) fn prepared(&mut self, context: &Context<'_>, admitted: bool, commands: &mut Commands) {
        let Phase::Preparing { target, at, early } = self.phase else { return };
        if at > context.tti {
            return;
        }
        if !admitted {
            self.phase = Phase::Steady;
            self.measuring.restart();
            return commands.event(MobilityEvent::PreparationRefused, target);
        }
        self.prepared = Some(target);
        if early {
            self.phase = Phase::Steady;
            commands.event(MobilityEvent::Prepared, target);
            return self.await_trigger(context, commands);
        }
        self.enter(Phase::Commanding { target, at: context.tti }, context.tti, commands);
        commands.push(Command::Ask(Question::HearsCommand));
    }

    /// RRCConnectionReconfiguration with mobilityControlInfo went out; a UE that cannot hear it
    /// gets it again until its link is lost.
    pub(super) fn commanded(&mut self, context: &Context<'_>, received: bool, commands: &mut Commands) {
        let Phase::Commanding { target, at } = self.phase else { return };
        if at > context.tti {
            return;
        }
        if !received {
            let at = context.tti.plus(REPEAT);
            return self.enter(Phase::Commanding { target, at }, at, commands);
        }
        let received = context.tti.plus(context.downlink_message());
        let at = received.plus(context.messages.map_or(0, |_| ttis(context.config.processing)));
        self.apply(context, target, received, at, commands);
    }

    /// The UE has its command in `received`, and carries it out in `at`.
    // TS 36.331 clause 5.3.5.4: T310 stops, T304 starts.
    fn apply(
        &mut self,
        context: &Context<'_>,
        target: CellId,
        received: Tti,
        at: Tti,
        commands: &mut Commands,
    ) {
        self.link.restart();
        let t304 = received.plus(ttis(context.config.t304));
        self.enter(Phase::Applying { target, at, t304 }, at.min(t304), commands);
    }

    /// The UE detaches: MAC and the bearers' lower layers end here, and the source begins to
    /// forward.
    pub(super) fn leave(
        &mut self,
        context: &Context<'_>,
        target: CellId,
        t304: Tti,
        commands: &mut Commands,
    ) {
        commands.event(MobilityEvent::Started, target);
        self.detach(context, target, commands);
        self.prepared = None;
        commands.push(Command::MoveData(target));
        let at = context.after(context.config.interruption);
        self.enter(Phase::Synchronising { at, t304 }, at.min(t304), commands);
    }

    /// Random access in a cell.
    pub(super) fn access(&mut self, phase: Phase, until: Tti, dedicated: bool, commands: &mut Commands) {
        self.enter(phase, until, commands);
        commands.push(Command::Access { dedicated });
    }

    /// Where messages take no time, a handover is complete with the random access response.
    pub(super) fn response_received(&mut self, context: &Context<'_>, commands: &mut Commands) {
        if self.is_accessing() {
            let at = context.tti.plus(1);
            self.enter(Phase::Completing { at }, at, commands);
        }
    }

    /// RRCConnectionReconfigurationComplete is at the target, which serves the UE from now on.
    // TS 36.331 clause 5.3.5.4: T304 stops.
    pub(super) fn handover_complete(&mut self, context: &Context<'_>, commands: &mut Commands) {
        let cell = context.serving;
        let (left, source) = self.left;
        let back = self.last.replace((source, context.tti));
        let recent = |at: Tti| at.plus(ttis(context.config.ping_pong)) >= context.tti;
        let interruption = Some(context.now.since(left));
        commands.push(Command::Event { event: MobilityEvent::Complete, cell, interruption });
        if back.is_some_and(|(from, at)| from == cell && recent(at)) {
            commands.event(MobilityEvent::PingPong, cell);
        }
        self.served(commands);
    }

    /// T304 has expired (TS 36.331 clause 5.3.5.6): the UE goes back to what it had and
    /// re-establishes its connection. The source has its data still.
    pub(super) fn handover_failed(&mut self, context: &Context<'_>, commands: &mut Commands) {
        let target = match self.phase {
            Phase::Applying { target, .. } => target,
            _ => context.serving,
        };
        // The target was prepared and knows the UE.
        self.prepared = Some(target);
        commands.event(MobilityEvent::Failed, target);
        if self.phase.is_detached() {
            commands.push(Command::Recall);
        }
        self.begin_reestablishment(context, commands);
    }
}
