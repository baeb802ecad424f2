"""Writes recorded.json, which the tests read: values of torchmetrics and scikit-learn. python record.py (torch, torchmetrics, scikit-learn)."""

import json
import math
from pathlib import Path

import sklearn.metrics as sk
import torch
import torchmetrics as tm
from torchmetrics.text import Perplexity

torch.manual_seed(7)
BATCHES = (17, 9, 14)


def rounded(x):
    """Few digits: scores have ties, and the file is short."""
    return (x * 50).round() / 50


def listed(x):
    return x.tolist() if hasattr(x, "tolist") else x


def cut(x):
    return torch.split(x, BATCHES)


def exact(x):
    """What five digits of the file say."""
    return torch.tensor([round(v, 5) for v in x.flatten().tolist()]).reshape(x.shape)


N, C, L = sum(BATCHES), 5, 3
scores = exact(torch.rand(N, C))
classes = torch.randint(0, C - 1, (N,))  # The last class never occurs as a target.
masked = torch.where(torch.rand(N) < 0.2, -100, classes)
binary = rounded(torch.rand(N))
labels = (torch.rand(N) < binary * 0.6 + 0.2).long()
multi = rounded(torch.rand(N, L))
multi_target = (torch.rand(N, L) < multi * 0.5 + 0.3).long()
probabilities = exact(torch.softmax(scores * 3, 1))
numbers, wanted = exact(torch.randn(N, 2) + 3), exact(torch.randn(N, 2) + 3)
logits, tokens = exact(torch.randn(N, 4, C)), torch.randint(0, C, (N, 4))
tokens[:, 3] = -100
images, pixels = exact(torch.rand(N, C, 3)), torch.randint(0, C, (N, 3))

inputs = {
    "multiclass": (scores, classes),
    "masked": (scores, masked),
    "probabilities": (probabilities, classes),
    "logits": (exact(scores * 3), classes),
    "binary": (binary, labels),
    "binaryLogits": (exact(torch.logit(binary.clamp(0.02, 0.98))), labels),
    "multilabel": (multi, multi_target),
    "numbers": (numbers, wanted),
    "tokens": (logits, tokens),
    "images": (images, pixels),
}
cases = []


def record(name, data, options, metric, value=None):
    """metric: of torchmetrics, which takes the batches; or value, of scikit-learn over all of them."""
    if value is None:
        for prediction, target in zip(*map(cut, inputs[data])):
            metric.update(prediction, target)
        value = metric.compute()
    source = "torchmetrics" if metric is not None else "scikit-learn"
    cases.append({"metric": name, "inputs": data, "options": options, "source": source, "value": listed(value)})


SCORES = {"accuracy": "Accuracy", "precision": "Precision", "recall": "Recall", "f1": "F1Score"}
AVERAGES = ("micro", "macro", "weighted", "none")


def of(kind, name):
    return getattr(tm.classification, f"{kind}{name}")


for name, theirs in SCORES.items():
    record(name, "binary", {}, of("Binary", theirs)())
    record(name, "binary", {"threshold": 0.3}, of("Binary", theirs)(threshold=0.3))
    record(name, "binaryLogits", {"fromLogits": True}, of("Binary", theirs)())
    for average in AVERAGES:
        options = {"numClasses": C, "average": average}
        record(name, "multiclass", options, of("Multiclass", theirs)(C, average=average))
        record(name, "masked", {**options, "ignoreIndex": -100}, of("Multiclass", theirs)(C, average=average, ignore_index=-100))
        record(name, "masked", {**options, "ignoreIndex": -100, "topK": 2}, of("Multiclass", theirs)(C, average=average, ignore_index=-100, top_k=2))
        record(name, "images", options, of("Multiclass", theirs)(C, average=average))
        record(name, "multilabel", {"numLabels": L, "average": average}, of("Multilabel", theirs)(L, average=average))
for average in AVERAGES:
    record("fBeta", "multiclass", {"numClasses": C, "average": average, "beta": 2}, tm.classification.MulticlassFBetaScore(2.0, C, average=average))
record("topKAccuracy", "multiclass", {"numClasses": C, "k": 3}, tm.classification.MulticlassAccuracy(C, average="micro", top_k=3))

for normalize in ("none", "true", "pred", "all"):
    record("confusionMatrix", "multiclass", {"numClasses": C, "normalize": normalize}, tm.classification.MulticlassConfusionMatrix(C, normalize=normalize))
record("confusionMatrix", "masked", {"numClasses": C, "ignoreIndex": -100}, tm.classification.MulticlassConfusionMatrix(C, ignore_index=-100))
record("confusionMatrix", "binary", {}, tm.classification.BinaryConfusionMatrix())
record("confusionMatrix", "multilabel", {"numLabels": L}, tm.classification.MultilabelConfusionMatrix(L))

CURVES = {"rocAuc": ("AUROC", sk.roc_auc_score), "averagePrecision": ("AveragePrecision", sk.average_precision_score)}
for name, (theirs, sklearn) in CURVES.items():
    record(name, "binary", {}, None, sklearn(labels, binary))
    record(name, "binary", {}, of("Binary", theirs)())
    record(name, "binary", {"thresholds": 11}, of("Binary", theirs)(thresholds=11))
    record(name, "binaryLogits", {"fromLogits": True}, of("Binary", theirs)())
    record(name, "binaryLogits", {"fromLogits": True, "thresholds": 21}, of("Binary", theirs)(thresholds=21))
    for average in ("macro", "weighted", "none", "micro"):
        record(name, "multilabel", {"numLabels": L, "average": average}, None, sklearn(multi_target, multi, average=None if average == "none" else average))
        record(name, "multilabel", {"numLabels": L, "average": average, "thresholds": 11}, of("Multilabel", theirs)(L, average=average, thresholds=11))
        if average == "micro":
            continue
        # Of classes that occur alone: both libraries differ where one does not.
        if average == "none":
            each = [sklearn((classes == c).long(), probabilities[:, c]) for c in range(C - 1)]
            record(name, "probabilities", {"numClasses": C, "average": average}, None, [*each, math.nan])
            each = [sklearn((classes == c).long(), torch.softmax(exact(scores * 3), 1)[:, c]) for c in range(C - 1)]
            record(name, "logits", {"numClasses": C, "average": average, "fromLogits": True}, None, [*each, math.nan])
        if average == "weighted":
            record(name, "probabilities", {"numClasses": C, "average": average, "thresholds": 6}, of("Multiclass", theirs)(C, average=average, thresholds=6))

record("meanSquaredError", "numbers", {}, tm.MeanSquaredError())
record("meanSquaredError", "numbers", {"squared": False}, tm.MeanSquaredError(squared=False))
record("rmse", "numbers", {}, None, sk.root_mean_squared_error(wanted.flatten(), numbers.flatten()))
record("meanAbsoluteError", "numbers", {}, tm.MeanAbsoluteError())
record("r2Score", "numbers", {}, None, sk.r2_score(wanted.flatten(), numbers.flatten()))
record("perplexity", "tokens", {"ignoreIndex": -100}, Perplexity(ignore_index=-100))


def plain(value):
    """NaN is no JSON."""
    if isinstance(value, list):
        return [plain(v) for v in value]
    return None if isinstance(value, float) and math.isnan(value) else value


def shape(x):
    digits = 5 if x.is_floating_point() else 0
    return {"shape": list(x.shape), "values": [round(v, digits) if digits else v for v in x.flatten().tolist()]}


text = json.dumps(
    {
        "versions": {"torch": torch.__version__, "torchmetrics": tm.__version__},
        "batches": BATCHES,
        "inputs": {k: {"prediction": shape(p), "target": shape(t)} for k, (p, t) in inputs.items()},
        "cases": [{**c, "value": plain(c["value"])} for c in cases],
    }
)
Path(__file__).with_name("recorded.json").write_text(f"{text}\n")
