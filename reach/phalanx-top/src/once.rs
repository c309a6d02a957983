//! One look at a program, for scripts.

use crate::app::App;
use crate::args::Args;
use crate::client::{Client, Fault};
use crate::draw::list_rows;
use crate::entity_sheet::entity_sheet;
use crate::link::{Ask, Told, carry_out};
use crate::program::Program;
use crate::sheet::Sheet;
use crate::text::{printable, printable_json};
use crate::view::{View, summary};
use serde_json::{Value, json};

/// The width of what is printed as text.
const COLUMNS: u16 = 120;

/// Lists programs. The keys are left out.
pub(crate) fn programs(running: &[Program], is_json: bool) -> String {
    if is_json {
        let list: Vec<Value> = running
            .iter()
            .map(|one| json!({ "name": one.name, "process": one.process, "address": one.address.to_string() }))
            .collect();
        return to_json(&json!({ "programs": list }));
    }
    if running.is_empty() {
        return "no program with an inspector is running\n".into();
    }
    let mut sheet = Sheet::new(&[("Process", true), ("Address", false), ("Name", false)]);
    for one in running {
        let process = one.process.map_or("–".into(), |process| process.to_string());
        sheet.rows.push(vec![process, one.address.to_string(), printable(&one.name)]);
    }
    sheet.to_text(COLUMNS)
}

/// Looks at a program once, and returns what is to be printed.
///
/// # Errors
///
/// Returns a sentence if the program does not answer, or refuses the request.
pub(crate) fn once(program: &Program, args: &Args) -> Result<String, String> {
    let client = Client::new(program);
    let mut app = App::new(args.view.unwrap_or_default(), args.query.clone(), args.entity.clone());
    app.rows = if args.is_json { 1000 } else { list_rows(24) };
    // The routes of the view depend on what the program can do.
    look(&mut app, &client, vec!["world".into()])?;
    let routes = app.routes().into_iter().filter(|route| route != "components" || app.view == View::Components);
    let routes: Vec<String> = routes.collect();
    look(&mut app, &client, routes)?;
    if app.view == View::Entities && app.entity.is_none() {
        let routes = app.routes().into_iter().filter(|route| route.starts_with("count")).collect();
        look(&mut app, &client, routes)?;
    }
    if args.is_json {
        let (view, answer) = match &app.entity {
            Some(_) => ("entity", &app.entity_answer),
            None => (app.view.name(), app.answer()),
        };
        let mut shown = json!({ "world": app.world, "view": view.to_lowercase(), "answer": answer });
        if let Some(total) = app.total {
            shown["total"] = total.into();
        }
        return Ok(to_json(&shown));
    }
    if app.entity.is_some() {
        return Ok(entity_sheet(&app.entity_answer).0.to_text(COLUMNS));
    }
    let mut sheet = app.sheet();
    if app.view == View::Entities {
        sheet.lead.push(summary(app.answer(), app.total));
    }
    Ok(sheet.to_text(COLUMNS))
}

/// Looks at some routes. A script gets an error if one of them has no answer.
fn look(app: &mut App, client: &Client, routes: Vec<String>) -> Result<(), String> {
    let told = carry_out(client, Ask::Look(routes));
    if let Told::Look(answers) = &told {
        for (route, answer) in answers {
            match answer {
                Err(fault @ Fault::Refused(401, _)) => {
                    return Err(format!("{fault}: is it another run of the program?"));
                }
                Err(fault) => return Err(format!("{}: {fault}", route.split('?').next().unwrap_or(""))),
                Ok(_) => {}
            }
        }
    }
    app.told(told);
    Ok(())
}

fn to_json(value: &Value) -> String {
    let text =
        serde_json::to_string_pretty(value).unwrap_or_else(|error| format!("{{\"error\":{:?}}}", error.to_string()));
    printable_json(&text) + "\n"
}
