/** Types of layers that take their arguments by name: `linear({ inFeatures: 4, outFeatures: 2 })`. */

/** Positions of arguments by their names. */
interface Positions {
  readonly [name: string]: number;
}

/** Fields of the object of options, which may be the last argument. */
type OptionsOf<Args extends readonly unknown[]> =
  Required<Args> extends readonly [...unknown[], infer Last] ? (Last extends object ? Last : unknown) : unknown;

/** Arguments that are not required, and no options. */
type OthersOf<Args extends readonly unknown[], Other extends Positions | null> = Other extends Positions
  ? { readonly [Name in keyof Other]?: Args[Other[Name]] }
  : unknown;

/** A function's or constructor's arguments in one object: those that it requires, others that are no option, and its options. */
export type Named<Args extends readonly unknown[], Needed extends Positions, Other extends Positions | null> = {
  readonly [Name in keyof Needed]: Args[Needed[Name]];
} & OthersOf<Args, Other> &
  OptionsOf<Args>;

/** A function that makes a layer, of arguments by position or by name. */
export type MadeByName<F extends (...args: never[]) => unknown, Needed extends Positions, Other extends Positions | null = null> = F &
  ((args: Named<Parameters<F>, Needed, Other>) => ReturnType<F>);

/** A layer's class, whose constructor takes arguments by position or by name. */
export type ClassByName<C extends new (...args: never[]) => unknown, Needed extends Positions, Other extends Positions | null = null> = C &
  (new (args: Named<ConstructorParameters<C>, Needed, Other>) => InstanceType<C>);
