"""Records nodes of ai.onnx.ml as test/onnx/learning.jsonl.gz, with the results of ONNX Runtime's CPU.

    python3 -m venv VENV && VENV/bin/pip install -r test/onnx/requirements.txt onnxruntime
    VENV/bin/python test/onnx/record_learning.py
"""

from runtime_cases import Cases, np, pathlib

r = np.random.RandomState(1)
cases = Cases("ai.onnx.ml", 3)
add = cases.add


def f(*shape, scale=1.0):
    return (r.standard_normal(shape) * scale).astype(np.float32)


def floats(n, scale=1.0):
    return [float(v) for v in f(n, scale=scale)]


def tree(kind, trees, targets, features, only=None, positive=False, several=False):
    """Complete trees of depth 2."""
    a = {k: [] for k in ("treeids", "nodeids", "featureids", "modes", "truenodeids", "falsenodeids", "missing_value_tracks_true")}
    values, ids = [], {k: [] for k in ("treeids", "nodeids", "ids", "weights")}
    for t in range(trees):
        for n in range(7):
            leaf = n > 2
            a["treeids"].append(t)
            a["nodeids"].append(n)
            a["featureids"].append(0 if leaf else int(r.randint(features)))
            a["modes"].append("LEAF" if leaf else ["BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT"][(t + n) % 4])
            a["truenodeids"].append(0 if leaf else 2 * n + 1)
            a["falsenodeids"].append(0 if leaf else 2 * n + 2)
            a["missing_value_tracks_true"].append(0 if leaf else n % 2)
            values.append(0.0 if leaf else float(f(1)[0]))
            if leaf:
                for target in range(targets) if several else [int(r.randint(targets)) if only is None else only]:
                    ids["treeids"].append(t)
                    ids["nodeids"].append(n)
                    ids["ids"].append(target)
                    ids["weights"].append(float(abs(f(1)[0]) / trees if positive else f(1)[0]))
    return {**{f"nodes_{k}": v for k, v in a.items()}, "nodes_values": values, **{f"{kind}_{k}": v for k, v in ids.items()}}


x = f(6, 4)
x[1, 2] = np.nan
for aggregate in ("SUM", "AVERAGE", "MIN", "MAX"):
    add(f"TreeEnsembleRegressor, {aggregate}", [x], attributes={**tree("target", 5, 1, 4), "n_targets": 1, "aggregate_function": aggregate, "base_values": [0.5]})
add("TreeEnsembleRegressor, two targets", [x], attributes={**tree("target", 4, 2, 4), "n_targets": 2})
add("TreeEnsembleRegressor, leaves of several targets", [x], attributes={**tree("target", 4, 3, 4, several=True), "n_targets": 3, "base_values": [0.5, 1.0, -1.0]})
for transform in ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO"):
    add(f"TreeEnsembleClassifier, three classes, {transform}", [x], outputs=2, attributes={**tree("class", 4, 3, 4, several=True), "classlabels_int64s": [10, 20, 30], "post_transform": transform})
    for positive in (False, True):
        kind = "positive weights" if positive else "weights of any sign"
        add(f"TreeEnsembleClassifier, two classes, {kind}, {transform}", [x], outputs=2, attributes={**tree("class", 4, 2, 4, only=0, positive=positive), "classlabels_int64s": [3, 7], "post_transform": transform})
        add(f"TreeEnsembleClassifier, two classes by the second, {kind}, {transform}", [x], outputs=2, attributes={**tree("class", 4, 2, 4, only=1, positive=positive), "classlabels_int64s": [3, 7], "post_transform": transform})
add("TreeEnsembleClassifier, two classes, one base value", [x], outputs=2, attributes={**tree("class", 4, 2, 4, only=0), "classlabels_int64s": [3, 7], "post_transform": "LOGISTIC", "base_values": [0.3]})
# ONNX Runtime 1.32 names classes that both have weights 0 and 1, whatever their labels are.
for count, base in enumerate(([], [0.3], [0.3, -0.2])):
    add(f"TreeEnsembleClassifier, two classes, both with weights, {count} base values", [x], outputs=2, attributes={**tree("class", 4, 2, 4, several=True), "classlabels_int64s": [0, 1], **({"base_values": base} if base else {})})
add("TreeEnsembleClassifier, texts", [x], outputs=2, attributes={**tree("class", 4, 3, 4, several=True), "classlabels_strings": ["a", "b", "c"]})
add("TreeEnsembleClassifier, base values", [x], outputs=2, attributes={**tree("class", 4, 3, 4), "classlabels_int64s": [0, 1, 2], "base_values": [0.1, 0.2, 0.3]})

y = f(5, 4)
for kernel, parameters in (("LINEAR", [0.0, 0.0, 0.0]), ("RBF", [0.3, 0.0, 3.0]), ("POLY", [0.3, 0.5, 3.0]), ("SIGMOID", [0.3, 0.5, 3.0])):
    common = {"kernel_type": kernel, **({"kernel_params": parameters} if parameters else {})}
    add(f"SVMRegressor, {kernel}", [y], attributes={**common, "n_supports": 6, "support_vectors": floats(24), "coefficients": floats(6), "rho": [0.2]})
    add(f"SVMClassifier, {kernel}, three classes", [y], outputs=2, attributes={**common, "classlabels_ints": [4, 5, 6], "vectors_per_class": [2, 3, 2], "support_vectors": floats(28), "coefficients": floats(14), "rho": floats(3)})
    add(f"SVMClassifier, {kernel}, three classes, probabilities", [y], outputs=2, attributes={**common, "classlabels_ints": [4, 5, 6], "vectors_per_class": [2, 3, 2], "support_vectors": floats(28), "coefficients": floats(14), "rho": floats(3), "prob_a": [-1.0, -1.2, -0.7], "prob_b": [0.1, -0.1, 0.2]}, rtol=1e-3, atol=1e-4)
    add(f"SVMClassifier, {kernel}, two classes", [y], outputs=2, attributes={**common, "classlabels_strings": ["no", "yes"], "vectors_per_class": [2, 3], "support_vectors": floats(20), "coefficients": floats(5), "rho": [0.1]})
    add(f"SVMClassifier, {kernel}, two classes, probabilities", [y], outputs=2, attributes={**common, "classlabels_ints": [0, 1], "vectors_per_class": [2, 3], "support_vectors": floats(20), "coefficients": floats(5), "rho": [0.1], "prob_a": [-1.0], "prob_b": [0.1]}, rtol=1e-3, atol=1e-4)
add("SVMRegressor, linear", [y], attributes={"coefficients": floats(4), "rho": [0.2], "kernel_params": [0.0, 0.0, 0.0]})
add("SVMRegressor, one class", [y], attributes={"kernel_type": "RBF", "kernel_params": [0.3, 0.0, 3.0], "n_supports": 6, "support_vectors": floats(24), "coefficients": floats(6), "rho": [-0.2], "one_class": 1})
for transform in ("NONE", "SOFTMAX", "LOGISTIC"):
    add(f"SVMClassifier, linear, {transform}", [y], outputs=2, attributes={"classlabels_ints": [4, 5, 6], "coefficients": floats(12), "rho": [0.2], "kernel_params": [0.0, 0.0, 0.0], "post_transform": transform})

for transform in ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO"):
    add(f"LinearClassifier, {transform}", [y], outputs=2, attributes={"coefficients": floats(12), "intercepts": floats(3), "classlabels_ints": [1, 2, 3], "post_transform": transform, "multi_class": 1})
    add(f"LinearClassifier, two classes, {transform}", [y], outputs=2, attributes={"coefficients": floats(4), "intercepts": floats(1), "classlabels_ints": [1, 2], "post_transform": transform})
add("LinearClassifier, texts", [y], outputs=2, attributes={"coefficients": floats(8), "intercepts": floats(2), "classlabels_strings": ["x", "y"], "post_transform": "SOFTMAX"})
for targets in (1, 2):
    add(f"LinearRegressor, {targets}", [y], attributes={"coefficients": floats(4 * targets), "intercepts": floats(targets), "targets": targets})
for norm in ("MAX", "L1", "L2"):
    add(f"Normalizer, {norm}", [np.concatenate([y, np.zeros((1, 4), np.float32)])], attributes={"norm": norm})
add("Scaler", [y], attributes={"offset": floats(4), "scale": floats(4)})
add("Scaler, one number, integers", [np.arange(6, dtype=np.int64).reshape(2, 3)], attributes={"offset": [1.0], "scale": [0.5]})
add("Binarizer", [y], attributes={"threshold": 0.3})
holes = y.copy()
holes[0, 1] = holes[3, 3] = np.nan
add("Imputer", [holes], attributes={"imputed_value_floats": floats(4), "replaced_value_float": float("nan")})
add("Imputer, one number", [np.array([[1, 0, 3]], np.int64)], attributes={"imputed_value_int64s": [9], "replaced_value_int64": 0})
add("ArrayFeatureExtractor", [y, np.array([2, 0], np.int64)])
add("FeatureVectorizer", [f(3, 2), f(3, 3), f(3, 1)], attributes={"inputdimensions": [2, 2, 2]})
add("OneHotEncoder", [np.array([[1, 5], [3, 2]], np.int64)], attributes={"cats_int64s": [1, 2, 3], "zeros": 1})
add("OneHotEncoder, floats", [np.array([1, 3], np.float32)], attributes={"cats_int64s": [1, 2, 3]})
texts = np.array([["a", "x"], ["b", "a"]], object)
add("OneHotEncoder, texts", [texts], attributes={"cats_strings": ["a", "b", "c"], "zeros": 1})
add("LabelEncoder, texts to numbers", [texts], attributes={"keys_strings": ["a", "b"], "values_int64s": [7, 8], "default_int64": -3})
add("LabelEncoder, numbers to texts", [np.array([1, 2, 9], np.int64)], attributes={"keys_int64s": [1, 2], "values_strings": ["one", "two"]})
add("LabelEncoder, texts to texts", [texts], attributes={"keys_strings": ["a", "b"], "values_strings": ["A", "B"], "default_string": "?"})
add("LabelEncoder, floats to numbers", [np.array([0.5, -0.0, 7], np.float32)], attributes={"keys_floats": [0.5, 0.0], "values_floats": [1.5, 2.5], "default_float": 9.0})
add("CategoryMapper", [texts], attributes={"cats_strings": ["a", "b"], "cats_int64s": [5, 6], "default_int64": 0})
add("CategoryMapper, back", [np.array([5, 6, 7], np.int64)], attributes={"cats_strings": ["a", "b"], "cats_int64s": [5, 6], "default_string": "none"})
add("ArrayFeatureExtractor, texts", [texts, np.array([1], np.int64)])
add("StringNormalizer", [np.array(["Monday", "tuesday", "WEDNESDAY"], object)], attributes={"case_change_action": "LOWER", "is_case_sensitive": 0, "stopwords": ["MONDAY"]}, domain="", expected=[np.array(["tuesday", "wednesday"], object)])
for op, inputs, attributes in (
    ("Reshape", [texts, np.array([4], np.int64)], {}),
    ("Concat", [texts, texts], {"axis": 1}),
    ("Gather", [texts, np.array([1, 0, 1], np.int64)], {"axis": 1}),
    ("Transpose", [texts], {}),
    ("Tile", [texts, np.array([1, 2], np.int64)], {}),
    ("Equal", [texts, np.array("a", object)], {}),
    ("Where", [np.array([True, False]), texts, np.array("z", object)], {}),
    ("Unsqueeze", [texts, np.array([0], np.int64)], {}),
    ("Shape", [texts], {}),
):
    add(f"{op} of texts", inputs, attributes=attributes, domain="", constants=[1] if op in ("Reshape", "Tile", "Unsqueeze") else [])
add("StringConcat", [texts, np.array(["!", "?"], object)], domain="")

# float64, whose numbers differ from float32's beyond the seventh digit.
d = lambda *shape: r.standard_normal(shape) * 3
close = {"rtol": 1e-13, "atol": 1e-13}
for op in ("Abs", "Ceil", "Exp", "Floor", "Neg", "Reciprocal", "Round", "Sigmoid", "Sign", "Sin", "Cos", "Tanh", "Relu"):
    add(f"{op} of float64", [d(2, 3)], domain="", **close)
for op in ("Sqrt", "Log"):
    add(f"{op} of float64", [np.abs(d(2, 3))], domain="", **close)
for op in ("Add", "Sub", "Mul", "Div", "Max", "Min", "Sum", "Less", "GreaterOrEqual", "Equal"):
    add(f"{op} of float64", [d(2, 1, 3), d(4, 1)], domain="", **close)
add("Pow of float64", [np.abs(d(2, 3)), d(3)], domain="", **close)
add("MatMul of float64", [d(2, 1, 3, 4), d(3, 4, 2)], domain="", **close)
add("MatMul of float64, vectors", [d(4), d(4, 2)], domain="", **close)
add("Gemm of float64", [d(4, 3), d(5, 4), d(5)], attributes={"transA": 1, "transB": 1, "alpha": 0.5, "beta": 2.0}, domain="", **close)
add("Clip of float64", [d(2, 3), np.array(-1.1), np.array(0.9)], domain="", **close)
add("CumSum of float64", [d(2, 3, 2), np.array(1)], attributes={"exclusive": 1, "reverse": 1}, constants=[1], domain="", **close)
add("Softmax of float64", [d(2, 3, 2)], attributes={"axis": 1}, domain="", **close)
add("LogSoftmax of float64", [d(2, 3)], domain="", **close)
for op in ("Sum", "Mean", "Max", "Min", "Prod", "L1", "L2", "SumSquare", "LogSumExp"):
    add(f"Reduce{op} of float64", [d(2, 3, 4), np.array([0, -1])], attributes={"keepdims": 0}, constants=[1], domain="", **close)
add("ReduceSum of float64, all", [d(2, 3)], domain="", **close)
edge = np.array([[0.1, 1.0], [0.1 + 1e-12, 0.0], [0.1 - 1e-12, 2.0]])
a = tree("target", 1, 1, 2)
a.pop("nodes_values"), a.pop("target_weights")
from onnx import numpy_helper

values = numpy_helper.from_array(np.array([0.1, 0.1, 0.5, 0, 0, 0, 0]), "values")
weights = numpy_helper.from_array(np.array([1.0, 2.0, 3.0, 4.0]), "weights")
add("TreeEnsembleRegressor of float64", [edge], attributes={**a, "n_targets": 1, "nodes_values_as_tensor": values, "target_weights_as_tensor": weights})

cases.write(pathlib.Path(__file__).parent / "learning.jsonl.gz")
