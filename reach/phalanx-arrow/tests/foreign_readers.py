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


def with_pyarrow(folder, run):
    """Returns the sums that pyarrow computes."""
    sums = {}

    def table(component):
        files = sorted(str(path) for path in folder.glob(f"run={run}/component={component}/*.parquet"))
        return ds.dataset(files).to_table()

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
    sums["velocity.value"], sums["velocity.rows"] = query("velocity", "sum(list_sum(value::double[]))")
    sums["title.value"], sums["title.rows"] = query("title", "sum(length(value))")
    return sums


def with_polars(folder, run):
    """Returns the sums that Polars computes."""

    def table(component):
        return polars.scan_parquet(f"{folder}/run={run}/component={component}/*.parquet", hive_partitioning=False).collect()

    position, health, velocity = table("position"), table("health"), table("velocity")
    member, title = table("member"), table("title")
    return {
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
            for column, value in sums.items():
                assert column in found, f"{name} does not sum {column}"
                assert math.isclose(found[column], value, rel_tol=1e-9), f"{name}, run {run}, {column}: {found[column]}, not {value}"
            print(f"{name}, run {run}: {len(sums)} sums agree")


main()
