//! What was measured, and on what.

/// The version of a package that is measured.
pub fn version(package: &str) -> &'static str {
    let lock = include_str!("../Cargo.lock");
    let mut lines = lock.lines();
    let name = format!("name = \"{package}\"");
    let found = lines.by_ref().any(|line| line == name);
    let line = if found { lines.next() } else { None };
    line.and_then(|line| line.strip_prefix("version = \"")?.strip_suffix('"')).unwrap_or("unknown")
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
        assert_eq!(version("no-such-package"), "unknown");
    }
}
