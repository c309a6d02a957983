//! [`Program`]: a running program with an inspector, and how it is found.

use serde_json::Value;
use std::fs::File;
use std::io::Read;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

/// The number of files that are looked at.
const FILE_LIMIT: usize = 256;

/// The longest file in bytes.
const LENGTH_LIMIT: u64 = 16 << 10;

/// A running program with an inspector.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Program {
    pub(crate) name: String,
    pub(crate) process: Option<u32>,
    pub(crate) address: SocketAddr,
    /// 32 hexadecimal digits.
    pub(crate) key: String,
}

fn is_key(text: &str) -> bool {
    text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'a'..=b'f'))
}

/// Returns the folder in which inspectors write where they are.
fn folder() -> Option<PathBuf> {
    std::env::var_os("XDG_RUNTIME_DIR").map(|folder| PathBuf::from(folder).join("phalanx"))
}

/// Returns `true` unless a process is known to have ended.
fn may_run(process: u32) -> bool {
    let processes = Path::new("/proc");
    !processes.join("self").exists() || processes.join(process.to_string()).exists()
}

/// Reads the file of an inspector. What is not one is ignored.
fn read(path: &Path) -> Option<Program> {
    let mut text = Vec::new();
    File::open(path).ok()?.take(LENGTH_LIMIT).read_to_end(&mut text).ok()?;
    let value: Value = serde_json::from_slice(&text).ok()?;
    let text = |name: &str| value.get(name).and_then(Value::as_str).map(str::to_owned);
    let process = value.get("process").and_then(Value::as_u64).and_then(|number| u32::try_from(number).ok());
    let (name, address, key) = (text("name")?, text("address")?.parse().ok()?, text("key")?);
    Some(Program { name, process, address, key }).filter(|program| is_key(&program.key))
}

/// Returns the programs of the user that are running, by process.
pub(crate) fn running() -> Vec<Program> {
    running_in(folder().as_deref())
}

fn running_in(folder: Option<&Path>) -> Vec<Program> {
    let Some(files) = folder.and_then(|folder| std::fs::read_dir(folder).ok()) else { return Vec::new() };
    let paths = files.take(FILE_LIMIT).filter_map(|file| Some(file.ok()?.path()));
    let mut found: Vec<Program> = paths
        .filter(|path| path.extension().is_some_and(|extension| extension == "json"))
        .filter_map(|path| read(&path))
        // A program that was killed leaves its file. A key is only sent to the program that it is from.
        .filter(|program| program.process.is_none_or(may_run))
        .collect();
    found.sort_by_key(|program| (program.process, program.address.port()));
    found
}

/// Finds the program of an address or process.
///
/// # Errors
///
/// Returns a sentence if there is none, or if the address is not a loopback address.
pub(crate) fn find(target: &str) -> Result<Program, String> {
    find_among(target, &running(), std::env::var("PHALANX_KEY").ok())
}

fn find_among(target: &str, running: &[Program], key: Option<String>) -> Result<Program, String> {
    if let Ok(process) = target.parse::<u32>() {
        let mut found = running.iter().filter(|program| program.process == Some(process));
        return match (found.next(), found.next()) {
            (Some(program), None) => Ok(program.clone()),
            (Some(_), Some(_)) => Err(format!("process {process} has several inspectors: name an address")),
            (None, _) => Err(format!("process {process} has no inspector")),
        };
    }
    let text = target.strip_prefix("http://").unwrap_or(target);
    let (text, fragment) = text.split_once("#key=").map_or((text, None), |(text, key)| (text, Some(key.to_owned())));
    let address = text.trim_end_matches('/').replace("localhost:", "127.0.0.1:");
    let address: SocketAddr = address.parse().map_err(|_| format!("`{target}` is neither an address nor a process"))?;
    if !address.ip().is_loopback() {
        return Err(format!("{address} is another machine: requests are not encrypted, so use a tunnel of SSH"));
    }
    let known = running.iter().find(|program| program.address == address);
    let key = fragment.or(key).or_else(|| known.map(|program| program.key.clone()));
    let key =
        key.ok_or_else(|| format!("the key of {address} is not known: give the whole address, or set PHALANX_KEY"))?;
    if !is_key(&key) {
        return Err("a key is 32 hexadecimal digits".into());
    }
    let (name, process) =
        known.map_or_else(|| (address.to_string(), None), |program| (program.name.clone(), program.process));
    Ok(Program { name, process, address, key })
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &str = "0123456789abcdef0123456789abcdef";

    fn program(process: u32, port: u16) -> Program {
        let address = SocketAddr::from(([127, 0, 0, 1], port));
        Program { name: format!("p{process}"), process: Some(process), address, key: KEY.into() }
    }

    #[test]
    fn a_program_is_found_by_process_and_address() {
        let running = [program(7, 7171), program(8, 7172), program(8, 7173)];
        let find = |target: &str| find_among(target, &running, None);
        assert_eq!(find("7").unwrap(), running[0]);
        assert_eq!(find("127.0.0.1:7172").unwrap(), running[1]);
        assert_eq!(find(&format!("http://localhost:9/#key={KEY}")).unwrap().address.port(), 9);
        for (target, part) in [
            ("8", "several"),
            ("9", "no inspector"),
            ("127.0.0.1:9", "not known"),
            ("10.0.0.1:7171", "another machine"),
            ("[2001:db8::1]:80", "another machine"),
            ("x", "neither"),
            ("127.0.0.1", "neither"),
            ("127.0.0.1:9/#key=7", "32"),
        ] {
            let error = find(target).unwrap_err();
            assert!(error.contains(part), "{target}: {error}");
        }
        assert_eq!(find_among("127.0.0.1:9", &[], Some(KEY.into())).unwrap().key, KEY);
    }

    #[test]
    fn files_that_are_not_those_of_inspectors_are_ignored() {
        let folder = std::env::temp_dir().join(format!("phalanx-top-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let own = std::process::id();
        let good = format!(r#"{{"name":"a","process":{own},"address":"127.0.0.1:1","key":"{KEY}"}}"#);
        for (name, text) in [
            ("1.json", good.as_str()),
            ("2.json", "{"),
            ("3.json", r#"{"name":"a","process":1,"address":"127.0.0.1:1","key":"short"}"#),
            ("4.txt", good.as_str()),
            ("5.json", &good.replace("127.0.0.1", "nowhere")),
            ("6.json", &"[".repeat(100_000)),
        ] {
            std::fs::write(folder.join(name), text).unwrap();
        }
        let found = running_in(Some(&folder));
        std::fs::remove_dir_all(&folder).unwrap();
        assert_eq!(found.iter().map(|program| program.name.as_str()).collect::<Vec<_>>(), ["a"]);
        assert!(running_in(None).is_empty() && running_in(Some(Path::new("/nowhere"))).is_empty());
    }
}
