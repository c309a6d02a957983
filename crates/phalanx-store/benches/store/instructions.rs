//! Instructions of a removal, counted by callgrind: what a timing of removals blurs.

use crate::contenders::{Contender, DenseSlotMap, Linear, Packed, Slot, SlotMap, Sparse, Thunderdome};
use crate::workloads::filled;
use phalanx_testkit::Rng;
use std::hint::black_box;
use std::process::Command;

const N: usize = 20_000;

fn run<S: Contender>(removing: bool) {
    let (mut store, mut keys) = filled::<S>(N);
    Rng::new(13).shuffle(&mut keys);
    if removing {
        for &key in &keys {
            black_box(store.remove(key));
        }
    }
    black_box(&mut store);
    // The store is not dropped, so that both runs end alike.
    std::mem::forget(store);
}

macro_rules! each {
    ($($contender:ident)*) => {
        /// What the child process does: fill a store, and remove everything if told to.
        pub fn child(name: &str, removing: bool) {
            $(if name == $contender::NAME { run::<$contender>(removing); })*
        }
        const NAMES: &[&str] = &[$($contender::NAME),*];
    };
}
each!(Packed Slot Sparse Linear DenseSlotMap SlotMap Thunderdome);

/// Returns the instructions of one removal, by container. The list is empty if callgrind is not available.
pub fn count() -> Vec<(&'static str, f64)> {
    let counted = |name: &str, removing: bool| {
        let program = std::env::current_exe().ok()?;
        let output = Command::new("valgrind")
            .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
            .arg(program)
            .args(["--child", name, if removing { "remove" } else { "fill" }])
            .output()
            .ok()
            // It does not know the instructions of every processor.
            .filter(|output| output.status.success())?;
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        let line = text.lines().find(|line| line.contains("Collected"))?;
        line.rsplit(':').next()?.trim().parse::<f64>().ok()
    };
    let one = |name: &&'static str| Some((*name, (counted(name, true)? - counted(name, false)?) / N as f64));
    NAMES.iter().filter_map(one).collect()
}
