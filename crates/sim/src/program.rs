//! The command line of a program with its own policies, which `lasthop judge PROGRAM:NAME` calls.
//!
//! `describe` writes the program's policies as JSON, `run FILE --out FOLDER` runs a scenario that
//! may name them. The judge reads cases, writes a scenario for each run and evaluates its tables.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use serde_json::json;

use crate::config::Diagnostic;
use crate::{Error, Extensions, Scenario, run};

const USAGE: &str = "write `describe`, or `run FILE --out FOLDER [--relative-to FOLDER]`; `lasthop judge PROGRAM:NAME` calls both";

/// The `main` of a program whose congestion controls `lasthop judge` is to judge. Takes the
/// arguments of the process; errors go to standard error, with exit code 1.
pub fn command(extensions: &Extensions) -> ExitCode {
    let arguments: Vec<String> =
        std::env::args_os().skip(1).map(|a| a.to_string_lossy().into_owned()).collect();
    match answer(extensions, &arguments) {
        Ok(text) => {
            println!("{text}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// The output of the command on standard output.
fn answer(extensions: &Extensions, arguments: &[String]) -> Result<String, Error> {
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let (file, out, folder) = match words[..] {
        ["describe"] => return Ok(description(extensions)),
        ["run", file, "--out", out] => (file, out, None),
        ["run", file, "--out", out, "--relative-to", folder] => (file, out, Some(folder)),
        _ => {
            let message = format!("unknown arguments `{}`", words.join(" "));
            return Err(Diagnostic::error("", message).help(USAGE).into());
        }
    };
    let text = fs::read_to_string(file).map_err(|e| Error::input(format!("cannot read {file}: {e}")))?;
    let folder = folder
        .map_or_else(|| Path::new(file).parent().map(Path::to_path_buf).unwrap_or_default(), PathBuf::from);
    let scenario = Scenario::parse_with(&text, file, &folder, &[], extensions)?;
    run(&scenario, Some(Path::new(out)), &mut |_| true)?;
    Ok(String::new())
}

fn description(extensions: &Extensions) -> String {
    let mut found = extensions.describe();
    found["lasthop"] = json!(env!("CARGO_PKG_VERSION"));
    found.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use lasthop_tcp::cc::{AckSample, Congestion, CongestionControl, Definition, Established, Observer};

    #[derive(Clone, Debug)]
    struct Fixed(f64);
    impl CongestionControl for Fixed {
        fn cwnd(&self) -> f64 {
            self.0
        }
        fn ssthresh(&self) -> f64 {
            f64::INFINITY
        }
        fn on_established(&mut self, _: &Established) {}
        fn on_ack(&mut self, _: &AckSample) {}
        fn on_congestion(&mut self, _: &Congestion) {}
        fn on_timeout(&mut self, _: &Congestion) {}
        fn set_cwnd(&mut self, _: f64) {}
        fn observe(&self, o: &mut Observer<'_>) {
            o.number("fixed.window", "segments", "the window", self.0);
        }
    }

    fn extensions() -> Extensions {
        let fixed = Definition::new("fixed", |setup| Ok(Box::new(Fixed(setup.parameter("window")))))
            .parameter("window", 10.0, "segments", "this test");
        Extensions::new().with_cc(fixed).unwrap()
    }

    fn words(line: &str) -> Vec<String> {
        line.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn it_describes_its_controls_with_their_variables() {
        let found: serde_json::Value =
            serde_json::from_str(&answer(&extensions(), &words("describe")).unwrap()).unwrap();
        assert_eq!(found["cc"][0]["name"], "fixed");
        assert_eq!(found["cc"][0]["variables"][0]["name"], "fixed.window");
        assert_eq!(found["cc"][0]["variables"][0]["unit"], "segments");
        assert_eq!(found["lasthop"], env!("CARGO_PKG_VERSION"));
    }

    #[test]
    fn it_runs_a_scenario_that_names_its_control() {
        let folder = std::env::temp_dir().join(format!("lasthop-program-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let [file, out] = ["s.toml", "out"].map(|name| folder.join(name).display().to_string());
        let scenario = "[scenario]\nname = 'x'\nduration = '1 s'\n[link.l]\nbetween = ['a', 'b']\n\
                        rate = '10 Mbit/s'\ndelay = '50 ms'\n\
                        [flow.f]\nfrom = 'a'\nto = 'b'\ntcp.cc = 'fixed'\n";
        fs::write(&file, scenario).unwrap();
        assert_eq!(answer(&extensions(), &words(&format!("run {file} --out {out}"))).unwrap(), "");
        let summary: serde_json::Value =
            serde_json::from_str(&fs::read_to_string(Path::new(&out).join("summary.json")).unwrap()).unwrap();
        fs::remove_dir_all(&folder).unwrap();
        // Ten segments of 1460 octets (profile rfc, no timestamps) in each round of 0.1 s and their
        // transmission: 10 x 1460 x 8 bit in 0.101 to 0.112 s, in nine of ten rounds or less.
        let goodput = summary["flows"][0]["goodput_bps"].as_f64().unwrap();
        assert!((0.85e6..1.17e6).contains(&goodput), "{goodput}");
    }

    #[test]
    fn wrong_arguments_name_the_right_ones() {
        for line in ["", "run", "run x", "describe it"] {
            let text = answer(&extensions(), &words(line)).unwrap_err().to_string();
            assert!(text.contains("lasthop judge PROGRAM:NAME"), "{text}");
        }
        let text = answer(&extensions(), &words("run /nowhere/x.toml --out y")).unwrap_err().to_string();
        assert!(text.contains("cannot read /nowhere/x.toml"), "{text}");
    }
}
