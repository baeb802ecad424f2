"""Writes what test/io/gguf reads, and the tables of src/io/gguf/grid-data.ts, by llama.cpp's own Python package. python record.py (gguf 0.19.0)

files/*.gguf: of the package's writer. blocks.json: blocks of random bytes of every type and their float32, floats and their blocks.
"""
import base64
import json
import tempfile
from pathlib import Path

import gguf
import numpy as np
from gguf import quants
from gguf.constants import GGML_QUANT_SIZES, GGMLQuantizationType as T

here = Path(__file__).parent
root = here.parents[2]
rng = np.random.default_rng(6)
text = lambda a: base64.b64encode(np.ascontiguousarray(a).tobytes()).decode()  # noqa: E731


def grid_data():
    lines = ["/** Rows of the tables of IQ1, IQ2 and IQ3: packed codes of 2 bits (of 4 in IQ3), from llama.cpp. Made by test/io/gguf/record.py. */"]
    for name in ["IQ1_S", "IQ2_XXS", "IQ2_XS", "IQ2_S", "IQ3_XXS", "IQ3_S"]:
        codes = bytes.fromhex(getattr(quants, name).grid_hex.decode())
        lines.append(f'export const {name} =\n  "{base64.b64encode(codes).decode()}";')
    (root / "src/io/gguf/grid-data.ts").write_text("\n".join(lines) + "\n")


# Where halves are in a block: bytes of any value make NaN and infinities of them, which hide what else is wrong.
halves = {
    "Q4_0": [0], "Q4_1": [0, 2], "Q5_0": [0], "Q5_1": [0, 2], "Q8_0": [0], "Q8_1": [0, 2], "Q2_K": [80, 82], "Q3_K": [108], "Q4_K": [0, 2],
    "Q5_K": [0, 2], "Q6_K": [208], "TQ1_0": [52], "TQ2_0": [64], "IQ2_XXS": [0], "IQ2_XS": [0], "IQ2_S": [0], "IQ3_XXS": [0], "IQ3_S": [0],
    "IQ1_S": [0], "IQ4_NL": [0], "IQ4_XS": [0], "Q8_K": [0], "IQ1_M": [], "MXFP4": [], "NVFP4": [],
}  # fmt: skip
# The package has 40 bytes for Q8_1: that of before the sums were float16.
sizes = {name: (32, 36) if name == "Q8_1" else GGML_QUANT_SIZES[T[name]] for name in halves}


def dequantized(name, blocks):
    if name == "Q8_1":
        d = np.ascontiguousarray(blocks[:, :2]).view(np.float16).astype(np.float32)
        return (d * blocks[:, 4:].view(np.int8).astype(np.float32)).ravel()
    if name == "Q8_K":
        d = np.ascontiguousarray(blocks[:, :4]).view(np.float32)
        return (d * blocks[:, 4:260].view(np.int8).astype(np.float32)).ravel()
    return gguf.dequantize(blocks, T[name]).ravel()


def blocks_of(name, count):
    blocks = rng.integers(0, 256, (count, sizes[name][1]), dtype=np.uint8)
    for at in halves[name]:
        kind, width = (np.float32, 4) if name == "Q8_K" else (np.float16, 2)
        scale = rng.standard_normal(count).astype(kind)
        blocks[:, at : at + width] = scale.view(np.uint8).reshape(count, width)
    if name == "MXFP4":
        blocks[:, 0] = [0, 1, 2, 127, 200][:count]
    if name == "NVFP4":
        blocks[0, :4] = [0, 0x7F, 3, 0x85]
    if name == "IQ1_M":
        blocks[:, 55] = (blocks[:, 55] & 0x8F) | 0x30
    return blocks


def record_blocks():
    dequantize = {}
    for name in halves:
        count = 5 if sizes[name][0] < 256 else 2
        blocks = blocks_of(name, count)
        dequantize[name] = {"blocks": text(blocks), "values": text(dequantized(name, blocks))}
    rows = rng.standard_normal((4, 64)).astype(np.float32)
    rows[1, :32] = 0
    rows[2] *= 1e-3
    rows[3, 32:] = 7
    rows[3, 0] = -1000
    quantize = {name: text(gguf.quantize(rows, T[name])) for name in ["F16", "BF16", "Q8_0", "Q4_0", "Q4_1", "Q5_0", "Q5_1"]}
    (here / "blocks.json").write_text(json.dumps({"dequantize": dequantize, "rows": text(rows), "quantize": quantize, "small": {name: text(a) for name, a in small.items()}}) + "\n")


def add_metadata(writer):
    writer.add_uint8("own.uint8", 200)
    writer.add_int8("own.int8", -100)
    writer.add_uint16("own.uint16", 60000)
    writer.add_int16("own.int16", -30000)
    writer.add_uint32("own.uint32", 4000000000)
    writer.add_int32("own.int32", -2000000000)
    writer.add_float32("own.float32", 0.5)
    writer.add_float64("own.float64", 1e-300)
    writer.add_bool("own.yes", True)
    writer.add_bool("own.no", False)
    writer.add_string("own.text", "größe 名")
    writer.add_uint64("own.small", 12)
    writer.add_uint64("own.uint64", 2**64 - 1)
    writer.add_int64("own.int64", -(2**63))
    writer.add_array("own.ints", [1, -2, 3])
    writer.add_array("own.floats", [0.5, 1.5])
    writer.add_array("own.bools", [True, False])
    writer.add_array("own.texts", ["a", "", "ü"])
    writer.add_tokenizer_model("gpt2")
    writer.add_token_list(["<s>", "a", "b", "ab"])
    writer.add_token_types([3, 1, 1, 1])
    writer.add_token_merges(["a b"])
    writer.add_bos_token_id(0)
    writer.add_eos_token_id(0)


small = {
    "scalars": np.arange(5, dtype=np.float32),
    "half": rng.standard_normal((2, 3)).astype(np.float16),
    "double": rng.standard_normal((2, 2, 2)),
    "bytes": np.arange(-3, 3, dtype=np.int8),
    "shorts": np.arange(4, dtype=np.int16) * -1000,
    "ints": np.arange(6, dtype=np.int32).reshape(1, 2, 3, 1),
    "longs": np.array([2**62, -1], dtype=np.int64),
}


def write(name, endian=gguf.GGUFEndian.LITTLE, alignment=None, **named):
    path = here / "files" / name
    path.parent.mkdir(exist_ok=True)
    writer = gguf.GGUFWriter(path, "llama", endianess=endian, **named)
    if alignment is not None:
        writer.add_custom_alignment(alignment)
    add_metadata(writer)
    for tensor, values in small.items():
        # The writer swaps bytes in place.
        writer.add_tensor(tensor, values.copy())
    if endian == gguf.GGUFEndian.LITTLE:
        for kind in [T.Q4_0, T.Q4_K, T.BF16]:
            blocks = gguf.quantize(np.ones((2, 256), np.float32), kind) if kind != T.Q4_K else blocks_of("Q4_K", 2)
            writer.add_tensor(kind.name, blocks, raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


if __name__ == "__main__":
    grid_data()
    record_blocks()
    write("all.gguf")
    write("big-endian.gguf", endian=gguf.GGUFEndian.BIG)
    write("aligned.gguf", alignment=128)
    write("split.gguf", split_max_tensors=4)
