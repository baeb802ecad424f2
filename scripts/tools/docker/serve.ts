// Debian's Docker engine, started if none answers; only an engine that was started here is stopped.
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { execa } from "execa";
import { installPackages } from "../apt.ts";
import { withLock } from "../lock.ts";
import { startTime } from "../process.ts";
import { cacheFolder, say } from "../project.ts";
import { findEngine } from "./engine.ts";
import { EngineError } from "./errors.ts";

const folder = () => process.env.DXTENSOR_DOCKER_FOLDER || cacheFolder("docker");
const socket = "unix:///var/run/docker.sock";
const pidFile = "/var/run/docker.pid";
const containerdPidFile = "/var/run/docker/containerd/containerd.pid";

const read = (path: string) => (existsSync(path) ? readFileSync(path, "utf8").trim() : "");

function explain(reason: string) {
  return new EngineError(
    "NO_ENGINE",
    `No Docker engine answers, and none can be started here: ${reason}.`,
    "Install and start one (Debian, Ubuntu: sudo apt-get install -y docker.io; Windows, macOS: Docker Desktop), or name one in DOCKER_HOST.",
  );
}

/** sbin too: dockerd looks for iptables, containerd and runc on the path. */
const environment = { ...process.env, PATH: `${process.env.PATH}:/usr/local/sbin:/usr/sbin:/usr/bin:/sbin:/bin` };

async function installEngine() {
  const there = async (program: string) =>
    !(await execa("sh", ["-c", `command -v ${program}`], { reject: false, env: environment })).failed;
  const missing = [];
  // The program `docker` is for people, and for the dev container's tool.
  if (!(await there("dockerd")) || !(await there("docker"))) missing.push("docker.io");
  if (!(await there("iptables"))) missing.push("iptables");
  if (missing.length === 0) return null;
  if (!(await there("apt-get"))) throw explain("there is no dockerd, and no apt to install it with");
  // Debian 13 and Ubuntu have the client in a package of its own; docker.io recommends it there.
  for (const names of [[...missing, "docker-cli"], missing]) if (await installPackages("docker-engine", names)) return names.join(", ");
  throw explain(`apt could not install ${missing.join(", ")}`);
}

/** containerd outlives a killed dockerd for a second; a start inside it takes the dying one for alive and fails. */
async function waitForOldContainerd() {
  const pid = read(containerdPidFile);
  for (let i = 0; pid !== "" && existsSync(`/proc/${pid}`); i++) {
    if (i === 100) throw explain(`containerd (process ${pid}) of an engine that is gone still runs; end it with: kill ${pid}`);
    await delay(100);
  }
}

async function launch() {
  const data = folder();
  mkdirSync(data, { recursive: true });
  const log = join(data, "log");
  // It outlives this process, so it writes to its log itself.
  const child = execa("sh", ["-c", 'exec "$@" >"$0" 2>&1', log, "dockerd", "--data-root", join(data, "data")], {
    detached: true,
    cleanup: false,
    stdio: "ignore",
    env: environment,
    reject: false,
  });
  child.unref();
  const ended = child.then(({ signal, exitCode }) => `dockerd ended with ${signal ?? `status ${exitCode}`}`);
  const tail = () => read(log).split("\n").slice(-3).join(" | ");
  for (const end = Date.now() + 60_000; ;) {
    const how = await Promise.race([ended, delay(100)]);
    if (how !== undefined) throw explain(`${how}: ${tail()} (${log})`);
    const found = await findEngine();
    if (found.version !== null) {
      writeFileSync(join(data, "engine.json"), JSON.stringify({ pid: child.pid, start: startTime(child.pid!) }));
      return found.version;
    }
    if (Date.now() > end) {
      child.kill();
      throw explain(`dockerd did not answer within 60 s: ${tail()} (${log})`);
    }
  }
}

/**
 * An engine that answers: {version, host, started, installed}. One that is there already is used and never touched; else, as root
 * on Linux, Debian's is installed if it is missing and started. Throws NO_ENGINE where that is not possible.
 */
export async function ensureEngine() {
  const known = async () => {
    const found = await findEngine();
    return found.version === null ? null : { ...found, started: false, installed: null };
  };
  const there = await known();
  if (there !== null) return there;
  if (process.env.DOCKER_HOST && process.env.DOCKER_HOST !== socket) throw explain(`DOCKER_HOST is ${process.env.DOCKER_HOST}`);
  if (process.platform !== "linux") throw explain("only on Linux is one started by this script");
  if (process.getuid?.() !== 0) throw explain("starting one takes root");
  return withLock(join(folder(), "start.lock"), async () => {
    const meanwhile = await known();
    if (meanwhile !== null) return meanwhile;
    const installed = await installEngine();
    await waitForOldContainerd();
    const version = await launch();
    say(`docker-engine: started engine ${version}, data in ${folder()}`);
    return { version, host: socket, started: true, installed };
  });
}

/** Stops the engine that ensureEngine started; {stopped, reason}. Any other engine is left alone. */
export async function stopEngine() {
  const file = join(folder(), "engine.json");
  if (!existsSync(file)) return { stopped: false, reason: "no engine was started here" };
  const { pid, start } = JSON.parse(readFileSync(file, "utf8"));
  rmSync(file);
  if (startTime(pid) !== start) return { stopped: false, reason: "the engine that was started here ended before" };
  process.kill(pid, "SIGTERM");
  // Containers that ignore the signal are given ten seconds by the engine.
  for (let i = 0; startTime(pid) === start || read(pidFile) === String(pid); i++) {
    if (i === 600) throw new EngineError("ENGINE_STAYS", `dockerd (process ${pid}) did not end within 60 s of SIGTERM.`);
    await delay(100);
  }
  return { stopped: true, reason: `process ${pid} ended` };
}
