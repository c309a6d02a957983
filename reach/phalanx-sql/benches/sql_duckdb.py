"""The query of benches/sql.rs by DuckDB, over the recording that `cargo bench --bench sql -- --write FOLDER` leaves."""
import sys
import time

import duckdb

path = sys.argv[1] + "/run=*/component=position/*.parquet"
for threads in (1, 2):
    connection = duckdb.connect()
    connection.execute(f"set threads = {threads}")
    for label, source in (("Parquet", f"read_parquet('{path}')"), ("table in memory", "position")):
        if source == "position":
            connection.execute(f"create table position as select * from read_parquet('{path}')")
        query = f"select avg(x) from {source} where y > 0"
        best = float("inf")
        for _ in range(50):
            began = time.perf_counter()
            connection.execute(query).fetchall()
            best = min(best, time.perf_counter() - began)
        print(f"duckdb {duckdb.__version__}, {threads} threads, {label:<16} {best * 1e3:8.3f} ms")
