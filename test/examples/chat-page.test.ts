/** The page of the example "chat" in Chromium, with a server whose answers the tests write piece by piece. */
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { chatPage } from "../../examples/chat/chat-page.ts";
import { Chromium, findChromium } from "../../scripts/site/chromium.ts";

interface Asked {
  readonly messages: readonly { readonly role: string; readonly content: string }[];
  readonly answer: ServerResponse;
}

const program = findChromium();

describe.skipIf(program === null)("the page of chat (not where no Chromium is)", () => {
  let server: Server;
  let browser: Chromium;
  let next: (asked: Asked) => void = () => {};

  async function take(request: IncomingMessage, answer: ServerResponse): Promise<void> {
    const { messages } = JSON.parse(await text(request)) as Pick<Asked, "messages">;
    next({ messages, answer });
  }

  beforeAll(async () => {
    server = createServer((request, response) => {
      if (request.method === "GET") response.setHeader("content-type", "text/html; charset=utf-8").end(chatPage("a <model>"));
      else void take(request, response);
    });
    await once(server.listen(0, "127.0.0.1"), "listening");
    browser = await Chromium.start(program!);
  }, 60_000);
  afterAll(async () => {
    await browser.close();
    server.closeAllConnections();
    server.close();
  });
  beforeEach(() => browser.open(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`));

  /** Puts a text into the field and sends it; the result is what the server is asked. */
  async function ask(question: string): Promise<Asked> {
    const asked = new Promise<Asked>((resolve) => (next = resolve));
    await submit(question);
    return asked;
  }
  const submit = (question: string): Promise<void> =>
    browser.evaluate(
      `document.querySelector("textarea").value = ${JSON.stringify(question)}; document.querySelector("form").requestSubmit()`,
    );

  /** What the page shows, once a condition holds. */
  const shown = (condition: string): Promise<{ readonly parts: readonly string[]; readonly button: string; readonly field: string }> =>
    browser.evaluate(`new Promise((resolve) => {
      const parts = () => [...document.querySelectorAll("#talk > *")].map((e) => e.className + ": " + (e.className === "facts" ? "" : e.textContent));
      const look = () => {
        if (!(${condition})) return;
        watcher.disconnect();
        resolve({ parts: parts(), button: send.textContent, field: field.value });
      };
      const watcher = new MutationObserver(look);
      watcher.observe(document.body, { subtree: true, childList: true, characterData: true, attributes: true });
      look();
    })`);
  const isDone = `send.textContent === "Send"`;

  it("shows an answer while it arrives, and asks again with all that was said", async () => {
    const first = await ask(" How? ");
    expect(first.messages).toEqual([{ role: "user", content: "How?" }]);
    first.answer.write("So <b>&amp;");
    expect(await shown(`parts()[1]?.includes("So")`)).toEqual({
      parts: ["said user: How?", "said assistant: So <b>&amp;"],
      button: "Stop",
      field: "",
    });
    // A character of two pieces.
    const [head, tail] = [Buffer.from(" é").subarray(0, 2), Buffer.from("é").subarray(1)];
    first.answer.write(head);
    first.answer.end(tail);
    expect(await shown(isDone)).toMatchObject({ parts: ["said user: How?", "said assistant: So <b>&amp; é", "facts: "], button: "Send" });
    const second = await ask("Why?");
    expect(second.messages.map((m) => `${m.role}: ${m.content}`)).toEqual(["user: How?", "assistant: So <b>&amp; é", "user: Why?"]);
    second.answer.end("Because.");
    expect((await shown(isDone)).parts.at(-2)).toBe("said assistant: Because.");
    await browser.evaluate(`document.getElementById("new").click()`);
    expect(await shown(isDone)).toMatchObject({ parts: [] });
    const third = await ask("Again?");
    expect(third.messages).toHaveLength(1);
    third.answer.end();
  });

  it("says why a request failed, and continues without it", async () => {
    const failed = await ask("Bad?");
    failed.answer.writeHead(500, { "content-type": "application/json" }).end(JSON.stringify({ error: "The text is too long." }));
    const { parts, field } = await shown(isDone);
    expect([parts, field]).toEqual([["said user unanswered: Bad?", "error: The text is too long."], "Bad?"]);
    const lost = await ask("Lost?");
    // Chromium asks again over another connection.
    next = ({ answer }) => answer.destroy();
    lost.answer.destroy();
    expect((await shown(isDone)).parts.at(-1)).toBe("error: The server does not answer.");
    const good = await ask("Good?");
    expect(good.messages).toEqual([{ role: "user", content: "Good?" }]);
    good.answer.end("Yes.");
    expect((await shown(isDone)).parts.slice(-3)).toEqual(["said user: Good?", "said assistant: Yes.", "facts: "]);
  });

  it("stops an answer, and keeps what came of it", async () => {
    const { answer } = await ask("Long?");
    answer.write("It begins");
    await shown(`parts()[1]?.includes("begins")`);
    const closed = once(answer, "close");
    // The button stops while an answer comes, whatever is in the field.
    await submit("ignored");
    await closed;
    expect(await shown(isDone)).toEqual({ parts: ["said user: Long?", "said assistant: It begins"], button: "Send", field: "ignored" });
    const next = await ask("And?");
    expect(next.messages.map((m) => m.content)).toEqual(["Long?", "It begins", "And?"]);
    next.answer.end("End.");
    expect((await shown(isDone)).parts.at(-2)).toBe("said assistant: End.");
  });

  it("asks nothing where nothing is in the field, and sends by Enter", async () => {
    let count = 0;
    next = () => count++;
    await submit("");
    await submit(" \n ");
    expect(await shown(isDone)).toMatchObject({ parts: [] });
    const asked = new Promise<Asked>((resolve) => {
      next = (each) => {
        count++;
        resolve(each);
      };
    });
    await browser.evaluate(`field.value = "By a key?"; field.focus()`);
    await browser.press("Enter", 13);
    const { messages, answer } = await asked;
    expect([messages.map((m) => m.content), count]).toEqual([["By a key?"], 1]);
    answer.end("Yes.");
    await shown(isDone);
  });
});
