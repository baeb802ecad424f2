/**
 * Pickles of PyTorch's files, protocols 0 to 5. An interpreter of the stack machine that builds plain values; values.ts lists the names that a pickle
 * may use and call. https://github.com/python/cpython/blob/main/Lib/pickletools.py
 */
import { damaged, unknown } from "./refuse.ts";
import { Callable, Dict, Globals, PythonSet } from "./values.ts";

/** Lists, dicts, texts and the like; and of those, what later values refer to. A hundred bytes each are what a program has memory for. */
const MAX_OBJECTS = 2 ** 22;
/** Numbers and the like as well. */
const MAX_VALUES = 2 ** 26;
/** Bytes of an integer. */
const MAX_INTEGER = 2 ** 20;

const utf8 = new TextDecoder("utf-8", { fatal: true });
const NEWLINE = 0x0a;

/** Names of the operations that are known and refused. */
const refused: Readonly<Record<string, string>> = {
  i: "INST",
  o: "OBJ",
  P: "PERSID",
  "\x92": "NEWOBJ_EX",
  "\x82": "EXT1",
  "\x83": "EXT2",
  "\x84": "EXT4",
  "\x97": "NEXT_BUFFER",
  "\x98": "READONLY_BUFFER",
};

export class Unpickler {
  readonly #source: string;
  readonly #bytes: Uint8Array;
  readonly #view: DataView;
  readonly #globals: Globals;
  readonly #stack: unknown[] = [];
  /** Lengths of the stack. */
  readonly #marks: number[] = [];
  readonly #memo = new Map<number, unknown>();
  #at = 0;
  #values = 0;
  #objects = 0;

  constructor(source: string, bytes: Uint8Array) {
    this.#source = source;
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.#globals = new Globals(source);
  }

  /** Runs the pickle to its end. Gives the value: dicts are Dict, sets are PythonSet, tensors are TensorRef. */
  run(): unknown {
    for (;;) {
      const op = String.fromCharCode(this.#uint(1));
      if (op === ".") return this.#pop();
      this.#step(op);
    }
  }

  #bad(expected: string, received: string): Error {
    return damaged(this.#source, expected, `${received}, at byte ${this.#at} of its pickle`);
  }

  #take(count: number): number {
    const start = this.#at;
    if (count > this.#bytes.byteLength - start) throw this.#bad(`with ${count} more bytes`, `${this.#bytes.byteLength - start}`);
    this.#at += count;
    return start;
  }

  #uint(size: 1 | 2 | 4): number {
    const at = this.#take(size);
    return size === 1 ? this.#view.getUint8(at) : size === 2 ? this.#view.getUint16(at, true) : this.#view.getUint32(at, true);
  }

  /** A length of 8 bytes. */
  #length(): number {
    const value = this.#view.getBigUint64(this.#take(8), true);
    if (value > BigInt(this.#bytes.byteLength)) throw this.#bad("with lengths inside", String(value));
    return Number(value);
  }

  #slice(size: number): Uint8Array {
    const start = this.#take(size);
    return this.#bytes.slice(start, start + size);
  }

  #text(size: number): string {
    const start = this.#take(size);
    try {
      return utf8.decode(this.#bytes.subarray(start, start + size));
    } catch {
      throw this.#bad("with texts in UTF-8", "other bytes");
    }
  }

  #line(): string {
    const end = this.#bytes.indexOf(NEWLINE, this.#at);
    if (end < 0) throw this.#bad("with ends of its lines", "none");
    const text = this.#text(end - this.#at);
    this.#at = end + 1;
    return text;
  }

  #pop(): unknown {
    if (this.#stack.length <= (this.#marks.at(-1) ?? 0)) throw this.#bad("with a value on its stack", "none");
    return this.#stack.pop();
  }

  #top(): unknown {
    if (this.#stack.length <= (this.#marks.at(-1) ?? 0)) throw this.#bad("with a value on its stack", "none");
    return this.#stack.at(-1);
  }

  /** The values above the last mark, which goes. */
  #popMark(): unknown[] {
    const mark = this.#marks.pop();
    if (mark === undefined) throw this.#bad("with a mark on its stack", "none");
    return this.#stack.splice(mark);
  }

  #push(value: unknown): void {
    this.#values++;
    if ((typeof value === "object" && value !== null) || typeof value === "string" || typeof value === "bigint") this.#objects++;
    if (this.#values > MAX_VALUES || this.#objects > MAX_OBJECTS)
      throw this.#bad(`with at most ${MAX_OBJECTS} lists, dicts and texts`, "more");
    this.#stack.push(value);
  }

  #put(index: number): void {
    if (this.#memo.size >= MAX_OBJECTS) throw this.#bad(`with at most ${MAX_OBJECTS} values that others refer to`, "more");
    this.#memo.set(index, this.#top());
  }

  #get(index: number): void {
    if (!this.#memo.has(index)) throw this.#bad(`with a value ${index}`, "none of it before");
    this.#push(this.#memo.get(index));
  }

  #tuple(count: number): void {
    const values: unknown[] = [];
    for (let i = 0; i < count; i++) values.unshift(this.#pop());
    this.#push(values);
  }

  #decimal(text: string): number {
    if (!/^\d{1,15}$/.test(text)) throw this.#bad("with decimal numbers", text);
    return Number(text);
  }

  /** An integer in two's complement, the least significant byte first. */
  #long(size: number): number | bigint {
    if (size > MAX_INTEGER) throw this.#bad(`with integers of at most ${MAX_INTEGER} bytes`, String(size));
    const bytes = this.#slice(size).reverse();
    if (size === 0) return 0;
    const value = BigInt.asIntN(8 * size, BigInt(`0x${Buffer.from(bytes).toString("hex")}`));
    return asNumber(value);
  }

  #longLine(): number | bigint {
    const text = this.#line().replace(/L$/, "");
    if (!/^-?\d{1,1000}$/.test(text)) throw this.#bad("with decimal numbers", text);
    return asNumber(BigInt(text));
  }

  #intLine(): unknown {
    const text = this.#line();
    if (text === "00" || text === "01") return text === "01";
    if (!/^-?\d{1,1000}$/.test(text)) throw this.#bad("with decimal numbers", text);
    return asNumber(BigInt(text));
  }

  #floatLine(): number {
    const text = this.#line();
    const value =
      { nan: NaN, inf: Infinity, "-inf": -Infinity }[text] ?? (/^-?[\d.]+(?:e[-+]?\d+)?$/.test(text) ? Number(text) : undefined);
    if (value === undefined || (Number.isNaN(value) && text !== "nan")) throw this.#bad("with decimal numbers", text);
    return value;
  }

  #setItems(values: readonly unknown[]): void {
    const dict = this.#top();
    if (!(dict instanceof Dict) || values.length % 2 !== 0) throw this.#bad("with pairs for a dict", "others");
    for (let i = 0; i < values.length; i += 2) {
      if (dict.entries.size >= MAX_OBJECTS) throw this.#bad(`with at most ${MAX_OBJECTS} keys in a dict`, "more");
      dict.entries.set(values[i], values[i + 1]);
    }
  }

  #append(values: readonly unknown[]): void {
    const list = this.#top();
    if (!Array.isArray(list)) throw this.#bad("with a list", "another value");
    for (const value of values) list.push(value);
  }

  #call(): void {
    const args = this.#pop();
    const fn = this.#pop();
    if (!(fn instanceof Callable) || !Array.isArray(args)) throw this.#bad("with a call of what it names", "another value");
    this.#push(fn.call(args));
  }

  /** An OrderedDict has attributes, as `_metadata` of state dicts, which nobody needs. */
  #build(): void {
    this.#pop();
    const object = this.#top();
    if (!(object instanceof Dict)) throw unknown(this.#source, "the attributes of an object");
  }

  #memoize(): void {
    this.#put(this.#memo.size);
  }

  #stackGlobal(): void {
    const name = this.#pop();
    const module = this.#pop();
    if (typeof module !== "string" || typeof name !== "string") throw this.#bad("with names", "others");
    this.#push(this.#globals.find(module, name));
  }

  #step(op: string): void {
    switch (op) {
      case "\x80": // PROTO
        if (this.#uint(1) > 5) throw this.#bad("of protocol 5 at most", "a newer one");
        return;
      case "\x95": // FRAME
        this.#take(8);
        return;
      case "(": // MARK
        if (this.#marks.length >= MAX_OBJECTS) throw this.#bad(`with at most ${MAX_OBJECTS} marks`, "more");
        this.#marks.push(this.#stack.length);
        return;
      case "0": // POP
        if (this.#marks.at(-1) === this.#stack.length) this.#marks.pop();
        else this.#pop();
        return;
      case "1": // POP_MARK
        this.#popMark();
        return;
      case "2": // DUP
        return this.#push(this.#top());
      case "N": // NONE
        return this.#push(null);
      case "\x88": // NEWTRUE
        return this.#push(true);
      case "\x89": // NEWFALSE
        return this.#push(false);
      case "I": // INT
        return this.#push(this.#intLine());
      case "J": // BININT
        return this.#push(this.#uint(4) | 0);
      case "K": // BININT1
        return this.#push(this.#uint(1));
      case "M": // BININT2
        return this.#push(this.#uint(2));
      case "L": // LONG
        return this.#push(this.#longLine());
      case "\x8a": // LONG1
        return this.#push(this.#long(this.#uint(1)));
      case "\x8b": // LONG4
        return this.#push(this.#long(this.#uint(4)));
      case "F": // FLOAT
        return this.#push(this.#floatLine());
      case "G": // BINFLOAT
        return this.#push(this.#view.getFloat64(this.#take(8), false));
      case "X": // BINUNICODE
      case "T": // BINSTRING
        return this.#push(this.#text(this.#uint(4)));
      case "\x8c": // SHORT_BINUNICODE
      case "U": // SHORT_BINSTRING
        return this.#push(this.#text(this.#uint(1)));
      case "\x8d": // BINUNICODE8
        return this.#push(this.#text(this.#length()));
      case "C": // SHORT_BINBYTES
        return this.#push(this.#slice(this.#uint(1)));
      case "B": // BINBYTES
        return this.#push(this.#slice(this.#uint(4)));
      case "\x8e": // BINBYTES8
      case "\x96": // BYTEARRAY8
        return this.#push(this.#slice(this.#length()));
      case "]": // EMPTY_LIST
        return this.#push([]);
      case "l": // LIST
        return this.#push(this.#popMark());
      case "a": // APPEND
        return this.#append([this.#pop()]);
      case "e": // APPENDS
        return this.#append(this.#popMark());
      case ")": // EMPTY_TUPLE
        return this.#push([]);
      case "t": // TUPLE
        return this.#push(this.#popMark());
      case "\x85": // TUPLE1
        return this.#tuple(1);
      case "\x86": // TUPLE2
        return this.#tuple(2);
      case "\x87": // TUPLE3
        return this.#tuple(3);
      case "}": // EMPTY_DICT
        return this.#push(new Dict());
      case "d": {
        // DICT
        const values = this.#popMark();
        this.#push(new Dict());
        return this.#setItems(values);
      }
      case "s": {
        // SETITEM
        const value = this.#pop();
        return this.#setItems([this.#pop(), value]);
      }
      case "u": // SETITEMS
        return this.#setItems(this.#popMark());
      case "\x8f": // EMPTY_SET
        return this.#push(new PythonSet([]));
      case "\x90": {
        // ADDITEMS
        const items = this.#popMark();
        const set = this.#top();
        if (!(set instanceof PythonSet)) throw this.#bad("with a set", "another value");
        for (const item of items) set.items.push(item);
        return;
      }
      case "\x91": // FROZENSET
        return this.#push(new PythonSet(this.#popMark()));
      case "p": // PUT
        return this.#put(this.#decimal(this.#line()));
      case "q": // BINPUT
        return this.#put(this.#uint(1));
      case "r": // LONG_BINPUT
        return this.#put(this.#uint(4));
      case "\x94": // MEMOIZE
        return this.#memoize();
      case "g": // GET
        return this.#get(this.#decimal(this.#line()));
      case "h": // BINGET
        return this.#get(this.#uint(1));
      case "j": // LONG_BINGET
        return this.#get(this.#uint(4));
      case "c": {
        // GLOBAL
        const module = this.#line();
        return this.#push(this.#globals.find(module, this.#line()));
      }
      case "\x93": // STACK_GLOBAL
        return this.#stackGlobal();
      case "R": // REDUCE
      case "\x81": // NEWOBJ
        return this.#call();
      case "b": // BUILD
        return this.#build();
      case "Q": // BINPERSID
        return this.#push(this.#globals.storage(this.#pop()));
      default: {
        const name = Object.hasOwn(refused, op) ? refused[op]! : `the operation 0x${op.charCodeAt(0).toString(16)}`;
        throw Object.hasOwn(refused, op) ? unknown(this.#source, name) : this.#bad("a pickle", name);
      }
    }
  }
}

const asNumber = (value: bigint): number | bigint =>
  value >= BigInt(Number.MIN_SAFE_INTEGER) && value <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(value) : value;
