/**
 * Which call of checkpoint() the parts of a function that is being compiled come from: events of the log, nodes of the tape, nodes of the graph. By them the
 * graph's passes know what a gradient recomputes. Outside of compile() nothing is marked.
 */

/** Two calls of checkpoint() are two objects. */
export type Segment = object;

export interface Mark {
  readonly segment: Segment;
  /** It belongs to a gradient of what the call computes. */
  readonly isGradient: boolean;
}

let current: Mark | null = null;
/** Whether anything was ever marked: nothing looks for a mark before. */
let hasMarks = false;
const marks = new WeakMap<object, Mark>();
const gradients = new WeakMap<Segment, Mark>();

function within<T>(mark: Mark, fn: () => T): T {
  const outer = current;
  current = mark;
  try {
    return fn();
  } finally {
    current = outer;
  }
}

/** Runs fn as a segment. What calls inside of it make belongs to the outermost one. */
export const inSegment = <T>(fn: () => T): T => (current === null ? within({ segment: {}, isGradient: false }, fn) : fn());

/** Notes where an event, or a node of the tape, comes from. */
export function mark(part: object): void {
  if (current === null) return;
  hasMarks = true;
  marks.set(part, current);
}

export const markOf = (part: object): Mark | null => (hasMarks ? (marks.get(part) ?? null) : null);

/** Runs fn, which computes the gradients of a node of the tape with this mark. */
export function inGradientOf<T>({ segment }: Mark, fn: () => T): T {
  let gradient = gradients.get(segment);
  if (gradient === undefined) gradients.set(segment, (gradient = { segment, isGradient: true }));
  return within(gradient, fn);
}
