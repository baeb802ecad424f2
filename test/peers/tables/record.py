"""The same small tables as Parquet and Arrow files: `python record.py` with pyarrow writes the files next to it."""

from datetime import date, datetime, timezone
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

here = Path(__file__).parent
n = 10
numbers = pa.table(
    {
        "i8": pa.array(range(-5, 5), pa.int8()),
        "u16": pa.array(range(65526, 65536), pa.uint16()),
        "i32": pa.array(range(n), pa.int32()),
        "i64": pa.array([2**53 + 1, -(2**63), *range(8)], pa.int64()),
        "u64": pa.array([2**64 - 1, *range(9)], pa.uint64()),
        "f32": pa.array([i / 4 for i in range(n)], pa.float32()),
        "f64": pa.array([i / 3 for i in range(n)], pa.float64()),
        "flag": pa.array([i % 3 == 0 for i in range(n)]),
        "name": pa.array([f"näme {i}" for i in range(n)]),
        "kind": pa.array(["a", "b", "a", "c", "a"] * 2).dictionary_encode(),
        "bytes": pa.array([bytes([i, 255]) for i in range(n)]),
        "time": pa.array([datetime(2026, 1, 1 + i, tzinfo=timezone.utc) for i in range(n)], pa.timestamp("us", "UTC")),
        "day": pa.array([date(1970, 1, 1 + i) for i in range(n)]),
    }
)
nulls = pa.table(
    {
        "i32": pa.array([1, None, 3], pa.int32()),
        "i64": pa.array([None, 2, 3], pa.int64()),
        "f32": pa.array([0.5, None, 2.5], pa.float32()),
        "flag": pa.array([True, None, False]),
        "name": pa.array(["a", None, "c"]),
    }
)
odd = pa.table(
    {
        "x": pa.array([1, 2], pa.int32()),
        "list": pa.array([[1], [2, 3]]),
        "struct": pa.array([{"a": 1}, {"a": 2}]),
        "price": pa.array([Decimal("1.25"), Decimal("-2.50")], pa.decimal128(10, 2)),
        "huge": pa.array([Decimal(1), Decimal(2)], pa.decimal128(38, 2)),
    }
)
tables = {"numbers": numbers, "nulls": nulls, "odd": odd, "empty": numbers.slice(0, 0).select(["i32", "name"])}
for name, table in tables.items():
    pq.write_table(table, here / f"{name}.parquet", row_group_size=4, compression="snappy")
    for kind, make in {"arrow": pa.ipc.new_file, "arrows": pa.ipc.new_stream}.items():
        with make(here / f"{name}.{kind}", table.schema) as writer:
            writer.write_table(table, max_chunksize=4)
for codec in ["none", "gzip", "brotli", "zstd"]:
    pq.write_table(numbers.select(["i32", "name"]), here / f"{codec}.parquet", compression=codec)
with pq.ParquetWriter(here / "groupless.parquet", numbers.schema):
    pass
