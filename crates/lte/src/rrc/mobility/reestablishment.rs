//! Radio link failure (TS 36.331 clause 5.3.11.3), and what follows: cell selection, random access,
//! and re-establishment or a new connection (clause 5.3.7).

use lasthop_units::{CellId, Tti};

use super::{Answer, Command, Commands, Context, MobilityEvent, Phase, Question, UeMobility, ttis};

/// RRCConnectionReestablishment and RRCConnectionReconfiguration are answered within 15 ms each,
/// which the grants of the answers take into account (TS 36.331 table 11.2-1).
const PROCESSING: u64 = 15;
/// A cell that must wait for a path switch looks again so much later [TTI].
const BUSY: u64 = 5;

impl UeMobility {
    /// The radio link has failed: at the next TTI the UE acts upon it.
    pub(super) fn link_failure(&mut self, context: &Context<'_>, commands: &mut Commands) {
        let acts = matches!(self.phase, Phase::Failing { .. }) || self.phase.is_detached();
        if acts || !context.connected {
            return;
        }
        if let Phase::Commanding { target, .. } | Phase::Applying { target, .. } = self.phase {
            self.prepared = Some(target);
        }
        self.link.restart();
        commands.event(MobilityEvent::RadioLinkFailure, context.serving);
        let at = context.open;
        self.enter(Phase::Failing { at }, at, commands);
    }

    /// The steps of a re-establishment.
    pub(super) fn reestablishment_step(&mut self, context: &Context<'_>, commands: &mut Commands) {
        let tti = context.tti;
        match self.phase {
            Phase::Failing { at } if at <= tti => self.begin_reestablishment(context, commands),
            Phase::Selecting { at, .. } if at <= tti => {
                commands.push(Command::Ask(Question::SuitableCell));
            }
            // T311 ends a search.
            Phase::Selecting { t311, .. } if t311 <= tti => self.go_idle(context, commands),
            Phase::Acquiring { at, .. } if at <= tti => {
                let t301 = context.after(context.config.t301);
                self.access(Phase::Requesting { t301 }, t301, false, commands);
            }
            Phase::Acquiring { t311, .. } if t311 <= tti => self.go_idle(context, commands),
            Phase::Requesting { t301 } if t301 <= tti => self.go_idle(context, commands),
            // TS 36.331 v15.1.0 clause 5.3.7.7: "if timer T301 expires [...] perform the actions
            // upon leaving RRC_CONNECTED".
            Phase::Retrieving { t301, .. } if t301 <= tti => self.go_idle(context, commands),
            Phase::Retrieving { at, refused, .. } if at <= tti && refused => self.go_idle(context, commands),
            Phase::Retrieving { at, t301, .. } if at <= tti => self.retrieved(context, t301, commands),
            Phase::Restoring { at } if at <= tti => self.restored(context, commands),
            _ => {}
        }
    }

    /// The UE is nowhere, T311 runs (TS 36.331 clause 5.3.7.2).
    pub(super) fn begin_reestablishment(&mut self, context: &Context<'_>, commands: &mut Commands) {
        self.detach(context, context.serving, commands);
        let at = context.after(context.config.search);
        let t311 = context.after(context.config.t311);
        self.enter(Phase::Selecting { at, t311 }, at.min(t311), commands);
    }

    /// Cell selection has found this.
    pub(super) fn selected(
        &mut self,
        context: &Context<'_>,
        found: Option<(CellId, Tti)>,
        commands: &mut Commands,
    ) {
        let Phase::Selecting { at, t311 } = self.phase else { return };
        if at > context.tti {
            return;
        }
        if let Some((cell, at)) = found {
            self.detach(context, cell, commands);
            // A suitable cell is one whose system information the UE has: T311 runs until then.
            return self.enter(Phase::Acquiring { at, t311 }, at.min(t311), commands);
        }
        if t311 <= context.tti {
            return self.go_idle(context, commands);
        }
        let at = context.tti.plus(ttis(context.config.search).max(1));
        self.enter(Phase::Selecting { at, t311 }, at.min(t311), commands);
    }

    /// RRCConnectionReestablishmentRequest is at the eNB.
    // TS 36.331 v15.1.0 5.3.7.1: "The connection re-establishment succeeds only if the concerned
    // cell is prepared i.e. has a valid UE context."
    pub(super) fn context_found(&mut self, context: &Context<'_>, answer: Answer, commands: &mut Commands) {
        let Phase::Requesting { t301 } = self.phase else { return };
        let cell = context.serving;
        let here = context.data.enbs[cell] == context.data.home;
        let known = here || self.prepared == Some(cell);
        let lost = !(here || answer.reachable) || !(known || context.config.fetch_context);
        let refused = lost || !answer.admitted;
        let asks = if known || refused { 0 } else { 2 * context.x2_delay(cell) };
        commands.push(Command::ResolveContention);
        let at = context.tti.plus(asks).min(t301);
        self.enter(Phase::Retrieving { at, refused, t301 }, at, commands);
    }

    /// The cell has the UE's context, and answers unless it must wait: T301 stops when the answer
    /// is received (clause 7.3), and the answer waits for the end of the last change.
    fn retrieved(&mut self, context: &Context<'_>, t301: Tti, commands: &mut Commands) {
        let tti = context.tti;
        if context.data.forwarding || tti.plus(context.downlink_message()) > t301 {
            let at = tti.plus(BUSY).min(t301);
            return self.enter(Phase::Retrieving { at, refused: false, t301 }, at, commands);
        }
        commands.push(Command::MoveData(context.serving));
        // RRCConnectionReestablishment and a reconfiguration, each with its answer.
        let message = context.messages.map_or(0, |m| m.decode + PROCESSING + m.grant + m.decode);
        let at = tti.plus(2 * message);
        self.enter(Phase::Restoring { at }, at, commands);
    }

    fn restored(&mut self, context: &Context<'_>, commands: &mut Commands) {
        let cell = context.serving;
        let (left, source) = self.left;
        let interruption = Some(context.now.since(left));
        commands.push(Command::Event { event: MobilityEvent::Reestablished, cell, interruption });
        // It came where it should have been handed over to, and no command had reached it.
        if source != cell && self.prepared != Some(cell) {
            commands.event(MobilityEvent::TooLate, cell);
        }
        self.served(commands);
    }

    /// RRCConnectionReestablishmentReject, or T301 or T311 has expired: the connection is gone with
    /// what the network held for it. The UE connects anew when there is data.
    pub(super) fn go_idle(&mut self, context: &Context<'_>, commands: &mut Commands) {
        commands.push(Command::StopForwarding);
        commands.event(MobilityEvent::Rejected, context.serving);
        (self.phase, self.prepared) = (Phase::Steady, None);
        commands.push(Command::Release);
    }
}
