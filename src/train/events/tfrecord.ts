/** Records of TensorFlow's TFRecord files: length, its checksum, data, their checksum. https://www.tensorflow.org/tutorials/load_data/tfrecord */

/** CRC-32C (Castagnoli), reflected. */
const POLYNOMIAL = 0x82f63b78;

const table = Uint32Array.from({ length: 256 }, (_, byte) => {
  let crc = byte;
  for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (crc & 1 ? POLYNOMIAL : 0);
  return crc;
});

/** The checksum as records have it: rotated and offset, since a checksum of data that contain checksums is weak. */
function maskedCrc32c(bytes: Uint8Array): number {
  let crc = 0xffffffff;
  for (const byte of bytes) crc = (crc >>> 8) ^ table[(crc ^ byte) & 255]!;
  crc = ~crc >>> 0;
  return (((crc >>> 15) | (crc << 17)) + 0xa282ead8) >>> 0;
}

/** Data as one record. */
export function recordOf(data: Uint8Array): Uint8Array {
  const record = Buffer.alloc(16 + data.byteLength);
  record.writeBigUInt64LE(BigInt(data.byteLength), 0);
  record.writeUInt32LE(maskedCrc32c(record.subarray(0, 8)), 8);
  record.set(data, 12);
  record.writeUInt32LE(maskedCrc32c(data), 12 + data.byteLength);
  return record;
}
