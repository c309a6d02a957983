//! What was measured, and on what.

/// The version of a package that is measured. Where others depend on other versions of it, the lockfile lists ours among
/// our dependencies.
pub fn version(package: &str) -> &'static str {
    let packages = || include_str!("../Cargo.lock").split("[[package]]");
    let after = |text: &'static str, start: &str| text.split_once(start)?.1.split('"').next();
    let ours = packages().find(|block| block.contains("\nname = \"phalanx-peers\"\n"));
    let listed = ours.and_then(|block| after(block, &format!("\"{package} ")));
    let named = || packages().find(|block| block.contains(&format!("\nname = \"{package}\"\n")));
    listed.or_else(|| after(named()?, "\nversion = \"")).unwrap_or("unknown")
}

/// The packages that have rows.
pub const PACKAGES: &[&str] = &[
    "phalanx",
    "bevy_ecs",
    "hecs",
    "shipyard",
    "sparsey",
    "specs",
    "legion",
    "flecs_ecs",
    "slotmap",
    "thunderdome",
    "generational-arena",
    "slab",
    "hashbrown",
    "rustc-hash",
    "indexmap",
    "soa_derive",
    "soa-rs",
    "postcard",
    "bincode",
];

/// Versions, processor and target in two sentences.
pub fn description() -> String {
    let versions: Vec<String> = PACKAGES.iter().map(|package| format!("{package} {}", version(package))).collect();
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = info.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    let processor = model.map_or("an unknown processor", |(_, name)| name);
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let target = if cfg!(target_feature = "avx2") { "compiled with AVX2" } else { "compiled for the default target" };
    format!("{processor}, {threads} threads, {target}. {}.", versions.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_package_is_in_the_lockfile() {
        for package in PACKAGES {
            assert!(version(package).starts_with(|c: char| c.is_ascii_digit()), "{package}");
        }
        assert_eq!(version("phalanx"), env!("CARGO_PKG_VERSION"));
        assert_eq!(version("no-such-package"), "unknown");
    }
}
