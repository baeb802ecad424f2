/** A data set that makes tensors, which a worker refuses. */
const { isMainThread, workerData } = require("node:worker_threads");
const url = require("node:url");

module.exports = async ({ library }) => {
  const dx = await import(library);
  return {
    length: 2,
    get: (index) =>
      isMainThread || workerData === null ? index : (dx.data.getWorkerInfo().id, dx.tensor([index], { device: "cpu" }), index),
  };
};
module.exports.file = url.pathToFileURL(__filename).href;
