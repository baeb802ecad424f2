/** A conversation in the terminal: lines in, answers out while they are made. Ctrl-C ends an answer, and a second one the program. */
import { createInterface } from "node:readline/promises";
import type { ChatMessage } from "dxtensor/text";
import type { Speaker } from "./conversation.ts";

/** Asks until the input ends. system: the first message, "" for none. */
export async function talk(speaker: Speaker, system: string, input: NodeJS.ReadableStream, output: NodeJS.WritableStream): Promise<void> {
  const begin = (): ChatMessage[] => (system === "" ? [] : [{ role: "system", content: system }]);
  let messages = begin();
  const isTerminal = (input as { isTTY?: boolean }).isTTY === true;
  const lines = createInterface({ input, output, terminal: isTerminal, historySize: 1000, prompt: isTerminal ? "> " : "" });
  let stop: AbortController | null = null;
  let isOpen = true;
  lines.once("close", () => (isOpen = false));
  lines.on("SIGINT", () => {
    if (stop === null || stop.signal.aborted) lines.close();
    else stop.abort();
  });
  if (isTerminal) output.write("/new begins another conversation, Ctrl-C ends an answer, Ctrl-D the program.\n");
  lines.prompt();
  for await (const line of lines) {
    const text = line.trim();
    if (text === "/new") messages = begin();
    else if (text !== "") {
      messages.push({ role: "user", content: text });
      stop = new AbortController();
      const begun = performance.now();
      const pieces = speaker.answer(messages, stop.signal);
      let answer = "";
      for (;;) {
        const { done, value } = await pieces.next();
        if (done === true) {
          const seconds = (performance.now() - begun) / 1000;
          output.write(isTerminal ? `\n[${value} tokens, ${(value / seconds).toFixed(1)} a second]\n` : "\n");
          break;
        }
        answer += value;
        output.write(value);
      }
      stop = null;
      messages.push({ role: "assistant", content: answer });
    }
    // Lines that came before the input ended are still given.
    if (isOpen) lines.prompt();
  }
}
