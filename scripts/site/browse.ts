// Opens the built site in Chromium: the install selector and the filters against their data, and the width of each page.
import { createReadStream, existsSync, statSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { extname, join } from "node:path";
import { readTable } from "../lib/operators-page.ts";
import { say } from "../tools/project.ts";
import { Chromium, findChromium } from "./chromium.ts";
import { rowsOf, type OperatorRow } from "./operators.ts";
import { readInstall, readPlatforms, type Install } from "./platforms.ts";

const types: Readonly<Record<string, string>> = {
  ".html": "text/html",
  ".js": "text/javascript",
  ".css": "text/css",
  ".svg": "image/svg+xml",
};

/** The site's files below `base`, as a server of static files gives them. */
export async function serve(dist: string, base: string): Promise<{ readonly address: string; close(): void }> {
  const server = createServer((request, response) => {
    const path = decodeURIComponent(new URL(request.url ?? "/", "http://localhost").pathname).slice(base.length);
    const file = [path, `${path}.html`, join(path, "index.html")]
      .filter((name) => !name.split("/").includes(".."))
      .map((name) => join(dist, name))
      .find((name) => existsSync(name) && statSync(name).isFile());
    if (file === undefined) response.writeHead(404).end();
    else {
      response.writeHead(200, { "content-type": types[extname(file)] ?? "application/octet-stream" });
      createReadStream(file).pipe(response);
    }
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    address: `http://127.0.0.1:${(server.address() as AddressInfo).port}${base}`,
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

interface Shown {
  readonly combination: string;
  readonly command: string;
  readonly page: string;
}

/** What the selector has to show for each combination. */
export const expectedOf = ({ choices, managers, channels }: Install, base: string): readonly Shown[] =>
  choices.flatMap(({ system, device, platform, packages }) =>
    managers.flatMap((manager) =>
      channels.map((channel) => ({
        combination: [system, device, manager.id, channel.id].join(" "),
        command: [manager.add, ...packages.map((name) => `${name}${channel.tag}`)].join(" "),
        page: `${base}platforms/${platform}`,
      })),
    ),
  );

/** Runs in the page: chooses each combination by clicks, and tells what is shown. */
const CLICK = `(async () => {
  const settled = () => new Promise((resolve) => setTimeout(resolve));
  const pick = async (group, id) => {
    document.querySelector('.install-selector input[name="' + group + '"][value="' + id + '"]').click();
    await settled();
  };
  const values = (group) => [...document.querySelectorAll('.install-selector input[name="' + group + '"]')].map((input) => input.value);
  const shown = [];
  for (const system of values("system")) {
    await pick("system", system);
    for (const device of values("device")) {
      await pick("device", device);
      for (const manager of values("manager"))
        for (const channel of values("channel")) {
          await pick("manager", manager);
          await pick("channel", channel);
          shown.push({
            combination: [system, device, manager, channel].join(" "),
            command: document.querySelector(".install-selector .command").textContent,
            page: document.querySelector(".install-selector a.platform").getAttribute("href"),
          });
        }
    }
  }
  return shown;
})()`;

const until = (condition: string): string =>
  `new Promise((resolve, reject) => { const end = performance.now() + 20000; const look = () => (${condition}) ? resolve(true) : performance.now() > end ? reject(new Error(${JSON.stringify(condition)} + " did not come true within 20 s")) : requestAnimationFrame(look); look(); })`;

async function problemsOfSelector(browser: Chromium, address: string, base: string, install: Install): Promise<readonly string[]> {
  const problems: string[] = [];
  const expected = expectedOf(install, base);
  await browser.open(address);
  await browser.evaluate(until('document.querySelector(".install-selector form") !== null'));
  const shown = await browser.evaluate<readonly Shown[]>(CLICK);
  const wrong = expected.filter(
    (one) => !shown.some((s) => s.combination === one.combination && s.command === one.command && s.page === one.page),
  );
  for (const { combination, command } of wrong)
    problems.push(
      `the selector does not show "${command}" for ${combination}, but "${shown.find((s) => s.combination === combination)?.command}"`,
    );
  if (shown.length !== expected.length) problems.push(`the selector has ${shown.length} combinations, its data ${expected.length}`);
  // The arrow keys choose within a group, Tab goes to the next one.
  const focused = "document.activeElement.name + ' ' + document.activeElement.value + ' ' + document.activeElement.checked";
  const [first, second] = install.managers;
  const system = install.systems[0]!.id;
  await browser.evaluate(
    `document.querySelector('.install-selector input[value="${first!.id}"]').click(), document.querySelector('.install-selector input[value="${first!.id}"]').focus()`,
  );
  await browser.press("ArrowRight", 39);
  await browser.evaluate(
    until(`document.querySelector(".install-selector .command").textContent.startsWith(${JSON.stringify(`${second!.add} `)})`),
  );
  const after = await browser.evaluate<string>(focused);
  if (after !== `manager ${second!.id} true`) problems.push(`the right arrow chose "${after}" from ${first!.id}`);
  await browser.press("Tab", 9);
  const next = await browser.evaluate<string>(focused);
  if (!next.startsWith("channel ")) problems.push(`Tab after the package manager goes to "${next}"`);
  // Without JavaScript every command and every link is in the page.
  await browser.send("Emulation.setScriptExecutionDisabled", { value: true });
  await browser.open(`${address}?plain=${system}`);
  await browser.send("Emulation.setScriptExecutionDisabled", { value: false });
  const plain = await browser.evaluate<{ commands: string[]; links: string[] }>(
    `({ commands: [...document.querySelectorAll(".install-selector .all code")].map((c) => c.textContent.trim()), links: [...document.querySelectorAll(".install-selector .all a")].map((a) => a.getAttribute("href")) })`,
  );
  for (const { command, page, combination } of expected)
    if (!plain.commands.includes(command) || !plain.links.includes(page)) problems.push(`without JavaScript the page lacks ${combination}`);
  return problems;
}

/** Runs in the page: sets one filter after the other to each of its values, and tells how many rows are left. */
const FILTER = `(async () => {
  const settled = () => new Promise((resolve) => setTimeout(resolve));
  const counts = {};
  for (const select of document.querySelectorAll(".operator-table select"))
    for (const { value } of [...select.options].slice(1).concat(select.options[0])) {
      select.value = value;
      select.dispatchEvent(new Event("change"));
      await settled();
      if (value !== "") counts[select.name + " " + value] = document.querySelectorAll(".operator-table tbody tr").length;
    }
  return counts;
})()`;

/** How many operations each value of a filter leaves. */
export function countsOf(rows: readonly OperatorRow[]): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {};
  const add = (key: string): void => {
    counts[key] = (counts[key] ?? 0) + 1;
  };
  const levels = [...new Set(rows.flatMap(({ level }) => (level === null ? [] : [level])))];
  for (const { backends, dtypes, gradient, level, status } of rows) {
    for (const name of backends) add(`backend ${name}`);
    for (const name of dtypes) add(`dtype ${name}`);
    for (const order of [1, 2]) if (gradient >= order) add(`gradient ${order}`);
    // What runs at a level runs at each later one.
    for (const name of levels) if (level !== null && Number.parseFloat(level) <= Number.parseFloat(name)) add(`level ${name}`);
    add(`status ${status}`);
  }
  return counts;
}

async function problemsOfOperators(browser: Chromium, address: string): Promise<readonly string[]> {
  await browser.open(`${address}operators`);
  await browser.evaluate(until('document.querySelector(".operator-table form") !== null'));
  const shown = await browser.evaluate<Readonly<Record<string, number>>>(FILTER);
  const expected = countsOf(rowsOf(readTable()));
  return [...new Set([...Object.keys(expected), ...Object.keys(shown)])]
    .filter((key) => expected[key] !== shown[key])
    .map((key) => `the filter ${key} of operators shows ${shown[key] ?? "nothing"}; its data have ${expected[key] ?? "nothing"}`);
}

/** The elements that make a page wider than its window. */
const WIDE = `(() => {
  const width = document.documentElement.clientWidth;
  if (document.documentElement.scrollWidth <= width) return null;
  const out = [...document.querySelectorAll("main *, .VPContent *, .stamp")].filter((e) => e.getBoundingClientRect().right > width + 1);
  return document.documentElement.scrollWidth + " px, by " + [...new Set(out.slice(0, 3).map((e) => e.tagName.toLowerCase() + (e.className ? "." + String(e.className).split(" ")[0] : "")))].join(", ");
})()`;

/** Whether the built pages are as they should be; says what is not. Without a browser it says so, and that is no failure. */
export async function browse(dist: string, pages: readonly string[], base: string): Promise<boolean> {
  const program = findChromium();
  if (program === null) {
    say("docs: NOT CHECKED IN A BROWSER: there is no Chromium on this machine (sudo apt-get install -y chromium)");
    return true;
  }
  const started = performance.now();
  const server = await serve(dist, base);
  const problems: string[] = [];
  try {
    let browser: Chromium;
    try {
      browser = await Chromium.start(program);
    } catch (error) {
      say(`docs: NOT CHECKED IN A BROWSER: ${program} does not start here: ${(error as Error).message}`);
      return true;
    }
    try {
      const install = readInstall(readPlatforms());
      problems.push(...(await problemsOfSelector(browser, server.address, base, install)));
      problems.push(...(await problemsOfOperators(browser, server.address)));
      const opened = pages.filter((page) => !page.startsWith("api/") && page !== "404.html");
      for (const page of opened) {
        await browser.resize(390);
        await browser.open(`${server.address}${page}`);
        for (const width of [390, 1280]) {
          await browser.resize(width);
          const wide = await browser.evaluate<string | null>(WIDE);
          if (wide !== null) problems.push(`${page} is wider than ${width} px: ${wide}`);
        }
      }
      const combinations = expectedOf(install, base).length;
      say(
        `docs: ${opened.length} pages at two widths and ${combinations} combinations of the selector in Chromium: ${problems.length === 0 ? "ok" : "FAILED"} (${((performance.now() - started) / 1000).toFixed(1)} s)`,
      );
    } finally {
      await browser.close();
    }
  } finally {
    server.close();
  }
  for (const problem of problems) say(`docs: ${problem}`);
  return problems.length === 0;
}
