//! Labels that are laid out only when their text has changed: `cargo run -p phalanx --example tracking`.

use phalanx::{Added, Changed, Component, Entity, QueryState, Ref, World};

#[derive(Component)]
struct Score(u32);

/// The text of a label. Each value knows when it was added and changed.
#[derive(Component, PartialEq)]
#[component(track = "row")]
struct Text(String);

/// What is expensive: the widths of a text, glyph by glyph.
#[derive(Component)]
struct Layout(Vec<u32>);

/// The state of the mouse over a label. It is enough to know that one of them has changed.
#[derive(Component)]
#[component(track = "column", layout = "pool")]
struct Hover(bool);

/// Everything that has a memory of its last run.
struct Ui {
    changed: QueryState<(&'static Text, &'static mut Layout), Changed<Text>>,
    added: QueryState<Entity, Added<Text>>,
    hovers: QueryState<&'static Hover, Changed<Hover>>,
}

impl Ui {
    fn update(&mut self, world: &mut World, what: &str) -> usize {
        // Texts are computed in each frame. `set_if_neq` records a change only if there is one.
        world.query_mut::<(&Score, &mut Text)>().for_each(|(score, mut text)| {
            text.set_if_neq(Text(format!("{} points", score.0)));
        });
        let new = self.added.iter(world).count();
        let mut laid_out = 0;
        for (text, layout) in self.changed.iter_mut(world) {
            layout.0 = text.0.chars().map(|c| if c == 'i' { 3 } else { 7 }).collect();
            laid_out += 1;
        }
        let redraw = self.hovers.iter(world).next().is_some();
        println!("{what:<28} {new:>3} new, {laid_out:>3} laid out, highlights are drawn again: {redraw}");
        laid_out
    }
}

fn main() -> Result<(), phalanx::ComponentError> {
    let mut world = World::new();
    let label = |score| (Score(score), Text(String::new()), Layout(Vec::new()), Hover(false));
    let labels = world.spawn_batch((0..100).map(label));
    let mut ui = Ui { changed: QueryState::new(), added: QueryState::new(), hovers: QueryState::new() };

    assert_eq!(ui.update(&mut world, "the first frame"), 100);
    assert_eq!(ui.update(&mut world, "nothing happens"), 0);
    world.get_mut::<Score>(labels[7])?.0 += 1;
    assert_eq!(ui.update(&mut world, "one score changes"), 1);
    world.spawn(label(3));
    assert_eq!(ui.update(&mut world, "another label"), 1);
    world.get_mut::<Hover>(labels[3])?.0 = true;
    assert_eq!(ui.update(&mut world, "the mouse moves"), 0);
    world.query_mut::<&mut Score>().for_each(|score| score.0 += u32::from(score.0.is_multiple_of(10)));
    assert_eq!(ui.update(&mut world, "every tenth score changes"), 10);

    // `Ref` yields every value, and says whether it is new. Each state has a memory of its own.
    let mut state = QueryState::<(Entity, Ref<Text>)>::new();
    state.iter(&world).for_each(drop);
    world.get_mut::<Text>(labels[5])?.0.push('!');
    for (entity, text) in state.iter(&world).filter(|(_, text)| text.is_changed()) {
        println!("{entity} was written: {}", text.0);
    }
    Ok(())
}
