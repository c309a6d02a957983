//! What the printer makes of programs, to the letter.

use phalanx_syntax::ori::{parse, print};

#[track_caller]
fn prints(source: &str, expected: &str) {
    let ast = parse(source.as_bytes()).unwrap();
    assert_eq!(ast.errors, []);
    assert_eq!(print(&ast), expected);
    let again = parse(expected.as_bytes()).unwrap();
    assert!(again.equals(&ast));
    assert_eq!(print(&again), expected);
}

#[test]
fn spaces_are_where_they_belong() {
    prints("$x=-a- -b*(c+d)", "$x = -a - -b * (c + d)\n");
    prints("$x = a>>b>c>=d", "$x = a >> b > c >= d\n");
    prints("@f<T:Eq>(x:Option<[T]>)->{str:int}=g( x )", "@f<T: Eq> (x: Option<[T]>) -> {str: int} = g(x)\n");
    prints("$x = [ 0 .. 10 by 2, ...rest ]", "$x = [0..10 by 2, ...rest]\n");
    prints("$x = pair . 0 . 1 as ? int", "$x = pair.0.1 as? int\n");
    prints("$x = Point{x:1,y}", "$x = Point { x: 1, y }\n");
    prints("$x = m [ # - 1 ] ( ) ?", "$x = m[# - 1]()?\n");
    prints("$x = a? ?", "$x = a? ?\n");
    prints("$x = for ( a , b ) in c do loop:l( break:l )", "$x = for (a, b) in c do loop:l(break:l)\n");
    prints("#[ derive( Eq ) ] type A=B|C( d:int )", "#[derive(Eq)]\ntype A = B | C(d: int)\n");
}

#[test]
fn what_does_not_fit_is_broken_at_its_commas() {
    let long = "a".repeat(40);
    prints(
        &format!("$x = f({long}, [{long}, Map<int, str>.new()], {long})"),
        &format!("$x = f(\n    {long},\n    [{long}, Map<int, str>.new()],\n    {long}\n)\n"),
    );
    prints(
        &format!("$x = run({long}, with A = {long}, B = c in d,)"),
        &format!("$x = run(\n    {long},\n    with A = {long}, B = c in d,\n)\n"),
    );
}

#[test]
fn comments_and_single_blank_lines_stay() {
    prints(
        "// head\n\n\n\n@f () = [ // first\n 1, // one\n\n\n // two\n 2 ] // last\n// end",
        "// head\n\n@f () = [ // first\n    1, // one\n\n    // two\n    2\n] // last\n// end\n",
    );
    prints("// nothing else", "// nothing else\n");
    prints("", "");
}

#[test]
fn templates_are_as_they_were() {
    prints("$x = f( `a  {b+c:>10}\n  d` )", "$x = f(`a  {b+c:>10}\n  d`)\n");
}
