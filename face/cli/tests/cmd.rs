//! What the command says, word for word: `tests/cmd/*.trycmd` are its
//! specification. `TRYCMD=overwrite cargo test -p gigatcp-cli` writes them
//! anew.

#[test]
fn every_word_is_as_specified() {
    trycmd::TestCases::new()
        .default_bin_name("gigatcp")
        .case("tests/cmd/*.trycmd");
}
