//! Tests of the running kernel as a stack for packet scripts. Without the privilege to create a
//! test network namespace, each prints that with a hint and proves nothing.
#![cfg(target_os = "linux")]

mod differences;
mod lab;
mod loud;
mod privilege;
mod runner;
mod stack;
