/** A stream that its workers share: each takes every numWorkers-th number. Workers are found as getWorkerInfo() finds them. */
const info = () => globalThis[Symbol.for("dxtensor.dataWorker")] ?? { id: 0, numWorkers: 1, seed: 0, epoch: 0 };

export default ({ end, failAt = -1, initialized = false }) => ({
  async *[Symbol.asyncIterator]() {
    const { id, numWorkers, epoch } = info();
    if (initialized && globalThis.initialized !== `${id} of ${numWorkers}`) throw new Error("workerInit was not called");
    for (let i = id; i < end; i += numWorkers) {
      if (i === failAt) throw new RangeError(`number ${i}`);
      yield [i, epoch];
    }
  },
});
