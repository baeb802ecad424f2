"""Small vocabularies as GGUF files have them, and what tokenizers and sentencepiece make of texts: `python record_gguf.py` writes gguf.json."""

import json
import random
import tempfile
from pathlib import Path

import sentencepiece
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

here = Path(__file__).parent
corpus = ["The cat sat on the mat.", "It's 12 o'clock; we'll see 345 cats!", "naïve café, déjà vu", "  def f(x):\n    return x * 2\n"] * 6
draw = random.Random(3)
letters = [*"abc the cat IN 019 \n\t'.,!?_-é猫½🐈", "  ", "'ll", "'S", "\r\n", "<|end|>", "cat", "12345", "²"]
texts = ["", "The cat sat on the mat.", "  two  spaces\t", "猫 🐈 naïve", "a" * 50, "<|begin|>cat<|end|> <|user|> cat", "x\n\n\n y", "9½ + 1²"]
texts += ["".join(draw.choice(letters) for _ in range(draw.randint(1, 40))) for _ in range(40)]


def regex(numbers):
    return (
        r"(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])|[^\r\n\p{L}\p{N}]?\p{L}+|"
        + numbers
        + r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
    )


byte_level = lambda use_regex: pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=use_regex)
cut = lambda pattern: pre_tokenizers.Split(Regex(pattern), "isolated")
kinds = {
    "gpt-2": byte_level(True),
    "smollm": pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True), byte_level(True)]),
    "llama-bpe": pre_tokenizers.Sequence([cut(regex(r"\p{N}{1,3}")), byte_level(False)]),
    "qwen2": pre_tokenizers.Sequence([cut(regex(r"\p{N}")), byte_level(False)]),
}
recorded = []
for pre, pre_tokenizer in kinds.items():
    t = Tokenizer(models.BPE(ignore_merges=pre == "llama-bpe"))
    t.pre_tokenizer, t.decoder = pre_tokenizer, decoders.ByteLevel()
    if pre == "qwen2":
        t.normalizer = normalizers.NFC()
    t.train_from_iterator(corpus, trainers.BpeTrainer(vocab_size=330, initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
    t.add_special_tokens(["<|begin|>", "<|end|>"])
    t.add_tokens([AddedToken("<|user|>", normalized=False)])
    model = json.loads(t.to_str())["model"]
    tokens = [t.id_to_token(i) for i in range(t.get_vocab_size())]
    metadata = {
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": pre,
        "tokenizer.ggml.tokens": tokens,
        "tokenizer.ggml.token_type": [{"<|begin|>": 3, "<|end|>": 3, "<|user|>": 4}.get(x, 1) for x in tokens],
        "tokenizer.ggml.merges": [" ".join(m) if isinstance(m, list) else m for m in model["merges"]],
        "tokenizer.ggml.bos_token_id": tokens.index("<|begin|>"),
        "tokenizer.ggml.eos_token_id": tokens.index("<|end|>"),
    }
    cases = [{"text": x, "ids": (ids := t.encode(x).ids), "decoded": t.decode(ids, skip_special_tokens=True)} for x in texts]
    recorded.append({"name": pre, "metadata": metadata, "cases": cases})

with tempfile.TemporaryDirectory() as folder:
    (Path(folder) / "corpus.txt").write_text("\n".join(corpus))
    sentencepiece.SentencePieceTrainer.train(
        input=f"{folder}/corpus.txt", model_prefix=f"{folder}/m", vocab_size=340, model_type="bpe", byte_fallback=True, character_coverage=0.98,
        normalization_rule_name="identity", remove_extra_whitespaces=False, split_digits=True, allow_whitespace_only_pieces=True, minloglevel=2,
    )  # fmt: skip
    sp = sentencepiece.SentencePieceProcessor(model_file=f"{folder}/m.model")
count = sp.get_piece_size()
kind = lambda i: 2 if sp.is_unknown(i) else 3 if sp.is_control(i) else 6 if sp.is_byte(i) else 1
metadata = {
    "tokenizer.ggml.model": "llama",
    "tokenizer.ggml.pre": "default",
    "tokenizer.ggml.tokens": [sp.id_to_piece(i) for i in range(count)],
    "tokenizer.ggml.scores": [sp.get_score(i) for i in range(count)],
    "tokenizer.ggml.token_type": [kind(i) for i in range(count)],
    "tokenizer.ggml.bos_token_id": sp.bos_id(),
    "tokenizer.ggml.eos_token_id": sp.eos_id(),
    "tokenizer.ggml.unknown_token_id": sp.unk_id(),
}
cases = [{"text": x, "ids": (ids := sp.encode(x)), "decoded": sp.decode(ids)} for x in texts]
recorded.append({"name": "pieces", "metadata": metadata, "cases": cases})
(here / "gguf.json").write_text(json.dumps(recorded, ensure_ascii=False) + "\n")
