"""Prints what the Python package tensorboard reads from a folder of event files, as JSON: python3 check.py FOLDER."""

import base64
import glob
import json
import os
import sys

from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.plugins.hparams import metadata, plugin_data_pb2


def read(folder):
    events = EventAccumulator(folder, size_guidance={"scalars": 0, "images": 0, "histograms": 0, "tensors": 0})
    events.Reload()
    tags = events.Tags()
    hparams = {}
    for tag, content in events.summary_metadata.items():
        if content.plugin_data.plugin_name != metadata.PLUGIN_NAME:
            continue
        data = plugin_data_pb2.HParamsPluginData.FromString(content.plugin_data.content)
        if tag == metadata.SESSION_START_INFO_TAG:
            for name, value in data.session_start_info.hparams.items():
                hparams[name] = getattr(value, value.WhichOneof("kind"))
        elif tag == metadata.EXPERIMENT_TAG:
            hparams["metrics"] = [info.name.tag for info in data.experiment.metric_infos]
        else:
            hparams["status"] = data.session_end_info.status
    return {
        "scalars": {t: [[e.step, str(e.value), e.wall_time] for e in events.Scalars(t)] for t in tags["scalars"]},
        "histograms": {
            t: [[e.step, h.min, h.max, h.num, h.sum, list(h.bucket_limit), list(h.bucket)] for e in events.Histograms(t) for h in [e.histogram_value]]
            for t in tags["histograms"]
        },
        "images": {
            t: [[e.step, e.width, e.height, base64.b64encode(e.encoded_image_string).decode()] for e in events.Images(t)] for t in tags["images"]
        },
        "texts": {
            t: [[e.step, e.tensor_proto.string_val[0].decode()] for e in events.Tensors(t)]
            for t in tags["tensors"] if t.endswith("/text_summary")
        },
        "hparams": hparams,
        "graph": [[n.name, n.op, list(n.input), [[d.size for d in s.dim] for s in n.attr["_output_shapes"].list.shape], n.attr["dtype"].type]
                  for n in events.Graph().node] if tags["graph"] else [],
    }


root = sys.argv[1]
folders = sorted({os.path.dirname(file) for file in glob.glob(os.path.join(root, "**", "events.*"), recursive=True)})
print(json.dumps({os.path.relpath(folder, root): read(folder) for folder in folders}))
