//! Tests of what ends the process.

use std::process::{Command, Output};

/// Runs `body` in a child process that is this test binary over again, and returns how it ended.
///
/// `test` is the full name of the calling test as the harness prints it. In the child the call runs
/// `body` and exits with success, so an abort shows as failure.
///
/// # Panics
/// Panics if the binary cannot be started.
pub fn in_child(test: &str, body: impl FnOnce()) -> Output {
    const MARK: &str = "PHALANX_TESTKIT_CHILD";
    if std::env::var(MARK).as_deref() == Ok(test) {
        body();
        std::process::exit(0);
    }
    let binary = std::env::current_exe().expect("a running test has a path");
    let output = Command::new(binary)
        .args(["--exact", test, "--nocapture", "--test-threads=1"])
        .env(MARK, test)
        .output()
        .expect("the test binary starts again");
    let ran = String::from_utf8_lossy(&output.stdout).contains("running 1 test");
    assert!(ran, "no test is named `{test}` in this binary");
    output
}
