/** Numbers of a generator as shader code: words of a block, which any thread computes by itself, and the state behind so many blocks. */
import type { OperatorName } from "../../dml/operators.generated.ts";
import type { GraphNode } from "../../graph/graph.ts";
import { advanced, philox, type PhiloxState } from "../philox.ts";
import type { Uint } from "../numbers.ts";
import type { Attributes, Reading } from "./code.ts";

/** Words of a block, and of a state: a counter of four and a key of two. */
export const [BLOCK_WORDS, STATE_WORDS] = [4, 6];

/** Blocks behind the state at which a node begins. DirectML's operator begins at the state. */
export const SKIPPED = "skippedBlocks";
/** An attribute of nodes that give the state there, and no words: DirectML has no such operator. */
export const GIVES_STATE = "givesState";

export const isDraw = ({ operator }: { readonly operator: string }): boolean => operator === "RANDOM_GENERATOR";
export const skippedBlocks = ({ attributes }: Pick<Attributes, "attributes">): number => (attributes[SKIPPED] as number | undefined) ?? 0;
export const givesState = ({ attributes }: Pick<Attributes, "attributes">): boolean => attributes[GIVES_STATE] === true;
/** Whether DirectML has no operator for it. */
export const isOnlyCode = (node: Pick<Attributes, "attributes"> & { readonly operator: string }): boolean =>
  isDraw(node) && (givesState(node) || skippedBlocks(node) > 0);

/** By how many blocks draws begin behind their states, each number once. */
export const skipsOf = ({ nodes }: { readonly nodes: readonly GraphNode[] }): number[] => [
  ...new Set(nodes.filter(isDraw).map(skippedBlocks).filter((n) => n > 0)),
]; // prettier-ignore

type State = readonly Uint[];

/** The state so many blocks on. */
export function stateBehind(state: State, blocks: Uint): State {
  return [...advanced(state.slice(0, 4) as unknown as PhiloxState["counter"], blocks), ...state.slice(4)];
}

/** The words of a block, counted from the state. */
export const wordsOf = (s: Parameters<typeof philox>[0], state: State, block: Uint): readonly Uint[] => {
  const [a, b, c, d, first, second] = state as readonly [Uint, Uint, Uint, Uint, Uint, Uint];
  return philox(s, { counter: advanced([a, b, c, d], block), key: [first, second] });
};

export const DRAWS: { readonly [K in OperatorName]?: Reading } = {
  RANDOM_GENERATOR: {
    dtypes: new Set(["uint32"]),
    code: { draws: true },
    accepts: ({ inputs, outputs, attributes }) =>
      attributes["type"] === "PHILOX_4X32_10" && inputs[0]!.sizes.at(-1) === STATE_WORDS && (outputs[1] ?? null) === null,
  },
};
