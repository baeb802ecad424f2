"""A small tokenizer, and what the tokenizers package makes of texts: `python record.py` writes the files next to it."""

import json
from pathlib import Path

from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers

here = Path(__file__).parent
tokenizer = Tokenizer(models.BPE(unk_token=None))
tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
tokenizer.decoder = decoders.ByteLevel()
corpus = ["the cat sat on the mat", "a cat and a hat", "the hat is on the cat"] * 4
trainer = trainers.BpeTrainer(
    vocab_size=290, special_tokens=["[PAD]", "[CLS]", "[SEP]"], initial_alphabet=pre_tokenizers.ByteLevel.alphabet()
)
tokenizer.train_from_iterator(corpus, trainer)
tokenizer.post_processor = processors.TemplateProcessing(
    single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 1), ("[SEP]", 2)]
)
tokenizer.save(str(here / "tokenizer.json"), pretty=False)
(here / "tokenizer_config.json").write_text(json.dumps({"pad_token": "[PAD]"}) + "\n")
expected = []
for text in ["the cat sat on the mat", "", "naïve 猫 🐈", "  two  spaces\t", "a" * 50]:
    plain = tokenizer.encode(text, add_special_tokens=False).ids
    whole = tokenizer.encode(text).ids
    tokenizer.enable_truncation(5)
    expected.append({"text": text, "plain": plain, "whole": whole, "cut": tokenizer.encode(text).ids})
    tokenizer.no_truncation()
(here / "expected.json").write_text(json.dumps(expected, ensure_ascii=False) + "\n")
