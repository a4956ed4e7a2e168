//! Runs `tests/cmd/*.trycmd`, which specify the output of commands. `TRYCMD=overwrite cargo test -p
//! gigatcp` rewrites them.

#[test]
fn every_word_is_as_specified() {
    trycmd::TestCases::new()
        .default_bin_name("gigatcp")
        .case("tests/cmd/*.trycmd");
}
