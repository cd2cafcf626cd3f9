//! The features of a trial of a congestion control.

use super::scenario::{FlowDrawn, LinkDrawn};
use super::words::Words;

/// Variables of every sender, and of some.
const VARIABLES: [&str; 5] = ["cwnd", "inflight", "round", "snd_una", "ssthresh"];

/// Writes faults of links, some of which wait; returns their names.
pub(super) fn faults(w: &mut Words, links: &[LinkDrawn], flows: &[FlowDrawn]) -> Vec<String> {
    let mut waiting = Vec::new();
    for i in 0..w.int(0, 4) {
        w.table(format!("fault.x{i}"));
        let link = &links[w.int(0, links.len() as u64 - 1) as usize].name;
        let side = w.pick(&["forward", "reverse"]);
        w.key("link", format!("\"{link}.{side}\""));
        let action = w.pick(&["drop", "mark", "duplicate", "hold", "clear-ect", "clear-ce"]);
        w.key("action", format!("\"{action}\""));
        if action == "hold" {
            let time = w.time(1, 2_000_000);
            w.key("hold", time);
        }
        w.maybe(0.5, "packets", |w| w.word(&["data", "no-data", "all"]));
        if w.chance(0.2) {
            let list: Vec<String> = (0..w.int(1, 9)).map(|_| w.log(1, 1000).to_string()).collect();
            w.key("numbers", format!("[{}]", list.join(", ")));
        } else {
            let every = w.log(1, 100);
            w.key("every", every);
            w.maybe(0.3, "run", |w| w.log(1, every).to_string());
        }
        w.maybe(0.3, "count", |w| w.log(1, 100).to_string());
        w.maybe(0.2, "duration", |w| w.time(1, 5_000_000));
        if !flows.is_empty() && w.chance(0.5) {
            let flow = &flows[w.int(0, flows.len() as u64 - 1) as usize];
            w.key("flow", format!("\"{}\"", flow.name));
            if flow.tcp {
                w.maybe(0.5, "rounds", |w| w.log(1, 20).to_string());
            }
        }
        if w.chance(0.5) {
            w.key("autostart", "false");
            waiting.push(format!("fault.x{i}"));
        }
    }
    waiting
}

/// Writes keys of a flow's table and returns its application; `None`: another one.
pub(super) fn source(w: &mut Words, tcp: bool) -> Option<String> {
    w.maybe(0.2, "stagger_distribution", |w| w.word(&["constant", "exponential"]));
    if !tcp {
        return None;
    }
    w.maybe(0.2, "notsent_lowat", |w| w.bytes(1, 1_000_000));
    match w.int(0, 3) {
        0 => Some(format!(
            "{{ kind = \"bulk\", rate = {}, size = {} }}",
            w.rate(1000, 20_000_000),
            w.bytes(100, 100_000)
        )),
        1 => Some(format!(
            "{{ kind = \"file\", size = {}, size_distribution = {}, shape = {:.2} }}",
            w.bytes(1, 1_000_000),
            w.word(&["constant", "exponential", "pareto"]),
            1.01 + w.int(0, 300) as f64 / 100.0
        )),
        _ => None,
    }
}

/// Writes changes that wait for a sender.
pub(super) fn triggers(w: &mut Words, links: &[LinkDrawn], flows: &[FlowDrawn], faults: &[String]) {
    let senders: Vec<&FlowDrawn> = flows.iter().filter(|flow| flow.tcp).collect();
    if senders.is_empty() {
        return;
    }
    for i in 0..w.int(1, 5) {
        w.text.push_str("\n[[when]]\n");
        let flow = senders[w.int(0, senders.len() as u64 - 1) as usize];
        w.key("flow", format!("\"{}\"", flow.name));
        w.key("name", format!("\"t{i}\""));
        if i > 0 && w.chance(0.4) {
            let before = w.int(0, i - 1);
            w.key("after", format!("\"t{before}\""));
        }
        if w.chance(0.3) {
            let states = ["open", "disorder", "cwr", "recovery", "loss"];
            let state = w.word(&states);
            w.key("var", "\"ca_state\"");
            w.key("becomes", state);
            w.maybe(0.3, "from", |w| w.word(&states));
        } else {
            let variable = w.word(&VARIABLES);
            w.key("var", variable);
            let how = w.pick(&["becomes", "above", "below"]);
            let value = w.log(1, 200);
            w.key(how, value);
        }
        w.maybe(0.3, "nth", |w| w.log(1, 20).to_string());
        w.maybe(0.3, "delay_rounds", |w| w.log(1, 20).to_string());
        w.maybe(0.3, "delay", |w| w.time(1, 2_000_000));
        action(w, flow, links, flows, faults);
    }
}

/// Returns the action of a trigger.
fn action(w: &mut Words, flow: &FlowDrawn, links: &[LinkDrawn], flows: &[FlowDrawn], faults: &[String]) {
    let other = &flows[w.int(0, flows.len() as u64 - 1) as usize].name;
    let link = &links[w.int(0, links.len() as u64 - 1) as usize];
    match w.int(0, 4) {
        0 if !link.rates.is_empty() => {
            let side = w.pick(&link.rates);
            let rate = w.rate(20_000, 100_000_000);
            w.key("set", format!("{{ \"link.{}.{side}rate\" = {rate} }}", link.name));
        }
        1 => {
            let (delay, loss) = (w.time(10, 500_000), w.ratio(100.0));
            let batch = w.time(1, 200_000);
            let name = &link.name;
            w.key(
                "set",
                format!("{{ \"link.{name}.delay\" = {delay}, \"link.{name}.reverse.loss\" = {loss}, \"link.{name}.reverse.batch\" = {batch} }}"),
            );
        }
        2 if flow.app.starts_with("\"bulk") || flow.app.contains("\"bulk\"") => {
            let rate = w.rate(1000, 20_000_000);
            w.key("set", format!("{{ \"flow.{}.app.rate\" = {rate} }}", flow.name));
        }
        3 if !faults.is_empty() => {
            let fault = &faults[w.int(0, faults.len() as u64 - 1) as usize];
            let what = w.pick(&["start", "start", "stop"]);
            w.key(what, format!("\"{fault}\""));
        }
        _ => {
            let what = w.pick(&["start", "stop", "pause", "resume"]);
            w.key(what, format!("\"flow.{other}\""));
        }
    }
}
