"""Writes the files of torch.save() in files/, and expected.json with their tensors' bytes: python test/io/pytorch/record.py. PyTorch 2.15 wrote them."""

import collections
import json
import pathlib

import torch

folder = pathlib.Path(__file__).parent / "files"
folder.mkdir(exist_ok=True)
torch.manual_seed(0)
expected = {}


def bits(t):
    """The elements in row-major order, as hexadecimal bytes."""
    t = t.detach().resolve_conj().contiguous()
    return t.reshape(-1).view(torch.uint8).numpy().tobytes().hex() if t.numel() > 0 else ""


def described(value):
    if isinstance(value, torch.Tensor):
        return {
            "tensor": str(value.dtype).removeprefix("torch."),
            "shape": list(value.shape),
            "strides": list(value.stride()),
            "offset": value.storage_offset(),
            "requiresGrad": value.requires_grad,
            "isParameter": isinstance(value, torch.nn.Parameter),
            "bytes": bits(value),
        }
    if isinstance(value, dict):
        return {str(key): described(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)) and not isinstance(value, torch.Size):
        return [described(item) for item in value]
    return None


def write(name, value, **options):
    torch.save(value, folder / name, **options)
    expected[name] = described(value)


class Block(torch.nn.Module):
    def __init__(self, ci, co, stride):
        super().__init__()
        self.conv1 = torch.nn.Conv2d(ci, co, 3, stride, 1, bias=False)
        self.bn1 = torch.nn.BatchNorm2d(co)
        self.conv2 = torch.nn.Conv2d(co, co, 3, 1, 1, bias=False)
        self.bn2 = torch.nn.BatchNorm2d(co)
        self.downsample = torch.nn.Sequential(torch.nn.Conv2d(ci, co, 1, stride, bias=False), torch.nn.BatchNorm2d(co)) if stride > 1 else None

    def forward(self, x):
        y = self.bn2(self.conv2(torch.relu(self.bn1(self.conv1(x)))))
        return torch.relu(y + (x if self.downsample is None else self.downsample(x)))


class Net(torch.nn.Module):
    """A ResNet of four channels."""

    def __init__(self):
        super().__init__()
        self.conv1 = torch.nn.Conv2d(3, 4, 3, 1, 1, bias=False)
        self.bn1 = torch.nn.BatchNorm2d(4)
        self.layer1 = torch.nn.Sequential(Block(4, 4, 1))
        self.layer2 = torch.nn.Sequential(Block(4, 8, 2))
        self.fc = torch.nn.Linear(8, 5)

    def forward(self, x):
        return self.fc(self.layer2(self.layer1(torch.relu(self.bn1(self.conv1(x))))).mean((2, 3)))


net = Net()
optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
schedule = torch.optim.lr_scheduler.StepLR(optimizer, 2)
for _ in range(3):
    torch.nn.functional.cross_entropy(net(torch.randn(4, 3, 8, 8)), torch.tensor([0, 1, 2, 3])).backward()
    optimizer.step()
    optimizer.zero_grad()
    schedule.step()

write("resnet.pt", net.state_dict())
write("training.pt", {"model": net.state_dict(), "optimizer": optimizer.state_dict(), "schedule": schedule.state_dict(), "epoch": 3})

ramp = torch.arange(6)
dtypes = {
    str(d).removeprefix("torch."): torch.tensor([0, 1, 2, 100]).to(d)
    for d in [
        torch.float32,
        torch.float64,
        torch.float16,
        torch.bfloat16,
        torch.int8,
        torch.int16,
        torch.int32,
        torch.int64,
        torch.uint8,
        torch.uint16,
        torch.uint32,
        torch.uint64,
        torch.bool,
        torch.complex64,
    ]
}
dtypes["special"] = torch.tensor([float("nan"), float("inf"), -0.0, 1e-45])
write("dtypes.pt", dtypes)

base = torch.arange(24.0).reshape(2, 3, 4)
tied = torch.nn.Linear(3, 3)
write(
    "views.pt",
    {
        "base": base,
        "row": base[1],
        "column": base[:, 1],
        "transposed": base.permute(2, 0, 1),
        "steps": base[:, :, ::2],
        "expanded": torch.tensor([[1.0], [2.0]]).expand(2, 3),
        "scalar": torch.tensor(7.0),
        "none": torch.zeros(0, 3),
        "nhwc": torch.arange(16.0).reshape(1, 2, 2, 4).contiguous(memory_format=torch.channels_last),
        "weight": tied.weight,
        "tied": tied.weight,
        "frozen": torch.nn.Parameter(torch.ones(2), requires_grad=False),
        "leaf": torch.ones(2, requires_grad=True),
        "conj": torch.tensor([1 + 2j, 3 - 4j]).conj(),
    },
)

plain = {
    "integers": [0, -1, 255, 256, 65535, 65536, 2**31, -(2**31), 2**53 - 1, 2**53, -(2**53), 2**70, -(2**70)],
    "floats": [0.5, -0.0, float("inf"), float("-inf"), float("nan"), 1e300],
    "texts": ["", "ä𝄞", "a\x00b", "x" * 300],
    "bytes": [b"", b"ab\xff", bytearray(b"xy"), bytearray()],
    "nothing": [None, True, False],
    "tuples": [(), (1,), (1, 2), (1, 2, 3), (1, 2, 3, 4)],
    "sets": [set(), {1}, frozenset(["a"])],
    "size": torch.Size([2, 3]),
    "devices": [torch.device("cpu"), torch.device("cuda", 1)],
    "dtype": torch.bfloat16,
    "ordered": collections.OrderedDict([("z", 1), ("a", 2)]),
    "keys": {0: "a", 1: "b"},
    "mixed": {0: "a", "0": "b"},
    "pairs": {(1, 2): "a", None: "b", 2**60: "c"},
    "many": list(range(2000)),
}
plain["same"] = plain["keys"]
for protocol in (2, 3, 4, 5):
    write(f"plain-{protocol}.pt", plain, pickle_protocol=protocol)

tagged = torch.nn.Parameter(torch.ones(2))
tagged.is_decayed = False
noted = torch.arange(6.0).reshape(2, 3).t()
noted.note = [1, {"x": torch.ones(1)}]
write("attributes.pt", {"buffer": torch.nn.Buffer(torch.ones(1)), "parameter": tagged, "view": noted})

write("other-dtype.pt", {"a": torch.ones(2), "half": torch.ones(2, dtype=torch.complex128)})
write("float8.pt", torch.ones(2).to(torch.float8_e4m3fn))
torch.save(net, folder / "module.pt")
torch.save({"n": 1}, folder / "legacy.pt", _use_new_zipfile_serialization=False)
torch.save(torch.sparse_coo_tensor([[0]], [1.0], [2]), folder / "sparse.pt")
torch.save(torch.quantize_per_tensor(torch.ones(2), 0.1, 0, torch.quint8), folder / "quantized.pt")
torch.jit.save(torch.jit.script(torch.nn.Linear(1, 1)), folder / "script.pt")
(folder / "expected.json").write_text(json.dumps(expected, indent=1) + "\n")
