/** A data set that makes tensors, which a worker refuses. */
const { isMainThread } = require("node:worker_threads");

module.exports = async ({ library }) => {
  const dx = await import(library);
  const read = (index) => {
    dx.tensor([index + dx.data.getWorkerInfo().id], { device: "cpu" });
    return index;
  };
  return { length: 2, get: (index) => (isMainThread ? index : read(index)) };
};
