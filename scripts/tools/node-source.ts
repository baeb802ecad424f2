/** Where an image's Node comes from: NODE_SOURCE, else nodejs.org when it answers, else the npm registry. */
export async function nodeSource() {
  if (process.env.NODE_SOURCE) return process.env.NODE_SOURCE;
  try {
    const answer = await fetch("https://nodejs.org/dist/index.json", { method: "HEAD", signal: AbortSignal.timeout(10_000) });
    return answer.ok ? "nodejs.org" : "npm";
  } catch {
    return "npm";
  }
}
