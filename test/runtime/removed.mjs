// A device that is removed while three threads use its adapter, in a separate process. Prints the outcomes of each thread, as JSON.
// Argument: the package's folder of modules. As a worker: executes the main thread's messages, one at a time.
import { once } from "node:events";
import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads";

const folder = isMainThread ? process.argv[2] : workerData;
const dx = await import(`${folder}/index.js`);
const { injectFault } = await import(`${folder}/runtime/device-statistics.js`);

const kept = [];

/** What the thread is told to do, and what it answers. */
const acts = {
  use() {
    const x = dx.ones([1000], { device: "cpu" });
    kept.push(x);
    const sum = dx.compile((t) => t.add(1).sum());
    kept.push(sum);
    return sum(x).itemSync();
  },
  remove() {
    injectFault("cpu", "removeDevice");
    return acts.use();
  },
  close() {
    dx.closeDevice("cpu");
    return "closed";
  },
  dispose() {
    for (const k of kept.splice(0)) k.dispose();
    return "quiet";
  },
};

function act(name) {
  try {
    return acts[name]();
  } catch (error) {
    return { name: error.name, reason: error.reason, isElsewhere: error.isElsewhere, work: error.work, message: error.message };
  }
}

if (isMainThread) {
  const workers = [0, 1].map(() => new Worker(new URL(import.meta.url), { workerData: folder }));
  const ask = async (worker, name) => {
    worker.postMessage(name);
    return (await once(worker, "message"))[0];
  };
  const story = [];
  const tell = async (who, name) => story.push([who, name, who === "main" ? act(name) : await ask(workers[Number(who)], name)]);
  for (const who of ["main", "0", "1"]) await tell(who, "use");
  // The main thread's work removes it; a new one opens while both workers hold the old one and have not noticed.
  await tell("main", "remove");
  await tell("main", "use");
  await tell("main", "close");
  await tell("main", "use");
  for (const who of ["0", "1"]) for (const name of ["use", "use", "close", "use"]) await tell(who, name);
  // A worker's work removes the second one; another worker opens the third first.
  await tell("0", "remove");
  for (const name of ["use", "close", "use"]) await tell("1", name);
  for (const name of ["use", "close", "use"]) await tell("main", name);
  for (const name of ["close", "use"]) await tell("0", name);
  for (const who of ["main", "0", "1"]) for (const name of ["dispose", "close"]) await tell(who, name);
  for (const worker of workers) await worker.terminate();
  console.log(JSON.stringify(story));
} else {
  parentPort.on("message", (name) => parentPort.postMessage(act(name)));
}
