//! The files of the page, as they are in the folder `web`.

/// A file of the page.
#[derive(Debug)]
pub(super) struct File {
    pub(super) content_type: &'static str,
    pub(super) text: &'static str,
}

const SCRIPT: &str = "text/javascript; charset=utf-8";

/// Returns the file at a path.
pub(super) fn find(path: &str) -> Option<File> {
    macro_rules! files {
        ($($path:literal $content_type:expr => $name:literal)*) => {
            match path {
                $( $path => Some(File { content_type: $content_type, text: include_str!(concat!("../../web/", $name)) }), )*
                _ => None,
            }
        };
    }
    files! {
        "/" "text/html; charset=utf-8" => "index.html"
        "/style.css" "text/css; charset=utf-8" => "style.css"
        "/icon.svg" "image/svg+xml" => "icon.svg"
        "/main.js" SCRIPT => "main.js"
        "/api.js" SCRIPT => "api.js"
        "/dom.js" SCRIPT => "dom.js"
        "/grid.js" SCRIPT => "grid.js"
        "/query.js" SCRIPT => "query.js"
        "/entities.js" SCRIPT => "entities.js"
        "/entity.js" SCRIPT => "entity.js"
        "/storage.js" SCRIPT => "storage.js"
        "/time.js" SCRIPT => "time.js"
        "/compare.js" SCRIPT => "compare.js"
        "/charts.js" SCRIPT => "charts.js"
        "/systems.js" SCRIPT => "systems.js"
    }
}
