//! What is lexed and parsed.

use std::path::Path;

/// A piece of a program, with `{n}` for a number: comments, long names and indentation as real programs have them, so
/// that it is about as dense, at five bytes of source to a token. What is denser is slower by the byte.
const PIECE: &str = "\
// Orders, part {n}.
#derive(Eq, Clone)
type OrderLine{n} = { article: str, quantity: int, unit_price: float }

type Shipping{n} = Standard | Express(surcharge: float) | PickUp(location: str)

// > order_total([OrderLine { article: \"pen\", quantity: 2, unit_price: 1.5 }]) -> 3.0
pub @order_total_{n} (order_lines: [OrderLine{n}]) -> float = run(
    let running_total = 0.0,
    for order_line in order_lines if order_line.quantity > 0 do
        running_total = running_total + order_line.unit_price * (order_line.quantity as float),
    running_total,
)

@shipping_cost_{n} (shipping: Shipping{n}, is_weekend: bool) -> float = match(shipping,
    Standard -> 4.95,
    Express(surcharge) -> 4.95 + surcharge,
    PickUp(location).match(is_weekend) -> panic(msg: `{location} is closed`),
    PickUp(_) -> 0.0,
)

@test_order_total_{n} tests @order_total_{n} () -> void = run(
    let order_lines = [
        OrderLine{n} { article: \"pencil\", quantity: 10, unit_price: 0.5 },
        OrderLine{n} { article: \"notebook\", quantity: 2, unit_price: 3.25 },
    ],
    assert_eq(actual: order_total_{n}(order_lines: order_lines), expected: 11.5),
    assert_eq(actual: order_total_{n}(order_lines: []), expected: 0.0),
    assert(condition: order_lines.iter().all(predicate: order_line -> order_line.quantity > 0)),
)

";

/// The programs of the directory in `PHALANX_ORI_CORPUS`, or else one made of our own.
pub fn load() -> (String, Vec<Vec<u8>>) {
    if let Some(dir) = std::env::var_os("PHALANX_ORI_CORPUS") {
        let mut found = Vec::new();
        read(Path::new(&dir), &mut found);
        assert!(!found.is_empty(), "no programs in {}", dir.display());
        return ("real programs".to_string(), found);
    }
    let mut made = String::new();
    for number in 0.. {
        if made.len() > 2_000_000 {
            break;
        }
        made.push_str(&PIECE.replace("{n}", &number.to_string()));
    }
    ("a program made up for this".to_string(), vec![made.into_bytes()])
}

fn read(dir: &Path, found: &mut Vec<Vec<u8>>) {
    let mut paths: Vec<_> = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    for path in paths {
        if path.is_dir() {
            read(&path, found);
        } else if path.extension().is_some_and(|ext| ext == "ori") {
            found.push(std::fs::read(path).unwrap());
        }
    }
}
