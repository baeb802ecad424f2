// node scripts/run.mjs docker-engine [start | stop | status]: a Docker engine to build and test with.
import { parseArgs } from "node:util";
import { at, main, say, ScriptError } from "./tools/project.ts";
import { findEngine } from "./tools/docker/engine.ts";
import { ensureEngine, stopEngine } from "./tools/docker/serve.ts";

const help = `node scripts/run.mjs docker-engine [start | stop | status] [OPTIONS]

  start    uses the engine that answers. If none does, and as root: installs Debian's docker.io if it is missing, and
           starts it without systemd (the default verb)
  stop     stops the engine that start has started, never another one
  status   prints which engine answers; status 1 if none does

  --json   one line of JSON on stdout
  --help   this text

DXTENSOR_DOCKER_FOLDER  where a started engine keeps its images and its log (the cache folder's dxtensor/docker)
DOCKER_HOST             an engine elsewhere: then none is started`;

interface Told {
  readonly answer: object;
  readonly text: string;
  readonly status?: number;
}

const verbs: Readonly<Record<string, () => Promise<Told>>> = {
  async start() {
    const engine = await ensureEngine();
    return { answer: engine, text: `engine ${engine.version} ${engine.started ? "was started" : "answers; nothing was changed"}` };
  },
  async stop() {
    const done = await stopEngine();
    return { answer: done, text: done.stopped ? `stopped: ${done.reason}` : `nothing was stopped: ${done.reason}` };
  },
  async status() {
    const found = await findEngine();
    const text = found.version === null ? `no engine answers (${found.host}): ${found.problem}` : `engine ${found.version} answers`;
    return { answer: found, text, status: found.version === null ? 1 : 0 };
  },
};

if (process.argv[1] === at("scripts", "docker-engine.ts")) {
  await main(async () => {
    const { values, positionals } = parseArgs({
      options: { json: { type: "boolean" } },
      allowPositionals: true,
    });
    const [verb = "start"] = positionals;
    if (!Object.hasOwn(verbs, verb)) throw new ScriptError("USAGE", `Unknown verb ${verb}.`, help);
    const { answer, text, status = 0 } = await verbs[verb]!();
    if (values.json) console.log(JSON.stringify(answer));
    else say(`docker-engine: ${text}`);
    return status;
  }, help);
}
