"""Writes files.json, which test/io/wav reads: files of libsndfile, and what it reads from them as float32 [channels, frames]. python record.py"""
import base64
import io
import json
from pathlib import Path

import numpy as np
import soundfile as sf

rng = np.random.default_rng(3)


def written(samples, subtype, format="WAV", endian="FILE"):
    file = io.BytesIO()
    sf.write(file, samples, 8000, subtype=subtype, format=format, endian=endian)
    return file.getvalue()


files = {}
encodings = {"PCM_U8": "uint8", "PCM_16": "int16", "PCM_24": "int24", "PCM_32": "int32", "FLOAT": "float32", "DOUBLE": "float64"}
for subtype, encoding in encodings.items():
    for format, channels in [("WAV", 1), ("WAV", 2), ("WAVEX", 5), ("RF64", 2)]:
        samples = np.clip(rng.standard_normal((7, channels)) * 0.5, -1, 1)
        samples[0] = 1
        samples[1] = -1
        file = written(samples, subtype, format)
        read, rate = sf.read(io.BytesIO(file), dtype="float32", always_2d=True)
        files[f"{subtype} {format} {channels}"] = {
            "file": base64.b64encode(file).decode(),
            "info": {"sampleRate": rate, "channels": channels, "frames": 7, "encoding": encoding},
            "bytes": np.ascontiguousarray(read.T).astype("<f4").tobytes().hex(),
        }
files["empty"] = {
    "file": base64.b64encode(written(np.zeros((0, 2)), "PCM_16")).decode(),
    "info": {"sampleRate": 8000, "channels": 2, "frames": 0, "encoding": "int16"},
    "bytes": "",
}
mono = np.zeros(8)
refused = {
    "ulaw": written(mono, "ULAW"),
    "alaw": written(mono, "ALAW"),
    "adpcm": written(mono, "IMA_ADPCM"),
    "rifx": written(mono, "PCM_16", endian="BIG"),
}
target = Path(__file__).parent / "files.json"
encoded = {name: base64.b64encode(file).decode() for name, file in refused.items()}
target.write_text(json.dumps({"files": files, "refused": encoded}, indent=1) + "\n")
