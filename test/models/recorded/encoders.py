"""Records names and results of models of pictures and of BERT: python encoders.py > encoders.json (torchvision 0.29, transformers 5.24, torch 2.15)."""
import hashlib
import json
import sys
import torch
import torchvision.models as tv
from torchvision.models.mobilenetv3 import _mobilenet_v3_conf
from torchvision.models.resnet import BasicBlock, Bottleneck
from transformers import BertConfig, BertModel


def hashed(start, count):
    n = torch.arange(count, dtype=torch.int64)
    bits = ((n + start) * 2654435761 + start * 40503) % 2**32
    bits = ((bits ^ (bits >> 15)) * 2246822519) % 2**32
    return (bits.double() / 2**32 - 0.5) * 2


def fill(model):
    """State that a test makes again: a hash of the name and the position. Matrices keep the size of what they get."""
    with torch.no_grad():
        for name, p in model.state_dict().items():
            if name.endswith("num_batches_tracked"):
                continue
            values = hashed(sum((i + 1) * ord(c) for i, c in enumerate(name)), p.numel())
            if p.dim() > 1:
                values = values * (3 * p.shape[0] / p.numel()) ** 0.5
            elif name.endswith("weight") or name.endswith("running_var"):
                values = values * 0.3 + 1
            else:
                values = values * 0.1
            p.copy_(values.float().reshape(p.shape))


def names(model):
    lines = [f"{name} {list(t.shape)}" for name, t in model.state_dict().items()]
    return {"count": len(lines), "sha256": hashlib.sha256("\n".join(sorted(lines)).encode()).hexdigest()}


def v3(arch, width):
    setting, last = _mobilenet_v3_conf(arch, width_mult=width)
    return tv.MobileNetV3(setting, last, num_classes=5)


flat = lambda t: [round(v, 5) for v in t.flatten().tolist()]
images = hashed(7, 2 * 3 * 40 * 37).float().reshape(2, 3, 40, 37)
result = {"images": {}, "names": {}}
for name, config, make in [
    ("basic", {"model_type": "resnet", "layer_type": "basic", "depths": [1, 2, 1, 1]}, lambda: tv.ResNet(BasicBlock, [1, 2, 1, 1], num_classes=5)),
    ("bottleneck", {"model_type": "resnet", "depths": [1, 2, 1, 1], "groups": 4, "width_per_group": 8},
     lambda: tv.ResNet(Bottleneck, [1, 2, 1, 1], num_classes=5, groups=4, width_per_group=8)),
    ("v2", {"model_type": "mobilenet_v2", "depth_multiplier": 0.35}, lambda: tv.MobileNetV2(num_classes=5, width_mult=0.35)),
    ("v3 large", {"model_type": "mobilenet_v3", "depth_multiplier": 0.35}, lambda: v3("mobilenet_v3_large", 0.35)),
    ("v3 small", {"model_type": "mobilenet_v3", "variant": "small", "depth_multiplier": 0.5}, lambda: v3("mobilenet_v3_small", 0.5)),
]:
    model = make().eval()
    fill(model)
    with torch.no_grad():
        logits = model(images)
    result["images"][name] = {"config": {**config, "num_labels": 5}, "logits": flat(logits), **names(model)}
for config, make in [
    *[({"model_type": "resnet", "depth": d}, getattr(tv, f"resnet{d}")) for d in (18, 34, 50, 101, 152)],
    ({"model_type": "resnet", "depth": 50, "groups": 32, "width_per_group": 4}, tv.resnext50_32x4d),
    ({"model_type": "resnet", "depth": 101, "width_per_group": 128}, tv.wide_resnet101_2),
    ({"model_type": "mobilenet_v2"}, tv.mobilenet_v2),
    ({"model_type": "mobilenet_v3"}, tv.mobilenet_v3_large),
    ({"model_type": "mobilenet_v3", "variant": "small"}, tv.mobilenet_v3_small),
]:
    with torch.device("meta"):
        result["names"][json.dumps(config)] = names(make())

bert = dict(vocab_size=23, hidden_size=24, num_hidden_layers=2, num_attention_heads=3, intermediate_size=40, max_position_embeddings=16)
model = BertModel(BertConfig(**bert)).eval()
fill(model)
tokens = torch.tensor([[3, 1, 4, 1, 5, 9, 2], [6, 2, 9, 5, 0, 0, 0]])
mask = torch.tensor([[1, 1, 1, 1, 1, 1, 1], [1, 1, 1, 1, 0, 0, 0]])
types = torch.tensor([[0, 0, 0, 1, 1, 1, 1], [0, 0, 1, 1, 0, 0, 0]])
with torch.no_grad():
    out = model(tokens, attention_mask=mask, token_type_ids=types)
    plain = model(tokens[:1]).last_hidden_state
    weights = mask.unsqueeze(-1).float()
    mean = (out.last_hidden_state * weights).sum(1) / weights.sum(1)
result["bert"] = {"config": {"model_type": "bert", **bert}, "names": list(model.state_dict().keys()), "tokens": tokens.tolist(), "mask": mask.tolist(),
                  "types": types.tolist(), "hidden": flat(out.last_hidden_state), "pooled": flat(out.pooler_output), "plain": flat(plain),
                  "embedded": flat(torch.nn.functional.normalize(mean, dim=-1))}
json.dump(result, sys.stdout, separators=(",", ":"))
