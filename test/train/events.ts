/** Reads event files for the tests: records with their checksums, messages by pbf. */
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { crc32, inflateSync } from "node:zlib";
import { PbfReader } from "pbf";
import { expect } from "vitest";

/** CRC-32C bit by bit, masked. */
export function masked(bytes: Uint8Array): number {
  let crc = 0xffffffff;
  for (const byte of bytes) {
    crc ^= byte;
    for (let i = 0; i < 8; i++) crc = crc & 1 ? (crc >>> 1) ^ 0x82f63b78 : crc >>> 1;
  }
  crc = ~crc >>> 0;
  return (((crc >>> 15) | (crc << 17)) + 0xa282ead8) >>> 0;
}

/** The data of a file's records; fails for a checksum that differs, and for a part of a record. */
export function recordsOf(file: Buffer): Buffer[] {
  const records: Buffer[] = [];
  for (let at = 0; at < file.byteLength;) {
    const size = Number(file.readBigUInt64LE(at));
    expect(file.readUInt32LE(at + 8)).toBe(masked(file.subarray(at, at + 8)));
    const data = file.subarray(at + 12, at + 12 + size);
    expect(data.byteLength).toBe(size);
    expect(file.readUInt32LE(at + 12 + size)).toBe(masked(data));
    records.push(data);
    at += 16 + size;
  }
  return records;
}

export interface Png {
  readonly width: number;
  readonly height: number;
  readonly channels: number;
  readonly pixels: Buffer;
}

/** A file of 8 bits a channel whose rows have no filter. */
export function pngOf(bytes: Buffer): Png {
  expect(bytes.subarray(0, 8).toString("latin1")).toBe("\x89PNG\r\n\x1a\n");
  const chunks = new Map<string, Buffer>();
  for (let at = 8; at < bytes.byteLength;) {
    const size = bytes.readUInt32BE(at);
    chunks.set(bytes.toString("latin1", at + 4, at + 8), bytes.subarray(at + 8, at + 8 + size));
    expect(bytes.readUInt32BE(at + 8 + size)).toBe(crc32(bytes.subarray(at + 4, at + 8 + size)));
    at += 12 + size;
  }
  const header = chunks.get("IHDR")!;
  const [width, height] = [header.readUInt32BE(0), header.readUInt32BE(4)];
  expect([header[8], ...header.subarray(10)]).toEqual([8, 0, 0, 0]);
  const channels = { 0: 1, 2: 3, 6: 4 }[header[9]!]!;
  const rows = inflateSync(chunks.get("IDAT")!);
  const row = width * channels;
  expect(rows.byteLength).toBe(height * (row + 1));
  const pixels = Array.from({ length: height }, (_, y) => {
    expect(rows[y * (row + 1)]).toBe(0);
    return rows.subarray(y * (row + 1) + 1, (y + 1) * (row + 1));
  });
  return { width, height, channels, pixels: Buffer.concat(pixels) };
}

export interface Histo {
  min: number;
  max: number;
  num: number;
  sum: number;
  sumSquares: number;
  limits: number[];
  counts: number[];
}

export interface Event {
  wallTime: number;
  step: number;
  version?: string;
  session?: number;
  tag?: string;
  scalar?: number;
  image?: { height: number; width: number; colorspace: number; png: Buffer };
  histo?: Histo;
  text?: string;
  plugin?: string;
  graph?: { nodes: GraphNode[]; producer: number };
}

export interface GraphNode {
  name: string;
  op: string;
  inputs: string[];
  shapes: number[][];
  dtype: number;
}

type Fields = Readonly<Record<number, (pbf: PbfReader) => void>>;

function readInto(pbf: PbfReader, fields: Fields): void {
  const end = pbf.readVarint() + pbf.pos;
  pbf.readFields((tag, _, p) => fields[tag]?.(p), null, end);
}

function summaryInto(event: Event, pbf: PbfReader): void {
  const histo: Histo = { min: NaN, max: NaN, num: 0, sum: 0, sumSquares: 0, limits: [], counts: [] };
  const image = { height: 0, width: 0, colorspace: 0, png: Buffer.alloc(0) };
  const value: Fields = {
    1: (p) => (event.tag = p.readString()),
    2: (p) => (event.scalar = p.readFloat()),
    4: (p) => {
      event.image = image;
      readInto(p, {
        1: (q) => (image.height = q.readVarint()),
        2: (q) => (image.width = q.readVarint()),
        3: (q) => (image.colorspace = q.readVarint()),
        4: (q) => (image.png = Buffer.from(q.readBytes())),
      });
    },
    5: (p) => {
      event.histo = histo;
      readInto(p, {
        1: (q) => (histo.min = q.readDouble()),
        2: (q) => (histo.max = q.readDouble()),
        3: (q) => (histo.num = q.readDouble()),
        4: (q) => (histo.sum = q.readDouble()),
        5: (q) => (histo.sumSquares = q.readDouble()),
        6: (q) => q.readPackedDouble(histo.limits),
        7: (q) => q.readPackedDouble(histo.counts),
      });
    },
    8: (p) => readInto(p, { 8: (q) => (event.text = q.readString()) }),
    9: (p) => readInto(p, { 1: (q) => readInto(q, { 1: (r) => (event.plugin = r.readString()) }) }),
  };
  readInto(pbf, { 1: (p) => readInto(p, value) });
}

/** tensorflow.GraphDef. */
function graphInto(event: Event, pbf: PbfReader): void {
  const graph = { nodes: [] as GraphNode[], producer: 0 };
  event.graph = graph;
  const shapeInto = (shape: number[]): Fields => ({
    2: (p) => readInto(p, { 1: (q) => shape.push(q.readVarint()) }),
  });
  const attr = (node: GraphNode): Fields => {
    let key = "";
    const shape = (p: PbfReader): void => {
      node.shapes.push([]);
      readInto(p, shapeInto(node.shapes.at(-1)!));
    };
    const value: Fields = {
      1: (p) => {
        expect(key).toBe("_output_shapes");
        readInto(p, { 7: shape });
      },
      6: (p) => {
        expect(key).toBe("dtype");
        node.dtype = p.readVarint();
      },
    };
    return { 1: (p) => (key = p.readString()), 2: (p) => readInto(p, value) };
  };
  readInto(pbf, {
    1: (p) => {
      const node: GraphNode = { name: "", op: "", inputs: [], shapes: [], dtype: 0 };
      graph.nodes.push(node);
      readInto(p, {
        1: (q) => (node.name = q.readString()),
        2: (q) => (node.op = q.readString()),
        3: (q) => node.inputs.push(q.readString()),
        5: (q) => readInto(q, attr(node)),
      });
    },
    4: (p) => readInto(p, { 1: (q) => (graph.producer = q.readVarint()) }),
  });
}

function eventOf(data: Buffer): Event {
  const event: Event = { wallTime: NaN, step: 0 };
  const fields: Fields = {
    1: (p) => (event.wallTime = p.readDouble()),
    2: (p) => (event.step = p.readVarint(true)),
    3: (p) => (event.version = p.readString()),
    4: (p) => graphInto(event, p),
    5: (p) => summaryInto(event, p),
    7: (p) => readInto(p, { 1: (q) => (event.session = q.readVarint()) }),
  };
  new PbfReader(data).readFields((tag, _, p) => fields[tag]?.(p), null);
  return event;
}

/** The events of a folder's only file; the first one is the version, and not among them. */
export function eventsOf(folder: string): Event[] {
  const files = readdirSync(folder).filter((name) => name.startsWith("events."));
  expect(files.length).toBe(1);
  const [first, ...others] = recordsOf(readFileSync(join(folder, files[0]!))).map(eventOf);
  expect(first!.version).toBe("brain.Event:2");
  return others;
}
