//! Runs `late-first` beside built-in schedulers: a call at the edge of a cell and three downloads
//! nearer by.

use lasthop_sim::{Error, Extensions, Scenario};

const SCENARIO: &str = r#"
[scenario]
name = "own-scheduler"
duration = "5 s"

[link.core]
between = ["server", "enb"]
delay = "10 ms"

[radio]
fading = "epa"

[cell.enb]
resource_blocks = 25
radio = { power = "10 dBm" }

[ue.phone]
count = 3
ring = { inner = "200 m", outer = "1 km" }

[ue.caller]
radio = { position = ["2 km", "0 m", "1.5 m"] }
qos = { qci = 1 }
rlc = { mode = "um" }

[flow.download]
from = "server"
to = "phone"

[flow.call]
from = "server"
to = "caller"
transport = "udp"
app = { kind = "cbr", rate = "64 kbit/s", size = "160 B" }
"#;

fn main() -> Result<(), Error> {
    let extensions = Extensions::new().with_scheduler(own_cc::scheduler::late_first())?;
    for scheduler in ["fdmt", "proportional-fair", "late-first", "{ kind = 'late-first', budget = 0.001 }"] {
        let set = [format!("cell.enb.downlink.scheduler={scheduler}")];
        let scenario = Scenario::parse_with(SCENARIO, "cell.toml", "".as_ref(), &set, &extensions)?;
        let out = lasthop_sim::run(&scenario, None, &mut |_| true)?;
        let flows = &out.summary()["flows"];
        let call =
            flows.as_array().and_then(|all| all.iter().find(|f| f["flow"] == "call")).unwrap_or(&flows[0]);
        let of = |key: &str| call[key].as_f64().unwrap_or_default();
        let arrived = of("goodput_bps") / 64e3; // of the call's rate
        println!("{:3.0}% {:5.1} ms {scheduler}", 100.0 * arrived, 1e3 * of("delay_mean_s"));
    }
    Ok(())
}
