//! The colony as a picture.

use crate::life::RANGE;
use crate::map::{HEIGHT, Map, WIDTH, tiles};
use crate::things::*;
use phalanx::{Has, NoSuchResource, World};
use std::fmt::Write;

const TILE: i16 = 14;
const CHART: i16 = 90;

pub(crate) fn draw(world: &World) -> Result<String, NoSuchResource> {
    let (map, chronicle) = (world.resource::<Map>()?, world.resource::<Chronicle>()?);
    let (width, height) = (WIDTH * TILE, HEIGHT * TILE + CHART);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\">\n\
         <rect width=\"{width}\" height=\"{height}\" fill=\"#dbe6b8\"/>\n"
    );
    let mut put = |line: String| writeln!(svg, "{line}").expect("a text grows");
    let most = map.steps.iter().copied().max().unwrap_or(1).max(1);
    for (at, &steps) in tiles().zip(&map.steps) {
        let (x, y) = (at.x * TILE, at.y * TILE);
        if map.is_water(at) {
            put(format!("<rect x=\"{x}\" y=\"{y}\" width=\"{TILE}\" height=\"{TILE}\" fill=\"#8fb8d8\"/>"));
        } else if steps > 0 {
            let shade = (steps as f32 / most as f32).powf(0.45).min(1.0);
            put(format!(
                "<rect x=\"{x}\" y=\"{y}\" width=\"{TILE}\" height=\"{TILE}\" fill=\"#b08a55\" fill-opacity=\"{shade:.2}\"/>"
            ));
        }
    }
    let middle = |at: &At| (at.x * TILE + TILE / 2, at.y * TILE + TILE / 2);
    for (at, source) in world.query::<(&At, &Source)>().iter() {
        let (x, y) = middle(at);
        put(match source.good {
            Good::Wood => format!("<path d=\"M{x} {} l6 13 h-12 z\" fill=\"#3e7d4a\"/>", y - 7),
            Good::Stone => format!("<path d=\"M{} {} l3 -7 5 -1 4 8 z\" fill=\"#8d8d94\"/>", x - 6, y + 5),
            Good::Food => format!(
                "<circle cx=\"{x}\" cy=\"{y}\" r=\"5\" fill=\"#6fa04a\"/>\
                 <circle cx=\"{x}\" cy=\"{y}\" r=\"2\" fill=\"#c23b52\" fill-opacity=\"{}\"/>",
                u32::from(source.amount > 0)
            ),
        });
    }
    for (at, building) in world.query::<(&At, &Building)>().iter() {
        let (x, y) = middle(at);
        let opacity = if building.work_left > 0 { "0.5" } else { "1" };
        put(match building.kind {
            Kind::Store => format!(
                "<rect x=\"{}\" y=\"{}\" width=\"20\" height=\"16\" fill=\"#a8502e\" stroke=\"#57301c\"/>",
                x - 10,
                y - 8
            ),
            Kind::Hut => format!(
                "<path d=\"M{} {} l7 -7 7 7 v6 h-14 z\" fill=\"#d59a4c\" stroke=\"#57301c\" opacity=\"{opacity}\"/>",
                x - 7,
                y + 1
            ),
            Kind::Tower => format!(
                "<circle cx=\"{x}\" cy=\"{y}\" r=\"{}\" fill=\"none\" stroke=\"#57301c\" stroke-opacity=\".25\" stroke-dasharray=\"4\"/>\
                 <rect x=\"{}\" y=\"{}\" width=\"8\" height=\"18\" fill=\"#6c6c75\" stroke=\"#33333a\" opacity=\"{opacity}\"/>",
                RANGE * TILE,
                x - 4,
                y - 11
            ),
        });
    }
    for (at, is_wolf, is_indoors) in world.query::<(&At, Has<Wolf>, Has<Indoors>)>().iter().filter(|(at, ..)| {
        map.is_free(**at) // what stands on a tile was drawn
    }) {
        let (x, y) = middle(at);
        let colour = if is_wolf { "#26262b" } else { "#2b5fb0" };
        if !is_indoors {
            put(format!("<circle cx=\"{x}\" cy=\"{y}\" r=\"4\" fill=\"{colour}\" stroke=\"#fff\"/>"));
        }
    }

    // The census: colonists in blue, wolves in black.
    let (top, days) = (HEIGHT * TILE, chronicle.census.len().max(2));
    let peak = chronicle.census.iter().map(|(colonists, wolves)| *colonists.max(wolves)).max().unwrap_or(1).max(1);
    put(format!("<rect y=\"{top}\" width=\"{width}\" height=\"{CHART}\" fill=\"#fbfaf4\"/>"));
    for (colour, number) in [("#2b5fb0", 0), ("#26262b", 1)] {
        let mut line = String::new();
        for (day, census) in chronicle.census.iter().enumerate() {
            let x = 10.0 + day as f32 * f32::from(width - 20) / (days - 1) as f32;
            let value = if number == 0 { census.0 } else { census.1 };
            let y = f32::from(top + CHART - 10) - value as f32 * f32::from(CHART - 30) / peak as f32;
            write!(line, "{x:.1},{y:.1} ").expect("a text grows");
        }
        put(format!("<polyline points=\"{line}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/>"));
    }
    let text = format!("{} days, at most {peak} colonists", chronicle.census.len() / 10);
    put(format!("<text x=\"12\" y=\"{}\" font-family=\"sans-serif\" font-size=\"12\">{text}</text>", top + 16));
    svg.push_str("</svg>\n");
    Ok(svg)
}
