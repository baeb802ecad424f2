/** Messages as the text that a model was trained on, by its template and the package @huggingface/jinja. */
import { ValueError } from "../../index.ts";
import { loadPeer, peerError } from "../peer.ts";

/** A message of a conversation. */
export interface ChatMessage {
  /** Who says it: "system", "user", "assistant", or what else the template knows. */
  readonly role: string;
  readonly content: string;
  /** What else the template reads. */
  readonly [name: string]: unknown;
}

/** Options of Tokenizer.applyChatTemplate(). */
export interface ChatOptions {
  /** Whether the text ends with the begin of the assistant's answer. Default: false. */
  readonly addGenerationPrompt?: boolean | undefined;
  /** Another template than the model's. */
  readonly template?: string | undefined;
  /** What else the template reads, such as `tools`. */
  readonly variables?: Readonly<Record<string, unknown>> | undefined;
}

/** @internal What is used of the package. */
interface JinjaModule {
  readonly Template: new (template: string) => { render(variables: object): string };
}

/** Texts of tokens by their names, as templates read them: bos_token, eos_token. */
export type NamedTokens = Readonly<Record<string, string>>;

const isMessage = (message: unknown): boolean =>
  typeof message === "object" && message !== null && typeof (message as { readonly role?: unknown }).role === "string";

/** The text of messages. */
export async function chatText(
  operation: string,
  source: string,
  template: string,
  messages: readonly ChatMessage[],
  tokens: NamedTokens,
  { addGenerationPrompt = false, variables = {} }: ChatOptions,
): Promise<string> {
  if (!Array.isArray(messages) || !messages.every((message) => isMessage(message)))
    throw new ValueError(operation, "messages", "a list of { role, content }", messages);
  const { Template } = await loadPeer<JinjaModule>(operation, source, "@huggingface/jinja", () => import("@huggingface/jinja" as string));
  try {
    return new Template(template).render({ ...tokens, ...variables, messages, add_generation_prompt: addGenerationPrompt });
  } catch (error) {
    throw peerError(operation, source, "of a template that takes these messages", error);
  }
}
