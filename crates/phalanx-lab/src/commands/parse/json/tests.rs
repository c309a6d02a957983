use super::*;
use phalanx_syntax::ori::parse;
use phalanx_testkit::measure;
use serde_json::{Map, json};

/// The document as a tree of values, which is what the printed one must equal.
fn as_values(name: &str, source: &[u8], seconds: f64) -> serde_json::Value {
    let ast = parse(source).unwrap();
    let lines = Lines::new(source);
    let figures = Figures::of(&ast, seconds);
    let figures = json!({
        "bytes": figures.bytes,
        "tokens": figures.tokens,
        "nodes": figures.nodes,
        "extra_words": figures.extra,
        "tree_bytes": figures.tree,
        "bytes_per_node": figures.per_node(),
        "tree_bytes_per_source_byte": figures.per_byte(),
        "seconds": figures.seconds,
    });
    let error = |error: &SyntaxError| {
        let place = lines.place(ast.source, error.span.start);
        json!({
            "line": place.line,
            "column": place.column,
            "start": error.span.start,
            "end": error.span.end,
            "message": error.to_string(),
        })
    };
    let node = |id: NodeId| {
        let mut fields = Map::new();
        for (info, value) in ast.tree.fields(id) {
            let value = match value {
                Ok(Value::Node(node)) => json!(node.map(|node| node.index())),
                Ok(Value::List(list)) => json!(list.iter().map(|node| node.index()).collect::<Vec<_>>()),
                Ok(Value::Pairs(pairs)) => {
                    json!(pairs.iter().map(|(a, b)| (a.index(), b.map(|b| b.index()))).collect::<Vec<_>>())
                }
                Ok(Value::Name(text)) => json!(text.map(|text| ast.name(text))),
                Ok(Value::Token(token)) => json!(token.index()),
                Ok(Value::Word(word)) => json!(word),
                Ok(Value::Char(char)) => json!(char),
                Ok(Value::Wide(wide)) => json!(wide),
                Ok(Value::Real(real)) => json!(real),
                Ok(_) | Err(_) => serde_json::Value::Null,
            };
            fields.insert(info.name.to_string(), value);
        }
        let span = ast.tree.span(id);
        json!({ "kind": ast.tree.kind(id).name(), "start": span.start, "end": span.end, "fields": fields })
    };
    let program = json!({
        "file": name,
        "figures": figures,
        "errors": ast.errors.iter().map(error).collect::<Vec<_>>(),
        "nodes": ast.tree.ids().map(node).collect::<Vec<_>>(),
    });
    json!({ "programs": [program], "total": figures })
}

/// A file of this test alone, which is removed at the end.
struct File(PathBuf);

impl File {
    fn new(name: &str, source: &[u8]) -> File {
        let path = std::env::temp_dir().join(format!("phalanx-{}-{name}.ori", std::process::id()));
        std::fs::write(&path, source).unwrap();
        File(path)
    }
}

impl Drop for File {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

fn written(file: &File, only_figures: bool) -> String {
    let files = [file.0.clone()];
    let mut bytes = Vec::new();
    write(&Document::new(&files, only_figures, |_: &str| {}), &mut bytes).unwrap();
    String::from_utf8(bytes).unwrap()
}

#[test]
fn what_is_streamed_is_what_the_tree_of_values_prints() {
    let sources = [
        "",
        "$x = [1, 2, 3]\n$y = 1.5\n$c = 'x'\n$s = \"text \\\" here\"\n",
        "@double (x: int) -> int = x * 2\n@main () -> void = run(a, b: 3)\n",
        "$x = 1\n$y = [1 2]\n$z = \n",
    ];
    for (at, source) in sources.iter().enumerate() {
        let file = File::new(&format!("same-{at}"), source.as_bytes());
        let text = written(&file, false);
        let seconds = serde_json::from_str::<serde_json::Value>(&text).unwrap()["total"]["seconds"].as_f64().unwrap();
        let expected = as_values(&name_of(&file.0), source.as_bytes(), seconds);
        assert_eq!(text, format!("{expected:#}\n"), "{source}");
        let figures: serde_json::Value = serde_json::from_str(&written(&file, true)).unwrap();
        let program = &figures["programs"][0];
        assert!(program.get("nodes").is_none() && program["figures"]["bytes"] == source.len(), "{figures}");
        assert_eq!(program["errors"], expected["programs"][0]["errors"]);
    }
}

#[test]
fn a_big_program_is_written_in_little_memory() {
    let source = "$list = [1, 2, 3, 4, 5, 6, 7, 8]\n".repeat(6_000);
    let file = File::new("big", source.as_bytes());
    let files = [file.0.clone()];
    let document = Document::new(&files, false, |_: &str| {});
    let (done, usage) = measure(|| write(&document, io::sink()));
    done.unwrap();
    assert!(document.total.borrow().nodes > 50_000);
    let most = 64 * source.len() as u64 + (1 << 20);
    assert!(usage.peak_bytes < most, "{} bytes for a source of {}", usage.peak_bytes, source.len());
}
