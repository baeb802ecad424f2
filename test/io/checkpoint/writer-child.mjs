/**
 * Saves again and again: node writer-child.mjs BUNDLE FILE WRITER COUNT SHARD_BYTES. All elements of a checkpoint have one number that only this
 * writer writes. Prints failures, and at the end the number of saves.
 */
const [, , bundle, file, writer, count, maxShardBytes] = process.argv;
const dx = await import(bundle);
let saved = 0;
for (let i = 0; i < Number(count); i++) {
  const n = 1000 * Number(writer) + i;
  const arrays = Object.fromEntries(Array.from({ length: 6 }, (_, k) => [`a${k}`, new Float64Array(50).fill(n)]));
  try {
    await dx.save(file, { n, arrays, tensor: dx.full([300], n, { device: "cpu" }) }, { maxShardBytes: Number(maxShardBytes) });
    saved++;
  } catch (error) {
    console.log(JSON.stringify({ n, name: error.name, argument: error.argument, message: error.message, code: error.cause?.code }));
  }
}
console.log(JSON.stringify({ saved }));
