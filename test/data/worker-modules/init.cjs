module.exports = ({ id, numWorkers }) => {
  globalThis.initialized = `${id} of ${numWorkers}`;
};
