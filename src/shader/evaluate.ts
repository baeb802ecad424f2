/**
 * Runs a shader in plain JavaScript, group by group, all threads of a group statement by statement. It is the reference for devices' results, and the
 * debugger of shaders: it reports out-of-bounds accesses, races and reads of unwritten shared memory, and it prints.
 */
import { ShaderError } from "../core/errors.ts";
import {
  typeOfElement,
  type Atomic,
  type Block,
  type For,
  type Load,
  type Memory,
  type Shader,
  type Statement,
  type Store,
  type Value,
  type Variable,
  type While,
} from "./ir.ts";
import { bitsOfFloat, floatOfBits, floatOfHalf, halfOfFloat, operation, type Scalar } from "./operations.ts";

/** Trips of the loops of a launch, of all groups together: nested loops that end, though nobody would wait for it. */
const MAX_TRIPS = 2 ** 21;

export interface Launch {
  readonly groups: number;
  /** Groups in the grid's first axis; default: all. */
  readonly grid?: number;
  /** The words of each buffer, which are written in place. */
  readonly buffers: { readonly [name: string]: Uint32Array };
  /** By name. */
  readonly uniforms: { readonly [name: string]: number };
  readonly print?: (line: string) => void;
  /** Trips of one loop that count as endless. Default: 2^20. */
  readonly trips?: number;
}

/** A fault that debug() found: an access out of bounds, or a race. */
export interface Fault {
  /** unguarded: an access outside that the shader said would be inside. */
  readonly kind: "outside" | "unguarded" | "race" | "unwritten" | "unaligned";
  /** The name of the buffer or array. */
  readonly memory: string;
  /** The element, or the byte in a lowered shader. */
  readonly at: number;
  /** The group in which it happened, from 0. */
  readonly group: number;
  /** The thread in its group, from 0. */
  readonly thread: number;
  /** The line of the shader's function. */
  readonly place: string;
}

export interface Report {
  /** The first 100; an access outside that is guarded (0 is read, nothing is written) is no error by itself. */
  readonly faults: readonly Fault[];
}

const MAX_FAULTS = 100;
/** Who touched a word since the last barrier: nobody, one thread, several. */
const NOBODY = -1;
const SEVERAL = -2;

/** Who wrote and read each word, to see races. Threads of the whole launch are numbered through. */
class Tracks {
  readonly writer: Int32Array;
  readonly written: Int32Array;
  readonly reader: Int32Array;
  readonly read: Int32Array;
  readonly isAtomic: Uint8Array;
  readonly known: Uint8Array;

  constructor(words: number) {
    [this.writer, this.written, this.reader, this.read] = [0, 0, 0, 0].map(() => new Int32Array(words).fill(NOBODY)) as [
      Int32Array,
      Int32Array,
      Int32Array,
      Int32Array,
    ];
    this.isAtomic = new Uint8Array(words);
    this.known = new Uint8Array(words);
  }
}

interface BufferState {
  readonly words: Uint32Array;
  readonly tracks: Tracks;
  readonly isShared: boolean;
  /** Elements. */
  readonly count: number;
}

const toWord = (type: Scalar, x: number): number => (type === "f32" ? bitsOfFloat(x) : x >>> 0);
const fromWord = (type: Scalar, x: number): number => (type === "f32" ? floatOfBits(x) : type === "i32" ? x | 0 : x);

export function evaluateShader(shader: Shader, launch: Launch): Report {
  const machine = new Machine(shader, launch);
  for (let group = 0; group < launch.groups; group++) machine.group(group);
  return { faults: machine.faults };
}

class Machine {
  readonly faults: Fault[] = [];
  readonly #shader: Shader;
  readonly #launch: Launch;
  readonly #values = new Map<Value, Float64Array>();
  readonly #variables = new Map<Variable, Float64Array>();
  readonly #buffers = new Map<string, BufferState>();
  #shared = new Map<string, BufferState>();
  readonly #scratch: Float64Array;
  #group = 0;
  #epoch = 0;
  /** Threads that left the innermost loop, or its trip. */
  #left: Uint8Array;
  #skipped: Uint8Array;
  readonly #seen = new Set<string>();

  constructor(shader: Shader, launch: Launch) {
    this.#shader = shader;
    this.#launch = launch;
    this.#scratch = new Float64Array(shader.threads);
    this.#left = new Uint8Array(shader.threads);
    this.#skipped = new Uint8Array(shader.threads);
    for (const b of shader.buffers) {
      const words = launch.buffers[b.name];
      if (words === undefined) throw new ShaderError(shader.name, `the launch has no buffer ${b.name}`, "");
      const count = launch.uniforms[`${b.name}.size`] ?? (b.element === "f16" ? words.length * 2 : words.length);
      this.#buffers.set(b.name, { words, tracks: new Tracks(words.length), isShared: false, count });
    }
  }

  group(group: number): void {
    this.#group = group;
    this.#epoch++;
    this.#values.clear();
    this.#variables.clear();
    this.#left.fill(0);
    this.#skipped.fill(0);
    this.#shared = new Map(
      this.#shader.shared.map((m) => [
        m.name,
        { words: new Uint32Array(m.length).fill(0x7fc0dead), tracks: new Tracks(m.length), isShared: true, count: m.length },
      ]),
    );
    this.#block(this.#shader.body, new Uint8Array(this.#shader.threads).fill(1));
  }

  #fault(kind: Fault["kind"], memory: string, at: number, thread: number, source: string): void {
    const key = `${kind} ${memory} ${source}`;
    if (this.faults.length >= MAX_FAULTS || (source !== "" && this.#seen.has(key))) return;
    this.#seen.add(key);
    this.faults.push({ kind, memory, at, group: this.#group, thread, place: source });
  }

  #of(v: Value): Float64Array {
    const known = this.#values.get(v);
    if (known !== undefined) return known;
    const lanes = new Float64Array(this.#shader.threads);
    const { leaf } = v;
    if (leaf !== null) {
      const grid = this.#launch.grid ?? this.#launch.groups;
      if (leaf.kind === "local") lanes.forEach((_, i) => (lanes[i] = i));
      else if (leaf.kind === "constant") lanes.fill(leaf.number);
      else if (leaf.kind === "groupX") lanes.fill(this.#group % grid);
      else if (leaf.kind === "groupY") lanes.fill(Math.floor(this.#group / grid));
      else if (leaf.uniform.source.kind === "grid") lanes.fill(grid);
      else {
        const uniform = this.#launch.uniforms[leaf.uniform.name] ?? this.#size(leaf.uniform.name);
        if (uniform === undefined) throw new ShaderError(this.#shader.name, `the launch has no ${leaf.uniform.name}`, "");
        lanes.fill(leaf.uniform.type === "f32" ? Math.fround(uniform) : uniform);
      }
    }
    this.#values.set(v, lanes);
    return lanes;
  }

  #size(name: string): number | undefined {
    return name.endsWith(".size") ? this.#buffers.get(name.slice(0, -5))?.count : undefined;
  }

  #block(block: Block, mask: Uint8Array): void {
    for (const s of block) this.#statement(s, mask);
  }

  /** Threads that run, without those that left. */
  #alive(mask: Uint8Array): Uint8Array {
    return mask.map((on, i) => Number(on === 1 && this.#left[i] === 0 && this.#skipped[i] === 0));
  }

  #statement(s: Statement, entering: Uint8Array): void {
    const mask = this.#jumped ? this.#alive(entering) : entering;
    switch (s.kind) {
      case "operate": {
        const { apply, args } = operation(s.name);
        const [a, b, c] = s.args.map((v) => this.#of(v));
        const out = this.#of(s.result);
        const none = this.#scratch;
        const [x, y, z] = [a ?? none, args.length > 1 ? b! : none, args.length > 2 ? c! : none];
        for (let i = 0; i < out.length; i++) if (mask[i] === 1) out[i] = apply(x[i]!, y[i]!, z[i]!);
        return;
      }
      case "load":
        this.#load(s, mask);
        return;
      case "store":
        this.#store(s, mask);
        return;
      case "atomic":
        this.#atomic(s, mask);
        return;
      case "declare":
      case "assign": {
        let lanes = this.#variables.get(s.variable);
        if (lanes === undefined) this.#variables.set(s.variable, (lanes = new Float64Array(this.#shader.threads)));
        const from = this.#of(s.value);
        for (let i = 0; i < lanes.length; i++) if (mask[i] === 1) lanes[i] = from[i]!;
        return;
      }
      case "get": {
        const out = this.#of(s.result);
        const from = this.#variables.get(s.variable)!;
        for (let i = 0; i < out.length; i++) if (mask[i] === 1) out[i] = from[i]!;
        return;
      }
      case "if": {
        const c = this.#of(s.condition);
        const then = mask.map((on, i) => Number(on === 1 && c[i] !== 0));
        const otherwise = mask.map((on, i) => Number(on === 1 && c[i] === 0));
        if (then.includes(1)) this.#block(s.body, then);
        if (otherwise.includes(1)) this.#block(s.otherwise, otherwise);
        return;
      }
      case "for":
        this.#for(s, mask);
        return;
      case "while":
        this.#while(s, mask);
        return;
      case "barrier":
        if (mask.includes(0) && mask.includes(1))
          throw new ShaderError(this.#shader.name, "only some threads of the group reach this barrier", s.source);
        this.#epoch++;
        return;
      case "print": {
        const values = s.values.map((v) => this.#of(v));
        mask.forEach((on, i) => {
          if (on === 1)
            this.#launch.print?.(`group ${this.#group}, thread ${i}: ${s.label} ${values.map((v) => v[i]).join(", ")}`.trimEnd());
        });
        return;
      }
      case "break":
      case "continue": {
        const to = s.kind === "break" ? this.#left : this.#skipped;
        mask.forEach((on, i) => {
          if (on === 1) to[i] = 1;
        });
        this.#jumped = true;
        return;
      }
      default:
        s satisfies never;
    }
  }

  /** Whether threads may have left the loop that runs. */
  #jumped = false;
  /** Trips of all loops so far. */
  #spent = 0;

  /** Runs a loop's trips as long as `next` gives threads for one. */
  #trips(mask: Uint8Array, source: string, next: (mask: Uint8Array) => Uint8Array, body: (mask: Uint8Array) => void): void {
    const [left, skipped, jumped] = [this.#left, this.#skipped, this.#jumped];
    this.#left = new Uint8Array(mask.length);
    this.#skipped = new Uint8Array(mask.length);
    this.#jumped = false;
    let running: Uint8Array = mask;
    for (let trip = 0; ; trip++) {
      if (trip > (this.#launch.trips ?? 2 ** 20)) throw new ShaderError(this.#shader.name, "this loop does not end", source);
      if (++this.#spent > MAX_TRIPS)
        throw new ShaderError(this.#shader.name, `its loops make more than ${MAX_TRIPS} trips, which takes too long here`, source);
      this.#skipped.fill(0);
      running = running.map((on, i) => Number(on === 1 && this.#left[i] === 0));
      running = next(running);
      if (!running.includes(1)) break;
      body(running);
    }
    [this.#left, this.#skipped, this.#jumped] = [left, skipped, jumped];
  }

  #for(s: For, mask: Uint8Array): void {
    const [index, end, step] = [this.#of(s.index), this.#of(s.end), this.#of(s.step)];
    const start = this.#of(s.start);
    let first = true;
    this.#trips(
      mask,
      s.source,
      (running) => {
        for (let i = 0; i < mask.length; i++) if (running[i] === 1) index[i] = first ? start[i]! : (index[i]! + step[i]!) >>> 0;
        first = false;
        return running.map((on, i) => Number(on === 1 && index[i]! < end[i]!));
      },
      (running) => this.#block(s.body, running),
    );
  }

  #while(s: While, mask: Uint8Array): void {
    this.#trips(
      mask,
      s.source,
      (running) => {
        this.#block(s.head, running);
        const c = this.#of(s.condition);
        return running.map((on, i) => Number(on === 1 && c[i] !== 0));
      },
      (running) => this.#block(s.body, running),
    );
  }

  #memory(m: Memory): BufferState {
    return (m.kind === "buffer" ? this.#buffers : this.#shared).get(m.name)!;
  }

  /** Notes an access to a word, and whether it meets another thread's. */
  #touch(m: Memory, state: BufferState, word: number, thread: number, how: "read" | "write" | "atomic", source: string): void {
    const t = state.tracks;
    const who = this.#group * this.#shader.threads + thread;
    const { threads } = this.#shader;
    // A barrier orders the threads of one group; nothing orders groups.
    const recent = (epoch: number, by: number): boolean =>
      by !== NOBODY &&
      (by === SEVERAL ? epoch === this.#epoch : by !== who && (epoch === this.#epoch || Math.floor(by / threads) !== this.#group));
    const isAtomic = how === "atomic";
    const met = recent(t.written[word]!, t.writer[word]!) && !(isAtomic && t.isAtomic[word] === 1);
    const wasRead = how !== "read" && recent(t.read[word]!, t.reader[word]!);
    if (met || wasRead) this.#fault("race", m.name, word, thread, source);
    if (how === "read") {
      if (state.isShared && t.known[word] === 0) this.#fault("unwritten", m.name, word, thread, source);
      const same = t.read[word] === this.#epoch && t.reader[word] !== NOBODY && t.reader[word] !== who;
      t.reader[word] = same ? SEVERAL : who;
      t.read[word] = this.#epoch;
      return;
    }
    t.known[word] = 1;
    t.isAtomic[word] = Number(isAtomic);
    t.writer[word] = who;
    t.written[word] = this.#epoch;
  }

  /** The word and the half of an element; null: outside. */
  #find(s: Load | Store | Atomic, at: number, thread: number, which: number): { word: number; half: number } | null {
    const { memory: m } = s;
    const state = this.#memory(m);
    if (s.raw) {
      const word = Math.floor(at / 4) + which;
      if (at % 4 !== 0) this.#fault("unaligned", m.name, at, thread, s.source);
      if (word < state.words.length) return { word, half: -1 };
      this.#fault("unguarded", m.name, at, thread, s.source);
      return null;
    }
    const element = at + which;
    // What is unchecked may touch the half behind the last one of an odd count.
    const count = m.element === "f16" && !s.checked ? state.count + (state.count % 2) : state.count;
    if (element >= count) {
      this.#fault(s.checked ? "outside" : "unguarded", m.name, element, thread, s.source);
      return null;
    }
    return m.element === "f16" ? { word: element >>> 1, half: element & 1 } : { word: element, half: -1 };
  }

  /** Halves begin at even indices; what is unchecked, at a multiple of the access's size. */
  #requireAligned(s: Load | Store, at: number, count: number, thread: number): void {
    if (s.raw || count === 1) return;
    const unit = s.checked ? (s.memory.element === "f16" ? 2 : 1) : count;
    if (at % unit !== 0) this.#fault("unaligned", s.memory.name, at, thread, s.source);
  }

  #load(s: Load, mask: Uint8Array): void {
    const at = this.#of(s.at);
    const state = this.#memory(s.memory);
    const outs = s.results.map((v) => this.#of(v));
    const isTracked = s.memory.kind === "shared" || s.memory.isWritable;
    for (let i = 0; i < mask.length; i++) {
      if (mask[i] !== 1) continue;
      this.#requireAligned(s, at[i]!, outs.length, i);
      outs.forEach((out, k) => {
        const found = this.#find(s, at[i]!, i, k);
        const { type } = s.results[k]!;
        if (found === null) {
          out[i] = 0;
          return;
        }
        if (isTracked) this.#touch(s.memory, state, found.word, i, "read", s.source);
        const word = state.words[found.word]!;
        out[i] = found.half < 0 ? fromWord(type, word) : floatOfHalf(word >>> (16 * found.half));
      });
    }
  }

  #store(s: Store, mask: Uint8Array): void {
    const at = this.#of(s.at);
    const state = this.#memory(s.memory);
    const values = s.values.map((v) => this.#of(v));
    for (let i = 0; i < mask.length; i++) {
      if (mask[i] !== 1) continue;
      this.#requireAligned(s, at[i]!, values.length, i);
      values.forEach((v, k) => {
        const found = this.#find(s, at[i]!, i, k);
        if (found === null) return;
        // Halves of a word are written apart from each other.
        this.#touch(s.memory, state, found.word, i, found.half < 0 ? "write" : "atomic", s.source);
        if (found.half < 0) state.words[found.word] = toWord(s.values[k]!.type, v[i]!);
        else {
          const shift = 16 * found.half;
          state.words[found.word] = ((state.words[found.word]! & ~(0xffff << shift)) | (halfOfFloat(v[i]!) << shift)) >>> 0;
        }
      });
    }
  }

  #atomic(s: Atomic, mask: Uint8Array): void {
    const at = this.#of(s.at);
    const state = this.#memory(s.memory);
    const value = this.#of(s.value);
    const type = s.raw ? (s.result?.type ?? s.value.type) : typeOfElement(s.memory.element);
    const expected = s.expected === null ? null : this.#of(s.expected);
    const out = s.result === null ? null : this.#of(s.result);
    for (let i = 0; i < mask.length; i++) {
      if (mask[i] !== 1) continue;
      const found = this.#find(s, at[i]!, i, 0);
      if (found === null) {
        if (out !== null) out[i] = 0;
        continue;
      }
      this.#touch(s.memory, state, found.word, i, "atomic", s.source);
      const before = state.words[found.word]!;
      const operand = toWord(type, value[i]!);
      state.words[found.word] = this.#changed(s, type, before, operand, expected === null ? 0 : toWord(type, expected[i]!)) >>> 0;
      if (out !== null) out[i] = fromWord(type, before);
    }
  }

  #changed(s: Atomic, type: Scalar, before: number, operand: number, expected: number): number {
    switch (s.name) {
      case "add":
        return before + operand;
      case "and":
        return before & operand;
      case "or":
        return before | operand;
      case "xor":
        return before ^ operand;
      case "min":
        return Math.min(fromWord(type, before), fromWord(type, operand));
      case "max":
        return Math.max(fromWord(type, before), fromWord(type, operand));
      case "exchange":
        return operand;
      case "compareExchange":
        return before === expected ? operand : before;
      default:
        return s.name satisfies never;
    }
  }
}
