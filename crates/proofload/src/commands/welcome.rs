//! `proofload` alone: three things to try.

use crate::Exit;
use crate::output;
use crate::problem::Problem;
use crate::systems::Systems;

/// Prints the three.
pub fn welcome() -> Result<Exit, Problem> {
    output::print(&text(Systems::here().locate("truth").is_ok()))?;
    Ok(Exit::Passed)
}

fn text(has_truth: bool) -> String {
    let second = match has_truth {
        true => {
            "  proofload serve truth --listen 127.0.0.1:8080\n      \
             no service at hand: start one that answers after a known time\n"
        }
        false => "  proofload explain\n      list the terms of a report, each to be explained\n",
    };
    format!(
        "Proofload runs a load experiment against a service, measures how much load it sustains,\n\
         and shows how certain each figure is. Try one of these:\n\n  \
         proofload run http://127.0.0.1:8080/ --rate 100/s --duration 10s\n      \
         load your service for ten seconds, and get a report in runs/\n\n\
         {second}\n  \
         proofload doctor\n      \
         see what this machine can measure\n\n\
         `proofload --help` lists all commands.\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_things_fit_a_screen_and_name_only_what_is_installed() {
        for has_truth in [true, false] {
            let text = text(has_truth);
            assert_eq!(text.matches("\n  proofload ").count(), 3, "{text}");
            assert_eq!(text.contains("serve truth"), has_truth);
            assert!(
                text.lines().count() <= 24 && text.lines().all(|line| line.len() <= 90),
                "{text}"
            );
        }
    }
}
