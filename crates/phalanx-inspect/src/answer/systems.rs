//! The systems and the last run.

use crate::response::Response;
use crate::state::State;

#[cfg(not(feature = "schedule"))]
pub(super) fn answer(_: &State) -> Response {
    Response::error(409, "this page needs the feature `schedule` of phalanx-inspect")
}

#[cfg(feature = "schedule")]
pub(super) fn answer(state: &State) -> Response {
    let Some(report) = &state.report else {
        return Response::error(409, "there is no run yet: call `Inspector::set_run_report`");
    };
    let micros = |time: core::time::Duration| time.as_nanos() as f64 / 1000.0;
    Response::object(|json| {
        json.key("frame").number(state.frame);
        json.key("duration").float(micros(report.duration));
        json.key("systems").list(|json| {
            for (at, system) in report.systems.iter().enumerate() {
                json.object(|json| {
                    json.key("name").text(&system.name);
                    json.key("stage").number(system.stage as u64);
                    json.key("thread").number(system.thread.into());
                    json.key("start").float(micros(system.start));
                    json.key("end").float(micros(system.end));
                    json.key("critical").bool(report.critical_path.contains(&at));
                    json.key("waited");
                    match &system.waited {
                        None => json.null(),
                        Some(wait) => json.object(|json| {
                            json.key("time").float(micros(wait.time));
                            let system = wait.for_system.as_ref();
                            json.key("for").maybe_text(system.map(|(name, _)| name.as_str()));
                        }),
                    }
                });
            }
        });
    })
}
