/** The order of an element's bytes. */

/** Reverses the bytes of each element, in place. */
export function swapBytes(bytes: Uint8Array, elementBytes: number): void {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (elementBytes === 2) buffer.swap16();
  else if (elementBytes === 4) buffer.swap32();
  else if (elementBytes === 8) buffer.swap64();
}
