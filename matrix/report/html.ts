/** The matrix as one page: at a glance, then each run with its tests and versions. Readable without JavaScript. */
import type { Test } from "ctrf";
import type { Config } from "../config/schema.ts";
import type { RunRecord } from "../run/store.ts";
import type { Evidence, LoweringReport, Run, Status } from "../types.ts";
import { Markup, markup } from "./markup.ts";
import { cellResults, evidenceText, summarize, type CellResult } from "./results.ts";
import { duration } from "./time.ts";
import { style } from "./style.ts";

const classes: Readonly<Record<Status, string>> = { passed: "passed", failed: "failed", "not run": "idle" };
const marks: Readonly<Record<Status, string>> = { passed: "✓", failed: "✗", "not run": "–" };

const anchor = (id: string): string => id.replaceAll("/", "_");

function gridCell(entry: CellResult): Markup {
  const { cell, run, result, status, reason } = entry;
  const count = result === null ? "" : String(result.counts.passed + result.counts.failed);
  const words = status === "not run" ? "not run" : cell.evidence;
  const shared =
    run?.device.kind === "simulated" && run.device.profile !== cell.gpu && result !== null
      ? markup`<small>as ${run.device.profile}</small>`
      : null;
  const title = [cell.id, evidenceText(entry), reason].filter((part) => part !== null).join(" · ");
  const target = run !== null && result !== null ? anchor(run.id) : "not-run";
  return markup`<td>
    <a class="cell ${classes[status]} ${cell.evidence} as-${classes[status]}" href="#${target}" title="${title}"
      ><b>${marks[status]}</b> ${count}<small>${words}</small>${shared}</a
    >
  </td>`;
}

function grid(config: Config, cells: readonly CellResult[]): Markup {
  const gpus = config.gpus.filter(({ id }) => cells.some(({ cell }) => cell.gpu === id));
  const platforms = config.platforms.filter(({ id }) => cells.some(({ cell }) => cell.platform === id));
  const rows = platforms.map((platform) => {
    const own = cells.filter(({ cell }) => cell.platform === platform.id);
    const nodes = config.node.filter((node) => own.some(({ cell }) => cell.node === node));
    return markup`<tbody>
      ${nodes.map((node, i) => {
        const head = i === 0 ? markup`<th scope="rowgroup" rowspan="${nodes.length}">${platform.name}</th>` : null;
        const columns = gpus.map((gpu) => {
          const entry = own.find(({ cell }) => cell.node === node && cell.gpu === gpu.id);
          return entry === undefined ? markup`<td></td>` : gridCell(entry);
        });
        return markup`<tr>
          ${head}
          <th scope="row">Node ${node}</th>
          ${columns}
        </tr>`;
      })}
    </tbody>`;
  });
  return markup`<div class="scroll">
    <table class="grid">
      <thead>
        <tr>
          <th>Platform</th>
          <th>Node</th>
          ${gpus.map((gpu) => markup`<th scope="col">${gpu.name}</th>`)}
        </tr>
      </thead>
      ${rows}
    </table>
  </div>`;
}

const fileOf = (test: Test): string => (Array.isArray(test.suite) ? (test.suite[0] ?? "") : (test.suite ?? ""));

function testLine(test: Test): Markup {
  const name = [...(Array.isArray(test.suite) ? test.suite.slice(1) : []), test.name].join(" › ");
  if (test.status === "passed") return markup`<li>${name}</li>`;
  if (test.status !== "failed")
    return markup`<li class="skip">${name} — ${test.status}${test.message === undefined ? "" : `: ${test.message}`}</li>`;
  const trace = [test.message, test.trace].filter((part) => part !== undefined).join("\n");
  return markup`<li class="bad">
    <b>✗ ${name}</b>
    <pre>${trace.slice(0, 4000)}</pre>
  </li>`;
}

/** A program that only counts gives its results numbers for names: "ABI suite 1", "kernels: passed 2". */
const isNumbered = (file: string, { name, status }: Test): boolean =>
  (status === "passed" || status === "skipped") && name.startsWith(file) && /^(: passed|: skipped)? \d+$/.test(name.slice(file.length));

/** What passed is named up to here: thousands of operators say nothing to a reader, and the run's ctrf.json has them. */
const maxNamed = 500;

function files(tests: readonly Test[]): Markup[] {
  const names = [...new Set(tests.map(fileOf))];
  return names.map((name) => {
    const own = tests.filter((test) => fileOf(test) === name);
    const bad = own.filter(({ status }) => status === "failed").length;
    const idle = own.filter(({ status }) => status !== "failed" && status !== "passed").length;
    const total = own.reduce((sum, test) => sum + test.duration, 0);
    const text = `${own.length - bad - idle} passed${bad === 0 ? "" : `, ${bad} failed`}${idle === 0 ? "" : `, ${idle} skipped`}, ${duration(total)}`;
    const summary = markup`<summary>${bad > 0 ? "✗ " : ""}<code>${name}</code> <span class="soft">${text}</span></summary>`;
    const named = own.filter((test) => !isNumbered(name, test));
    const listed = named.length > maxNamed ? named.filter(({ status }) => status === "failed") : named;
    const unlisted = [
      own.length === named.length ? null : `${own.length - named.length} results without names`,
      named.length === listed.length ? null : `${named.length - listed.length} that did not fail, by name in ctrf.json`,
    ];
    const lines = markup`<ul class="tests">
      ${unlisted.map((text) => (text === null ? null : markup`<li>${text}</li>`))}${listed.map(testLine)}
    </ul>`;
    return bad > 0
      ? markup`<details class="file" open>${summary}${lines}</details>`
      : markup`<details class="file">${summary}${lines}</details>`;
  });
}

function runDetails(run: Run, cells: readonly CellResult[], tests: readonly Test[], record: RunRecord): Markup | null {
  const own = cells.filter(({ cell }) => cell.run === run.id);
  const [first] = own;
  if (first?.result == null) return null;
  const { result, status } = first;
  const { evidence } = first.cell;
  const others = own.filter(({ cell }) => cell.id !== run.id).map(({ cell }) => cell.gpu);
  const count = `${result.counts.passed} passed, ${result.counts.failed} failed${result.counts.skipped === 0 ? "" : `, ${result.counts.skipped} skipped`}`;
  const summary = markup`<summary>
    <span class="mark">${marks[status]}</span> <code>${run.id}</code> <span class="tag ${evidence}">${evidence}</span>
    <span class="soft">${count}, ${duration(result.endedAt - result.startedAt)}, ${result.where}</span>
  </summary>`;
  const body = markup`<div id="${anchor(run.id)}">
    ${(record.earlier ?? []).filter(({ id }) => id === run.id).map(({ reason }) => markup`<p>An earlier attempt failed: ${reason}</p>`)}
    ${result.reason === null ? null : markup`<p><b>${result.reason}</b></p>`}
    ${evidence === "simulated" ? markup`<p>A profile of the software adapter; no such GPU was tested.</p>` : null}
    ${evidence === "emulated" ? markup`<p>Microsoft's library on a Vulkan driver that runs on the processor, not on the system that it is meant for; no GPU was tested.</p>` : null}
    ${others.length === 0 ? null : markup`<p>Stands for ${others.join(", ")} too: their capabilities lead to the same lowerings.</p>`}
    <table class="facts">
      ${Object.entries(result.facts).map(
        ([name, value]) =>
          markup`<tr>
            <td>${name}</td>
            <td>${value}</td>
          </tr>`,
      )}
    </table>
    ${files(tests)}
  </div>`;
  const kind = `run is-${classes[status]} as-${classes[status]}`;
  return status === "failed"
    ? markup`<details class="${kind}" open>${summary}${body}</details>`
    : markup`<details class="${kind}">${summary}${body}</details>`;
}

function notRun(cells: readonly CellResult[]): Markup | null {
  const idle = cells.filter(({ result }) => result === null || result.status === "not run");
  if (idle.length === 0) return null;
  const reasons = [...new Set(idle.map(({ reason }) => reason ?? ""))];
  return markup`<h2 id="not-run">Not run</h2>
    <table class="list">
      ${reasons.map((reason) => {
        const own = idle.filter((entry) => (entry.reason ?? "") === reason).map(({ cell }) => cell.id);
        const platforms = [...new Set(own.map((id) => id.split("/")[0]!))];
        return markup`<tr class="as-idle">
          <td>${reason}</td>
          <td>
            <details>
              <summary>${own.length} ${own.length === 1 ? "cell" : "cells"} of ${platforms.join(", ")}</summary>
              ${own.map((id) => markup`<code>${id}</code><br />`)}
            </details>
          </td>
        </tr>`;
      })}
    </table>`;
}

function lowering(report: LoweringReport): Markup {
  const heads = report.groups.map((group) => markup`<th scope="col">${group.join(", ")}</th>`);
  const rows = report.differences.map(
    ({ operation, forms }) =>
      markup`<tr>
        <td><code>${operation}</code></td>
        ${forms.map((form) => markup`<td><code>${form}</code></td>`)}
      </tr>`,
  );
  return markup`<h2>Lowerings of the simulated profiles, feature level ${report.featureLevel}</h2>
    <p>
      ${report.asked} recorded calls were lowered on each profile. Profiles with the same lowerings share one run: ${report.groups.length}
      ${report.groups.length === 1 ? "group" : "groups"}, ${report.differences.length} calls that differ.
    </p>
    ${report.groups.map((group) => markup`<p><code>${group[0]!}</code> ${group.length > 1 ? `stands for ${group.slice(1).join(", ")}` : "runs for itself"}</p>`)}
    ${
      rows.length === 0
        ? null
        : markup`<details>
            <summary>What differs</summary>
            <table class="list">
              <thead>
                <tr>
                  <th>Call</th>
                  ${heads}
                </tr>
              </thead>
              ${rows}
            </table>
          </details>`
    }`;
}

function leftOut({ plan }: RunRecord): Markup | null {
  if (plan.leftOut.length === 0) return null;
  const rows = plan.leftOut.map(
    ({ platform, gpus, reason }) =>
      markup`<tr>
        <td>${platform}</td>
        <td>${gpus.join(", ")}</td>
        <td>${reason}</td>
      </tr>`,
  );
  return markup`<h2>Left out</h2>
    <p class="soft">Combinations that are no cells; they stay empty above.</p>
    <table class="list">
      ${rows}
    </table>`;
}

const legend = (evidence: Evidence, text: string): Markup =>
  markup`<span><span class="cell passed ${evidence}"><b>✓</b> 99<small>${evidence}</small></span> ${text}</span>`;

const choice = (id: string, text: string, isChecked: boolean): Markup =>
  isChecked
    ? markup`<label><input type="radio" name="only" id="${id}" checked /> ${text}</label>`
    : markup`<label><input type="radio" name="only" id="${id}" /> ${text}</label>`;

/** tests: what each run reported. */
export function htmlReport(config: Config, record: RunRecord, tests: ReadonlyMap<string, readonly Test[]>): string {
  const cells = cellResults(record);
  const sum = summarize(cells);
  const started = record.results.length === 0 ? null : new Date(Math.min(...record.results.map(({ startedAt }) => startedAt)));
  const repeated = new Set((record.earlier ?? []).map(({ id }) => id)).size;
  const verdict =
    sum.fatal.length > 0
      ? `${sum.fatal.length} cells that must pass have failed`
      : sum.passed === 0
        ? "nothing passed"
        : "every cell that was run and must pass has passed";
  return markup`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>dxtensor matrix: ${verdict}</title>
        <style>
          ${new Markup(style)}
        </style>
      </head>
      <body>
        <h1>dxtensor matrix</h1>
        <p>${verdict}. ${record.plan.runs.length} runs decide ${sum.passed + sum.failed} of ${cells.length} cells.${repeated === 0 ? "" : ` ${repeated} of the runs failed at first and were repeated; they say how.`}</p>
        <p class="soft">
          Run ${record.owner.run}${started === null ? "" : `, begun ${started.toISOString().slice(0, 16).replace("T", " ")} UTC`}; sources:
          ${record.sources.what}; suite: ${record.plan.suite}${record.call === undefined ? "" : "; by "}${record.call === undefined ? null : markup`<code>${record.call}</code>`}
        </p>
        <div class="filter">
          ${choice("only-all", `All ${cells.length}`, true)}${choice("only-passed", `✓ Passed ${sum.passed}`, false)}${choice("only-failed", `✗ Failed ${sum.failed}`, false)}${choice("only-idle", `– Not run ${sum.notRun}`, false)}
        </div>
        <div class="legend">${legend("hardware", "a GPU that is there")}${legend("software", "the software adapter")}${legend("simulated", "a GPU's profile on the software adapter, no such GPU was tested")}${legend("emulated", "Microsoft's library on a Vulkan driver that runs on the processor; no GPU was tested")}</div>
${grid(config, cells)}
        <h2>Runs</h2>
        ${record.plan.runs.map((run) => runDetails(run, cells, tests.get(run.id) ?? [], record))} ${notRun(cells)} ${leftOut(record)}
        ${record.plan.lowerings.map(lowering)}
      </body>
    </html> `.text;
}
