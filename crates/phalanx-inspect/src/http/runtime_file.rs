//! [`RuntimeFile`]: tells other programs of the same user where the inspector is.

use std::path::PathBuf;

/// A file that names address and key, readable by the user only. It is removed when it is dropped.
#[derive(Debug)]
pub(super) struct RuntimeFile(PathBuf);

impl RuntimeFile {
    /// Writes `$XDG_RUNTIME_DIR/phalanx/<process>-<port>.json`. Returns `None` if there is no such folder.
    #[cfg(unix)]
    pub(super) fn create(port: u16, text: &[u8]) -> Option<RuntimeFile> {
        use std::io::Write;
        use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
        let folder = PathBuf::from(std::env::var_os("XDG_RUNTIME_DIR")?).join("phalanx");
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&folder).ok()?;
        let path = folder.join(format!("{}-{port}.json", std::process::id()));
        // An earlier process may have had the same number.
        let _ = std::fs::remove_file(&path);
        let mut file = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path).ok()?;
        let created = RuntimeFile(path);
        file.write_all(text).ok()?;
        Some(created)
    }

    #[cfg(not(unix))]
    pub(super) fn create(_: u16, _: &[u8]) -> Option<RuntimeFile> {
        None
    }
}

impl Drop for RuntimeFile {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}
