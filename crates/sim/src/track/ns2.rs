//! ns-2's movement commands (CMU's setdest; The ns Manual, section "Creating node movements").

use super::{Sample, Samples, TrackError, wrong};

/// The present movement of a node.
#[derive(Clone, Copy)]
struct Leg {
    t: f64,
    from: [f64; 2],
    to: [f64; 2],
    speed: f64,
    line: usize,
}

impl Leg {
    fn end(&self) -> f64 {
        let (dx, dy) = (self.to[0] - self.from[0], self.to[1] - self.from[1]);
        let way = (dx * dx + dy * dy).sqrt();
        if self.speed > 0.0 { self.t + way / self.speed } else { self.t }
    }
    fn at(&self, t: f64) -> [f64; 2] {
        let end = self.end();
        if self.speed <= 0.0 {
            return self.from;
        }
        if t >= end {
            return self.to;
        }
        let share = (t - self.t) / (end - self.t);
        [0, 1].map(|i| self.from[i] + share * (self.to[i] - self.from[i]))
    }
}

#[derive(Default)]
struct Node {
    start: [Option<f64>; 2],
    leg: Option<Leg>,
    out: Vec<Sample>,
}

type Nodes = indexmap::IndexMap<String, Node>;

/// A node moves to a new destination.
struct Command {
    t: f64,
    line: usize,
    node: String,
    to: [f64; 2],
    speed: f64,
}

/// `$node_(I) set X_ V`, `$ns_ at T "$node_(I) setdest X Y S"`; other commands of such files do not
/// concern places. A new destination ends the movement to the old one.
pub(super) fn read(text: &str, fastest: f64) -> Result<Samples, TrackError> {
    let (mut nodes, mut commands) = parse(text)?;
    // Tools write commands node by node or in order of time; ns-2 processes them in order of time.
    commands.sort_by(|a, b| a.t.total_cmp(&b.t));
    for command in commands {
        command.carry_out(&mut nodes, fastest)?;
    }
    let mut samples = Samples::new();
    for (id, mut node) in nodes {
        close(&mut node, None);
        if let ([Some(x), Some(y)], true) = (node.start, node.out.is_empty()) {
            node.out.push(Sample { line: 0, t: 0.0, at: [x, y] });
        }
        samples.insert(id, node.out);
    }
    Ok(samples)
}

/// The nodes with the places at which they start, and the commands in the order of the file.
fn parse(text: &str) -> Result<(Nodes, Vec<Command>), TrackError> {
    let mut nodes = Nodes::new();
    let mut commands = Vec::new();
    for (i, line) in text.lines().enumerate() {
        let number = i + 1;
        let plain = line.replace(['"', '{', '}'], " ");
        let words: Vec<&str> = plain.split_whitespace().collect();
        let (t, rest) = match words.as_slice() {
            ["$ns_", "at", t, rest @ ..] => (Some(value(t, number)?), rest),
            all => (None, all),
        };
        let Some(id) = rest.first().and_then(|w| w.strip_prefix("$node_(")).and_then(|w| w.strip_suffix(')'))
        else {
            continue;
        };
        let node = nodes.entry(id.to_owned()).or_default();
        match (t, &rest[1..]) {
            (None, ["set", axis @ ("X_" | "Y_"), v]) => {
                node.start[usize::from(*axis == "Y_")] = Some(value(v, number)?);
            }
            (_, ["set", "Z_", _]) => {}
            (Some(_), ["set", ..]) => {
                let message = format!("node {id} is put to another place during the run: a jump");
                return wrong(number, message, "use setdest");
            }
            (Some(t), ["setdest", x, y, v]) => {
                let [x, y, speed] = [value(x, number)?, value(y, number)?, value(v, number)?];
                commands.push(Command { t, line: number, node: id.to_owned(), to: [x, y], speed });
            }
            (None, ["setdest", ..]) => {
                let help = "write `$ns_ at TIME \"$node_(I) setdest X Y SPEED\"`";
                return wrong(number, "a setdest without a time", help);
            }
            _ => {}
        }
    }
    Ok((nodes, commands))
}

impl Command {
    /// Ends the present movement of its node and begins this one.
    fn carry_out(self, nodes: &mut Nodes, fastest: f64) -> Result<(), TrackError> {
        let Command { t, line, node: id, to, speed } = self;
        if t < 0.0 {
            let message = format!("node {id}: the time {t} s is before the start");
            return wrong(line, message, "add a constant to all times");
        }
        if speed < 0.0 || speed > fastest {
            let message = format!("node {id} moves at {speed} m/s");
            let help = "the last number of setdest is the speed [m/s]; raise `fastest` if it is meant";
            return wrong(line, message, help);
        }
        let Some(node) = nodes.get_mut(&id) else { return Ok(()) };
        let [Some(x0), Some(y0)] = node.start else {
            let message = format!("node {id} moves, and its start is missing");
            return wrong(line, message, "add `$node_(I) set X_ ...` and `set Y_ ...`");
        };
        let here = node.leg.map_or([x0, y0], |leg| leg.at(t));
        close(node, Some(t));
        node.leg = Some(Leg { t, from: here, to, speed, line });
        Ok(())
    }
}

/// Writes the present movement of a node, up to `until`.
fn close(node: &mut Node, until: Option<f64>) {
    let Some(leg) = node.leg.take() else { return };
    node.out.push(Sample { line: leg.line, t: leg.t, at: leg.from });
    let end = leg.end();
    match until {
        Some(t) if t <= end => node.out.push(Sample { line: leg.line, t, at: leg.at(t) }),
        _ if end > leg.t => node.out.push(Sample { line: leg.line, t: end, at: leg.to }),
        _ => {}
    }
}

fn value(word: &str, line: usize) -> Result<f64, TrackError> {
    match word.parse::<f64>() {
        Ok(x) if x.is_finite() => Ok(x),
        _ => wrong(
            line,
            format!("`{word}` is no number"),
            "variables of Tcl are not known here: write their values",
        ),
    }
}
