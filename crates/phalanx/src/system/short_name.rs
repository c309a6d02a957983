//! [`ShortName`]: the name of a type without the paths of its modules.

use core::fmt;

/// Displays the name of a type or a function without the paths of modules, and without lifetimes.
///
/// ```
/// use phalanx::system::ShortName;
///
/// let name = core::any::type_name::<Option<std::collections::HashMap<u8, &'static str>>>();
/// assert_eq!(ShortName(name).to_string(), "Option<HashMap<u8, &str>>");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShortName<'a>(pub &'a str);

impl fmt::Display for ShortName<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = self.0.replace("'_, ", "").replace("<'_>", "").replace("{{closure}}", "closure");
        let is_part = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
        let mut rest = &*text;
        while let Some(start) = rest.find(is_part) {
            f.write_str(&rest[..start])?;
            let path = &rest[start..];
            let end = path.find(|c| !is_part(c)).unwrap_or(path.len());
            let mut parts = path[..end].rsplit("::");
            match (parts.next(), parts.next()) {
                // A closure is named after its function.
                (Some("closure"), Some(function)) => write!(f, "{function}::closure")?,
                (Some(last), _) => f.write_str(last)?,
                (None, _) => {}
            }
            rest = &path[end..];
        }
        f.write_str(rest)
    }
}
