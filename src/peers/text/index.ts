/** Text as tokens by the package @huggingface/tokenizers. The entry point `dxtensor/text`. */
export { tokenBlocks, tokenLines, type TokenBlocksOptions, type TokenFileOptions, type TokenLinesOptions } from "./lines.ts";
export { Tokenizer, loadTokenizer, type EncodeOptions, type TokenBatch, type TokenizerOptions } from "./tokenizer.ts";
