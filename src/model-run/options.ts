/** What `dxtensor run` is asked for. Plain data. */
export interface ModelRunOptions {
  /** NAME=VALUE: a .npy file, a number, or what an input is filled with. */
  readonly input: readonly string[];
  /** NAME=N: lengths that have names. */
  readonly dim: readonly string[];
  /** NAME=1,3,224,224: shapes of inputs. */
  readonly shape: readonly string[];
  /** What inputs without a value are filled with. */
  readonly fill: string;
  readonly seed: number;
  readonly device?: string;
  readonly eager: boolean;
  /** Calls that are timed, after the first one. */
  readonly repeat: number;
  /** A folder for the outputs. */
  readonly output?: string;
  /** How many nodes to show; null: none. */
  readonly profile: number | null;
}
