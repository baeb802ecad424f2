/** Objects of the library's own classes that consist of tensors: scopes, compile and the like look inside, as into arrays. */

/** The tensors of a composite, in an order of its own. */
export const PARTS = Symbol("parts");
/** A composite of the same kind with other tensors. */
export const WITH_PARTS = Symbol("withParts");
/** What equal composites have in common except their tensors: part of the key of a compiled function's arguments. */
export const KIND = Symbol("kind");

export interface Composite<T = unknown> {
  [KIND](): string;
  [PARTS](): readonly T[];
  [WITH_PARTS](parts: readonly T[]): unknown;
}

export const isComposite = (value: object): value is Composite => PARTS in value;
