"""Reads recordings with pyarrow, DuckDB and Polars, and compares sums with those that Phalanx has computed.

    cargo run --example record_sums -- FOLDER
    python tests/foreign_readers.py FOLDER

Needs the packages pyarrow, duckdb and polars.
"""

import json
import math
import pathlib
import sys

import duckdb
import polars
import pyarrow.compute as pc
import pyarrow.dataset as ds


# The distance of the frames that have rows, that of keyframes, and the number of frames: as record_sums.rs has them.
EVERY, KEYFRAMES, FRAMES = 2, 10, 25


def sum_of_filled(rows):
    """Returns the sum of a column over all frames, from rows of changes: frame, entity, operation, value."""
    rows, state, total, at = sorted(rows), {}, 0, 0
    for frame in range(0, FRAMES, EVERY):
        if frame % KEYFRAMES == 0:
            state = {}
        while at < len(rows) and rows[at][0] == frame:
            _, entity, op, value = rows[at]
            at += 1
            if op == "removed":
                assert state.pop(entity) == value, "the last value"
            else:
                state[entity] = value
        total += sum(state.values())
    assert at == len(rows)
    return total


def sum_of_alive(events):
    """Returns the number of entities in all frames, from rows of events: frame, event."""
    alive, total = 0, 0
    for frame in range(0, FRAMES, EVERY):
        here = [event for at, event in events if at == frame]
        alive += here.count("born") - here.count("ended")
        if frame % KEYFRAMES == 0:
            assert alive == len(here) - here.count("ended"), "the first frame of a part has all entities"
        total += alive
    return total


def with_pyarrow(folder, run):
    """Returns the sums that pyarrow computes."""
    sums = {}

    def read(pattern):
        return ds.dataset(sorted(str(path) for path in folder.glob(f"{pattern}/*.parquet"))).to_table()

    def table(component):
        return read(f"run={run}/component={component}")

    def rows(pattern, *columns):
        table = read(pattern)
        return list(zip(*(table[column].to_pylist() for column in columns)))

    sums["alive.rows"] = sum_of_alive(rows(f"run={run}/entity", "frame", "event"))
    sums["filled"] = sum_of_filled(rows(f"changed/run={run}/changes=health", "frame", "entity", "op", "value"))
    position, health, velocity = table("position"), table("health"), table("velocity")
    member, title = table("member"), table("title")
    for name, rows in [("position", position), ("health", health), ("velocity", velocity), ("member", member), ("title", title)]:
        sums[f"{name}.rows"] = rows.num_rows
        keys = list(zip(rows["frame"].to_pylist(), rows["entity"].to_pylist()))
        assert keys == sorted(keys) and len(set(keys)) == len(keys), f"{name} is not sorted by frame and entity"
    sums["position.x"] = pc.sum(pc.cast(position["x"], "double")).as_py()
    sums["position.y"] = pc.sum(position["y"]).as_py()
    sums["position.zone"] = pc.sum(position["zone"]).as_py()
    sums["health.value"] = pc.sum(health["value"]).as_py()
    sums["velocity.value"] = sum(sum(value) for value in velocity["value"].to_pylist())
    sums["member.of"] = sum(member["of"].to_pylist())
    sums["member.red"] = sum(team == "Red" for team in member["team"].to_pylist())
    sums["member.is_captain"] = pc.sum(pc.cast(member["is_captain"], "int64")).as_py()
    sums["title.value"] = sum(len(text) for text in title["value"].to_pylist())
    return sums


def with_duckdb(folder, run):
    """Returns the sums that DuckDB computes, with the folders as columns."""

    def query(component, columns):
        source = f"read_parquet('{folder}/*/component={component}/*.parquet', hive_partitioning = true)"
        return duckdb.sql(f"select {columns}, count(*) from {source} where run = {run}").fetchall()[0]

    sums = {}
    sums["position.x"], sums["position.y"], sums["position.zone"], sums["position.rows"] = query(
        "position", "sum(x::double), sum(y), sum(zone)"
    )
    sums["member.of"], sums["member.red"], sums["member.is_captain"], sums["member.rows"] = query(
        "member", "sum(\"of\"::double), count(*) filter (team = 'Red'), count(*) filter (is_captain)"
    )
    sums["health.value"], sums["health.rows"] = query("health", "sum(value)")
    events = duckdb.sql(f"select frame, event from '{folder}/run={run}/entity/*.parquet'").fetchall()
    sums["alive.rows"] = sum_of_alive(events)
    changes = f"'{folder}/changed/run={run}/changes=health/*.parquet'"
    sums["filled"] = sum_of_filled(duckdb.sql(f"select frame, entity, op, value from {changes}").fetchall())
    sums["velocity.value"], sums["velocity.rows"] = query("velocity", "sum(list_sum(value::double[]))")
    sums["title.value"], sums["title.rows"] = query("title", "sum(length(value))")
    return sums


def with_polars(folder, run):
    """Returns the sums that Polars computes."""

    def table(component):
        return polars.scan_parquet(f"{folder}/run={run}/component={component}/*.parquet", hive_partitioning=False).collect()

    def rows(pattern, *columns):
        return polars.scan_parquet(f"{folder}/{pattern}/*.parquet", hive_partitioning=False).select(columns).collect().rows()

    position, health, velocity = table("position"), table("health"), table("velocity")
    member, title = table("member"), table("title")
    return {
        "alive.rows": sum_of_alive(rows(f"run={run}/entity", "frame", "event")),
        "filled": sum_of_filled(rows(f"changed/run={run}/changes=health", "frame", "entity", "op", "value")),
        "position.x": position["x"].cast(polars.Float64).sum(), "position.y": position["y"].sum(),
        "position.zone": position["zone"].cast(polars.UInt64).sum(), "position.rows": position.height,
        "health.value": health["value"].cast(polars.UInt64).sum(), "health.rows": health.height,
        "velocity.value": sum(sum(value) for value in velocity["value"].to_list()),
        "velocity.rows": velocity.height,
        "member.of": sum(member["of"].to_list()),
        "member.red": (member["team"].cast(polars.String) == "Red").sum(),
        "member.is_captain": member["is_captain"].sum(), "member.rows": member.height,
        "title.value": title["value"].str.len_chars().sum(), "title.rows": title.height,
    }


def main():
    folder = pathlib.Path(sys.argv[1])
    expected = json.loads((folder / "sums.json").read_text())
    for name, read in [("pyarrow", with_pyarrow), ("duckdb", with_duckdb), ("polars", with_polars)]:
        for run, sums in expected.items():
            found = read(folder, run)
            for column, value in [*sums.items(), ("filled", sums["health.value"])]:
                assert column in found, f"{name} does not sum {column}"
                assert math.isclose(found[column], value, rel_tol=1e-9), f"{name}, run {run}, {column}: {found[column]}, not {value}"
            print(f"{name}, run {run}: {len(sums) + 1} sums agree")


main()
