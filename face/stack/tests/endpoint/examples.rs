//! The examples that need no privileges run; what they assert holds.

#[path = "../../examples/async_echo.rs"]
mod async_echo;
#[path = "../../examples/custom_control.rs"]
mod custom_control;
#[path = "../../examples/echo.rs"]
mod echo;
#[path = "../../examples/lossy.rs"]
mod lossy;
#[path = "../../examples/pair.rs"]
mod pair;

#[test]
fn a_file_goes_from_one_host_to_the_other() {
    pair::main();
}

#[test]
fn three_controls_cross_a_lossy_path() {
    lossy::main();
}

#[test]
fn two_hundred_clients_get_their_echo() {
    echo::main();
}

#[test]
fn fifty_tasks_get_their_echo() {
    async_echo::main();
}

#[test]
fn a_control_of_your_own_runs_next_to_cubic() {
    custom_control::main();
}

#[test]
fn the_guide_shows_the_driver_of_the_examples() {
    let guide = include_str!("../../../../docs/guide/embed.md");
    let (_, behind) = guide
        .split_once("<!-- tested: the driver -->\n\n```rust\n")
        .expect("the guide has the mark");
    let (shown, _) = behind.split_once("```").expect("the block ends");
    let driver = include_str!("../../examples/driver/mod.rs");
    let (_, code) = driver.split_once("\n\n").expect("a first line and code");
    assert_eq!(shown, code);
}
