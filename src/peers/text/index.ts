/** Text as tokens by the package @huggingface/tokenizers, and conversations as text by @huggingface/jinja. The entry point `dxtensor/text`. */
export type { ChatMessage, ChatOptions } from "./chat-template.ts";
export { tokenBlocks, tokenLines, type TokenBlocksOptions, type TokenFileOptions, type TokenLinesOptions } from "./lines.ts";
export { Tokenizer, loadTokenizer, type EncodeOptions, type TokenBatch, type TokenizerOptions } from "./tokenizer.ts";
