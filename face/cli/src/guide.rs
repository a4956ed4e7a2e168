//! Text of `gigatcp` without arguments on a terminal: the next step for three kinds of users.

/// The text, at most 24 lines and 80 columns.
pub(crate) const TEXT: &str = "\
GigaTCP diagnoses, tests, emulates and simulates TCP connections.

You have a capture of a slow transfer
  gigatcp why trace.pcapng                  what limited it, and the fix
  gigatcp flows trace.pcapng                its connections, as a table

A host is slow
  gigatcp watch                             what limits its connections now
  gigatcp doctor --rtt 80ms --rate 1G       its settings that limit such a path
  gigatcp test HOST                         throughput and its limit; there runs
                                            gigatcp server, iperf3 -s, nuttcp -S

You have a question
  gigatcp theory --rate 10G --rtt 80ms      which buffers does this path need?
  gigatcp emulate --rtt 80ms -- ./program   how does my program behave there?
  gigatcp list; gigatcp run NAME            how does TCP behave? an experiment
  gigatcp new NAME                          one to change

First time here: gigatcp demo               slow, diagnosed, cured in 20 seconds
gigatcp --help lists all commands; gigatcp COMMAND --help ends with examples.
";

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::TEXT;

    #[test]
    fn the_guide_fits_a_terminal_and_names_commands_that_exist() {
        assert!(TEXT.lines().count() <= 24);
        assert!(TEXT.lines().all(|line| line.chars().count() <= 80));
        let command = crate::arguments::Arguments::command();
        let words: Vec<&str> = TEXT.split_whitespace().collect();
        let named = words.windows(2).filter(|pair| pair[0] == "gigatcp");
        for pair in named.filter(|pair| !["--help", "COMMAND"].contains(&pair[1])) {
            let name = pair[1].trim_end_matches([';', ',']);
            assert!(command.find_subcommand(name).is_some(), "{name}");
        }
    }
}
