//! How long each library takes to compile from nothing, and how many crates that is.

use crate::machine::version;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

/// What a user adds: worlds, then stores, then structures of arrays.
const LIBRARIES: &[&str] = &[
    "phalanx",
    "hecs",
    "bevy_ecs",
    "shipyard",
    "sparsey",
    "specs",
    "legion",
    "flecs_ecs",
    "phalanx-store",
    "slotmap",
    "thunderdome",
    "generational-arena",
    "slab",
    "indexmap",
    "soa_derive",
    "soa-rs",
];

/// Prints a line for each library.
pub fn run() -> Result<(), String> {
    let root = std::env::temp_dir().join(format!("phalanx-builds-{}", std::process::id()));
    println!("| library | version | crates | seconds |\n| --- | --- | ---: | ---: |");
    let mut outcome = Ok(());
    for library in LIBRARIES {
        outcome = measure(library, &root.join(library));
        if outcome.is_err() {
            break;
        }
    }
    // What is left is in the folder for temporary files.
    let _ = std::fs::remove_dir_all(&root);
    outcome
}

fn measure(library: &str, folder: &Path) -> Result<(), String> {
    let ours = concat!(env!("CARGO_MANIFEST_DIR"), "/../../crates/");
    let (version, dependency) = match library {
        "phalanx" | "phalanx-store" => (version(library), format!("{{ path = {:?} }}", format!("{ours}{library}"))),
        _ => (version(library), format!("\"={}\"", version(library))),
    };
    let manifest = format!(
        "[package]\nname = \"user\"\nversion = \"0.0.0\"\nedition = \"2024\"\n[workspace]\n[dependencies]\n\
         {library} = {dependency}\n"
    );
    let write = |file: &str, text: &str| {
        std::fs::write(folder.join(file), text).map_err(|e| format!("cannot write {}: {e}", folder.display()))
    };
    std::fs::create_dir_all(folder.join("src")).map_err(|e| format!("cannot make {}: {e}", folder.display()))?;
    write("Cargo.toml", &manifest)?;
    write("src/main.rs", "fn main() {}\n")?;
    cargo(folder, &["fetch"])?;
    let tree = cargo(folder, &["tree", "--offline", "--prefix=none", "--edges=normal,build", "--format={p}"])?;
    let crates: std::collections::BTreeSet<&str> =
        tree.lines().skip(1).map(|line| line.trim_end_matches(" (*)")).collect();
    let start = Instant::now();
    cargo(folder, &["build", "--release", "--offline"])?;
    println!("| {library} | {version} | {} | {:.1} |", crates.len(), start.elapsed().as_secs_f64());
    Ok(())
}

fn cargo(folder: &Path, args: &[&str]) -> Result<String, String> {
    let output =
        Command::new("cargo").args(args).current_dir(folder).env("CARGO_TARGET_DIR", folder.join("target")).output();
    let output = output.map_err(|e| format!("cannot run cargo: {e}"))?;
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    } else {
        Err(format!("cargo {} failed in {}: {}", args[0], folder.display(), String::from_utf8_lossy(&output.stderr)))
    }
}
