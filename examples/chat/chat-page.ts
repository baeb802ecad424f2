/** The page of a conversation. Its script keeps the messages, and shows an answer while it arrives. */

const style = `
* { box-sizing: border-box } body { font: 16px/1.5 system-ui, sans-serif; margin: 0; color: #1b1f24; background: #f6f8fa }
main { display: flex; flex-direction: column; height: 100vh; max-width: 46rem; margin: 0 auto; padding: 1rem }
h1 { font-size: 1rem; margin: 0 0 .5rem; color: #57606a } #talk { flex: 1; overflow-y: auto }
.said { white-space: pre-wrap; overflow-wrap: anywhere; padding: .6rem .9rem; border-radius: .8rem; margin: .5rem 0; width: fit-content; max-width: 85% }
.user { background: #1f5fbf; color: #fff; margin-left: auto } .assistant { background: #fff; border: 1px solid #d0d7de }
.error { color: #b42318 } .unanswered { opacity: .6 } .facts { color: #57606a; font-size: .8rem; margin: -.3rem 0 .5rem .9rem }
form { display: flex; gap: .5rem } textarea { flex: 1; font: inherit; padding: .5rem .7rem; border: 1px solid #d0d7de; border-radius: .5rem; resize: none }
button { font: inherit; padding: 0 1rem; border: 1px solid #d0d7de; border-radius: .5rem; background: #fff; cursor: pointer }
button.main { background: #1f5fbf; color: #fff; border-color: #1f5fbf }`;

const script = `
const talk = document.getElementById("talk"), form = document.querySelector("form"), field = document.querySelector("textarea"), send = document.getElementById("send");
let messages = [], running = null;
function show(kind, text) {
  const part = document.createElement("div");
  part.className = kind; part.textContent = text; talk.append(part); talk.scrollTop = talk.scrollHeight;
  return part;
}
function begin() { if (running) running.abort(); messages = []; talk.replaceChildren(); field.focus(); }
async function ask(text) {
  const own = messages, question = { role: "user", content: text }; own.push(question);
  const asked = show("said user", text), part = show("said assistant", "…"), stop = running = new AbortController();
  send.textContent = "Stop"; let answer = ""; const begun = performance.now();
  try {
    const response = await fetch("/chat", { method: "POST", body: JSON.stringify({ messages }), signal: stop.signal });
    if (!response.ok) throw new Error((await response.json()).error);
    const decoder = new TextDecoder();
    for (const reader = response.body.getReader(); ;) {
      const { done, value } = await reader.read();
      if (done) break;
      answer += decoder.decode(value, { stream: true }); part.textContent = answer; talk.scrollTop = talk.scrollHeight;
    }
    show("facts", ((performance.now() - begun) / 1000).toFixed(1) + " s");
  } catch (error) {
    if (!stop.signal.aborted) show("error", error instanceof TypeError ? "The server does not answer." : error.message);
  }
  if (answer !== "") own.push({ role: "assistant", content: answer });
  else {
    // The next request is without a question that has no answer.
    own.splice(own.indexOf(question), 1); part.remove(); asked.classList.add("unanswered");
    if (field.value === "" && own === messages) field.value = text;
  }
  if (running === stop) { running = null; send.textContent = "Send"; }
}
form.addEventListener("submit", (event) => {
  event.preventDefault();
  if (running) return running.abort();
  const text = field.value.trim();
  if (text) { field.value = ""; ask(text); }
});
field.addEventListener("keydown", (event) => { if (event.key === "Enter" && !event.shiftKey) { event.preventDefault(); form.requestSubmit(); } });
document.getElementById("new").addEventListener("click", begin);`;

const escape = (text: string): string => text.replace(/[&<>"]/g, (c) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[c]!);

/** The page, as HTML. name: of the model. */
export const chatPage = (name: string): string => `<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><link rel="icon" href="data:,"><title>${escape(name)}</title><style>${style}</style>
<main><h1>${escape(name)}</h1><div id="talk" role="log" aria-live="polite"></div>
<form><textarea rows="2" placeholder="Ask" aria-label="Message" autofocus></textarea><button class="main" id="send">Send</button><button type="button" id="new">New</button></form></main>
<script>${script}</script>
</html>
`;
