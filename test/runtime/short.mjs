// Run with little address space: a read that the host has no memory for throws a catchable error, and work continues.
const [, , module] = process.argv;
const dx = await import(module);
const x = dx.full([64 << 20], 2, { device: "cpu", dtype: "float32" });
const small = dx.tensor([1, 2, 3], { device: "cpu" });
x.slice(0, 0, 1).dataSync();
const kept = [];
const errors = [];
for (let i = 0; i < 200 && errors.length < 4; i++) {
  try {
    kept.push(i % 2 === 0 ? x.dataSync() : await x.data());
  } catch (error) {
    errors.push({ name: error.constructor.name, kind: error.kind, message: error.message });
    kept.pop();
  }
}
const sum = small.add(1).dataSync();
console.log(JSON.stringify({ errors, sum: [...sum], last: kept.at(-1)[(64 << 20) - 1] }));
