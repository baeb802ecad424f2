/** A run's folder: plan, results, logs and reports. A resumed run needs nothing else. */
import { existsSync, mkdirSync, readFileSync, readdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { MatrixError } from "../errors.ts";
import { runsFolder } from "../root.ts";
import type { Plan, RunResult } from "../types.ts";
import { isAlive, type Owner } from "./owner.ts";

export interface RunRecord {
  readonly owner: Owner;
  /** How the run was begun: "npm run matrix -- --quick". */
  readonly call?: string;
  /** What is tested. */
  readonly sources: { readonly what: string; readonly hash: string };
  readonly plan: Plan;
  readonly results: readonly RunResult[];
  /** Attempts that failed before the run was resumed: a repeat that passes does not unmake them. */
  readonly earlier?: readonly RunResult[];
}

export class Store {
  readonly folder: string;
  #record: RunRecord;

  private constructor(folder: string, record: RunRecord) {
    this.folder = folder;
    this.#record = record;
  }

  static create(record: RunRecord): Store {
    const folder = join(runsFolder(), record.owner.run);
    mkdirSync(folder, { recursive: true });
    const store = new Store(folder, record);
    store.#save();
    const link = join(runsFolder(), "latest");
    rmSync(link, { force: true, recursive: true });
    // Windows needs a right for links; the folder's name is said in any case.
    try {
      symlinkSync(record.owner.run, link, "junction");
    } catch (error) {
      if (!["EPERM", "EEXIST"].includes((error as NodeJS.ErrnoException).code ?? "")) throw error;
    }
    return store;
  }

  /** A run's record by its name; "latest" for the newest. */
  static open(name: string): Store {
    const folder = join(runsFolder(), name);
    const file = join(folder, "run.json");
    if (!existsSync(file))
      throw new MatrixError(`there is no run "${name}" in ${runsFolder()}`, `Known are: ${listRuns().join(", ") || "none"}.`);
    return new Store(folder, JSON.parse(readFileSync(file, "utf8")) as RunRecord);
  }

  get record(): RunRecord {
    return this.#record;
  }

  /** Written to another name first: a run that is killed leaves a whole record. */
  #save(): void {
    const file = join(this.folder, "run.json");
    writeFileSync(`${file}.new`, JSON.stringify(this.#record));
    renameSync(`${file}.new`, file);
  }

  add(result: RunResult): void {
    this.#record = { ...this.#record, results: [...this.#record.results.filter(({ id }) => id !== result.id), result] };
    this.#save();
  }

  /** A resumed run has another owner, and only the results that stay valid. */
  takeOver(owner: Owner, plan: Plan): void {
    const results = this.#record.results.filter(({ id, status }) => status === "passed" && plan.runs.some((run) => run.id === id));
    const earlier = [...(this.#record.earlier ?? []), ...this.#record.results.filter(({ status }) => status === "failed")];
    this.#record = { ...this.#record, owner: { ...owner, run: this.#record.owner.run }, plan, results, earlier };
    this.#save();
  }

  /** The folder of a run's reports and log, made when asked for. */
  cell(id: string): string {
    const folder = join(this.folder, "cells", ...id.split("/"));
    mkdirSync(folder, { recursive: true });
    return folder;
  }
}

export const listRuns = (): string[] =>
  existsSync(runsFolder())
    ? readdirSync(runsFolder())
        .filter((name) => name !== "latest" && existsSync(join(runsFolder(), name, "run.json")))
        .sort()
    : [];

/** Whether no living process works on the run. */
export function isOver(run: string): boolean {
  const file = join(runsFolder(), run, "run.json");
  if (!existsSync(file)) return true;
  return !isAlive((JSON.parse(readFileSync(file, "utf8")) as RunRecord).owner);
}
