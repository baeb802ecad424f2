import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { TestBuilder, isValid, type Test } from "ctrf";
import { execa } from "execa";
import { describe, expect, it } from "vitest";
import { loadConfig } from "../../matrix/config/load.ts";
import { makePlan } from "../../matrix/plan/plan.ts";
import { mergedReport } from "../../matrix/report/ctrf.ts";
import { htmlReport } from "../../matrix/report/html.ts";
import { junitReport } from "../../matrix/report/junit.ts";
import { markup } from "../../matrix/report/markup.ts";
import { cellResults, evidenceText, exitStatus, summarize } from "../../matrix/report/results.ts";
import type { RunRecord } from "../../matrix/run/store.ts";
import type { LoweringReport, RunResult, Status } from "../../matrix/types.ts";
import { linux } from "./hosts.ts";

const config = loadConfig("matrix/matrix.yaml");
const others = config.gpus.flatMap((gpu) => (gpu.kind === "gpu" && gpu.id !== "gtx-1070" ? [gpu.id] : []));
const lowering: LoweringReport = {
  featureLevel: "6.2",
  groups: [others, ["gtx-1070"]],
  differences: [{ operation: "gelu f16", forms: ["ACTIVATION_GELU", "runs on the software adapter"] }],
  asked: 40,
};
const plan = makePlan(config, linux, new Map([["6.2", lowering]]), {
  suite: "device",
  platform: ["windows-10", "linux-glibc-2.31", "linux-glibc-2.36-vulkan"],
  node: ["20", "26"],
});

const result = (id: string, status: Status, reason: string | null = null): RunResult => ({
  id,
  status,
  reason,
  startedAt: Date.UTC(2026, 0, 2, 3, 4),
  endedAt: Date.UTC(2026, 0, 2, 3, 5),
  facts: { node: "20.20.2", device: "<a & b>" },
  counts: { passed: status === "passed" ? 2 : 1, failed: status === "failed" ? 1 : 0, skipped: 0 },
  where: "docker: local",
});

const failedRun = "linux-glibc-2.31/node-26/gtx-1070";
const record: RunRecord = {
  owner: { run: "20260102-030400-beef", pid: 1, start: "1", host: "here" },
  call: "npm run matrix -- --gpu 'rtx-*'",
  sources: { what: "commit 0123456789ab", hash: "0" },
  plan,
  results: [
    result("linux-glibc-2.31/node-20/software", "passed"),
    result("linux-glibc-2.31/node-20/uhd-630", "passed"),
    result(failedRun, "failed", "adds <b>two</b> numbers failed"),
    result("linux-glibc-2.36-vulkan/node-20/lavapipe", "passed"),
  ],
};

const test = (name: string, status: Test["status"], message?: string): Test => {
  const builder = new TestBuilder()
    .name(name)
    .status(status)
    .duration(12)
    .suite(["test/ops/elementwise/binary.test.ts", "add on cpu"])
    .filePath("test/ops/elementwise/binary.test.ts");
  return (message === undefined ? builder : builder.message(message).trace("at line 1\u0007")).build();
};
const tests = new Map<string, Test[]>(
  record.results.map(({ id, status }) => [
    id,
    [
      test("adds & subtracts", "passed"),
      status === "failed" ? test("adds <b>two</b> numbers", "failed", "1 < 2") : test("adds two", "passed"),
    ],
  ]),
);

describe("results", () => {
  const cells = cellResults(record);

  it("give every cell of a shared run that run's status, under its own evidence", () => {
    const shared = cells.filter(({ cell }) => cell.run === "linux-glibc-2.31/node-20/uhd-630");
    expect(shared.map(({ cell }) => cell.gpu)).toEqual(others);
    expect(new Set(shared.map(({ status }) => status))).toEqual(new Set(["passed"]));
    expect(evidenceText(shared[3]!)).toBe(`simulated, run as uhd-630`);
    expect(evidenceText(shared[0]!)).toBe("simulated");
  });

  it("count, and decide the exit status by the cells that must pass", () => {
    const sum = summarize(cells);
    expect(sum).toMatchObject({ passed: 1 + others.length + 1, failed: 1, fatal: [failedRun] });
    expect(sum.passed + sum.failed + sum.notRun).toBe(cells.length);
    expect(exitStatus(sum)).toBe(1);
    expect(exitStatus({ ...sum, fatal: [] })).toBe(0);
    expect(exitStatus({ ...sum, fatal: [], passed: 0 })).toBe(1);
  });

  it("say why a cell was not run, and of one that was not begun that it was not", () => {
    expect(cells.find(({ cell }) => cell.platform === "windows-10")?.reason).toBe("this machine is Linux");
    expect(cells.find(({ cell }) => cell.id === "linux-glibc-2.31/node-26/software")?.reason).toBe("it was not begun");
  });
});

describe("CTRF", () => {
  const report = mergedReport(record, tests);

  it("is valid, and holds each cell and each test of each run", () => {
    expect(isValid(report)).toBe(true);
    const cells = report.results.tests.filter(({ suite }) => suite?.[0] === "matrix");
    expect(cells).toHaveLength(plan.cells.length);
    expect(report.results.tests).toHaveLength(plan.cells.length + 2 * record.results.length);
    expect(report.results.summary.failed).toBe(2);
  });

  it("marks what is simulated and emulated", () => {
    const tagOf = (name: string): string[] | undefined => report.results.tests.find((t) => t.name === name)?.tags;
    expect(tagOf("linux-glibc-2.31/node-20/rtx-3070")).toContain("simulated");
    expect(tagOf("linux-glibc-2.36-vulkan/node-20/lavapipe")).toContain("emulated");
    expect(tagOf("linux-glibc-2.31/node-20/software")).toEqual(["software", "must-pass"]);
    for (const t of report.results.tests.filter(({ suite }) => suite?.[0] === failedRun)) expect(t.tags).toEqual(["simulated"]);
  });
});

describe("JUnit", () => {
  const xml = junitReport(record, tests);

  it("has a suite for each run with its failures, and the cells that were not run as skipped", () => {
    expect(xml).toContain('<testsuite name="linux-glibc-2.31/node-20/software"');
    expect(xml).toContain('<failure message="1 &lt; 2"');
    expect(xml.match(/<testsuite /g)).toHaveLength(record.results.length + 1);
    const idle = plan.cells.filter(({ run }) => !record.results.some(({ id }) => id === run)).length;
    expect(xml.match(/<skipped/g)).toHaveLength(idle);
  });

  it("has no characters that XML lacks", () => {
    expect(xml).not.toContain("\u0007");
    expect(xml).toContain("at line 1?");
  });
});

/** Runs the page in a browser with a script that clicks and looks; gives what the script says. */
const chromium = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"].find((path) => existsSync(path));
async function browse(page: string, script: string): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), "dxtensor-report-"));
  try {
    const file = join(folder, "report.html");
    writeFileSync(
      file,
      page.replace(
        "</body>",
        `<script>document.body.innerHTML += "<out" + "put>" + JSON.stringify((() => { ${script} })()) + "</out" + "put>"</script></body>`,
      ),
    );
    const args = [
      "--headless",
      "--no-sandbox",
      "--disable-gpu",
      "--disable-dev-shm-usage",
      `--user-data-dir=${folder}/profile`,
      "--dump-dom",
    ];
    const { stdout } = await execa(chromium!, [...args, pathToFileURL(file).href], { timeout: 50_000 });
    return /<output>(.*)<\/output>/s.exec(stdout)?.[1] ?? "nothing";
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

describe("a run that was repeated", () => {
  const id = "linux-glibc-2.31/node-20/software";
  const repeated: RunRecord = { ...record, earlier: [result(id, "failed", "the first attempt's reason")] };

  it("shows its earlier failure in every report, though it passed then", () => {
    expect(htmlReport(config, repeated, tests)).toContain("An earlier attempt failed: the first attempt&#39;s reason");
    expect(htmlReport(config, repeated, tests)).toContain("1 of the runs failed at first");
    const report = mergedReport(repeated, tests);
    expect(report.results.tests.find(({ name }) => name === id)).toMatchObject({
      flaky: true,
      retries: 1,
      message: expect.stringContaining("at first: "),
    });
  });
});

describe("HTML", () => {
  const page = htmlReport(config, record, tests);

  it("escapes what tests and machines say", () => {
    expect(page).toContain("adds &lt;b&gt;two&lt;/b&gt; numbers");
    expect(page).toContain("&lt;a &amp; b&gt;");
    expect(page).not.toContain("<b>two</b>");
    expect(markup`<p title="${'"'}">${["<", null, markup`<b>`]}</p>`.text).toBe('<p title="&quot;">&lt;<b></p>');
  });

  it("counts results that have numbers for names", () => {
    const numbered = ["ABI suite 1", "ABI suite 2", "ABI suite: passed 3", "ABI suite with a name 4"].map((name) =>
      new TestBuilder().name(name).status("passed").duration(1).suite(["ABI suite"]).build(),
    );
    const shown = htmlReport(config, record, new Map([[failedRun, numbered]]));
    expect(shown).toContain("<li>3 results without names</li>");
    expect(shown).toContain("<li>ABI suite with a name 4</li>");
    expect(shown).not.toContain("<li>ABI suite 1</li>");
  });

  it("names what failed among thousands, and counts the others", () => {
    const many = Array.from({ length: 600 }, (_, i) =>
      new TestBuilder()
        .name(`operator ${i}`)
        .status(i === 7 ? "failed" : "passed")
        .duration(1)
        .suite(["verify"])
        .build(),
    );
    const shown = htmlReport(config, record, new Map([[failedRun, many]]));
    expect(shown).toContain("<li>599 that did not fail, by name in ctrf.json</li>");
    expect(shown).toContain("operator 7");
    expect(shown).not.toContain("operator 8");
  });

  it("says what was tested, and by which call", () => {
    expect(page).toMatch(/sources:\s+commit 0123456789ab; suite: /);
    expect(page).toContain("<code>npm run matrix -- --gpu &#39;rtx-*&#39;</code>");
  });

  it("needs no script and loads nothing", () => {
    expect(page).not.toMatch(/<script|<link|<img|url\(|https?:/);
  });

  it("says of simulated and emulated runs that no such hardware was tested", () => {
    expect(page.match(/no such GPU was tested\.<\/p>/g)).toHaveLength(2);
    expect(page.match(/no GPU was tested\.<\/p>/g)).toHaveLength(1);
    expect(page).toContain(`Stands for ${others.slice(1).join(", ")} too`);
    expect(page).toContain("runs on the software adapter");
  });

  it.skipIf(chromium === undefined)("filters by status, and tells evidence apart, in a browser (not where no Chromium is)", async () => {
    const said = await browse(
      page,
      `const shown = () => [...document.querySelectorAll(".grid .cell")].filter((e) => e.offsetParent !== null).map((e) => e.querySelector("b").textContent);
       const count = (list) => list.reduce((sum, mark) => ({ ...sum, [mark]: (sum[mark] ?? 0) + 1 }), {});
       const border = (kind) => getComputedStyle(document.querySelector(".grid .passed." + kind)).borderTopStyle;
       const all = count(shown()); document.getElementById("only-failed").click(); const failed = count(shown());
       document.getElementById("only-passed").click(); const passed = count(shown());
       const links = [...document.querySelectorAll(".grid .cell")].every((e) => document.getElementById(e.getAttribute("href").slice(1)) !== null);
       return { all, failed, passed, links, borders: ["software", "simulated", "emulated"].map(border) };`,
    );
    const sum = summarize(cellResults(record));
    expect(JSON.parse(said)).toEqual({
      all: { "✓": sum.passed, "✗": 1, "–": sum.notRun },
      failed: { "✗": 1 },
      passed: { "✓": sum.passed },
      links: true,
      borders: ["solid", "dashed", "dotted"],
    });
  });
});
