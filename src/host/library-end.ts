/**
 * The size of a shared library by its own headers. A loader maps the parts that the headers list; reading such a part beyond the end of a cut-off
 * file ends the process.
 */

/** Bytes of the file from an offset; fewer where it ends. */
export type ReadAt = (offset: number, length: number) => Buffer;

function elfEnd(read: ReadAt): number {
  const header = read(0, 64);
  // Other kinds are the loader's to refuse.
  if (header.length < 64 || header[4] !== 2 || header[5] !== 1) return 64;
  const [programs, sections] = [Number(header.readBigUInt64LE(32)), Number(header.readBigUInt64LE(40))];
  const [programSize, programCount] = [header.readUInt16LE(54), header.readUInt16LE(56)];
  const programsEnd = programs + programSize * programCount;
  const ends = [programsEnd, sections + header.readUInt16LE(58) * header.readUInt16LE(60)];
  const table = read(programs, programSize * programCount);
  for (let at = 0; programSize >= 40 && at + programSize <= table.length; at += programSize)
    ends.push(Number(table.readBigUInt64LE(at + 8)) + Number(table.readBigUInt64LE(at + 32)));
  return Math.max(...ends);
}

function peEnd(read: ReadAt): number {
  const header = read(0, 64);
  if (header.length < 64) return 64;
  const start = header.readUInt32LE(60);
  const coff = read(start, 24);
  if (coff.length < 24) return start + 24;
  const count = coff.readUInt16LE(6);
  const sections = start + 24 + coff.readUInt16LE(20);
  const table = read(sections, count * 40);
  let end = sections + count * 40;
  for (let at = 0; at + 40 <= table.length; at += 40) {
    const size = table.readUInt32LE(at + 16);
    if (size > 0) end = Math.max(end, size + table.readUInt32LE(at + 20));
  }
  return end;
}

/** The least size of the file in bytes; 0 for what is neither ELF nor PE. */
export function libraryEnd(read: ReadAt): number {
  const magic = read(0, 4).toString("latin1");
  if (magic === "\x7fELF") return elfEnd(read);
  return magic.startsWith("MZ") ? peEnd(read) : 0;
}

/** Of a whole file's bytes. */
export const libraryEndOf = (bytes: Buffer): number => libraryEnd((offset, length) => bytes.subarray(offset, offset + length));
