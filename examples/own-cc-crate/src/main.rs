//! Runs `aimd` beside `reno` over the same link and prints what each got.

use lasthop_sim::{Error, Extensions, Scenario};

const SCENARIO: &str = r#"
[scenario]
name = "own-cc"
duration = "30 s"

[link.bottleneck]
between = ["server", "phone"]
rate = "10 Mbit/s"
delay = "20 ms"
queue = { kind = "droptail", packets = 30 }

[flow.down]
from = "server"
to = "phone"
tcp = { profile = "linux-6", initial_ssthresh = 60 }
"#;

fn main() -> Result<(), Error> {
    let extensions = Extensions::new().with_cc(own_cc::aimd())?;
    println!("{}", extensions.describe()["cc"][0]);
    for sets in [
        vec!["flow.down.tcp.cc=reno"],
        vec!["flow.down.tcp.cc=aimd"],
        vec!["flow.down.tcp.cc=aimd", "flow.down.tcp.cc_parameters.beta=0.9"],
    ] {
        let overrides: Vec<String> = sets.iter().map(|s| (*s).to_owned()).collect();
        let scenario = Scenario::parse_with(SCENARIO, "own-cc.toml", "".as_ref(), &overrides, &extensions)?;
        let out = lasthop_sim::run(&scenario, None, &mut |_| true)?;
        let goodput = out.summary()["flows"][0]["goodput_bps"].as_f64().unwrap_or_default();
        println!("{}: {:.2} Mbit/s", sets.join(" "), goodput / 1e6);
    }
    Ok(())
}
