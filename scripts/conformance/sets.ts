// The sets of device-generic tests: which of the library's test files say something of a device.

export interface TestSet {
  readonly name: "must-pass" | "operators" | "models" | "stress";
  readonly about: string;
  /** Beginnings of the files' paths. */
  readonly files: readonly string[];
  /** Beginnings of paths that are no part of it, with the reason. */
  readonly except?: Readonly<Record<string, string>>;
}

const OWN = "it tests the library's own devices";
const WORDS = "it compares texts that name the devices which are there";

export const SETS: readonly TestSet[] = [
  {
    name: "must-pass",
    about: "the framework: tensors, views, copies, gradients, compiled functions, modules, data, files, errors, memory",
    files: ["test/core/", "test/autograd/", "test/complex/", "test/compile/", "test/data/", "test/io/", "test/nn/", "test/runtime/"],
    except: {
      "test/core/errors": WORDS,
      "test/core/print": "it shows values before the device has computed them",
      "test/autograd/gradgradcheck": "all families' second derivatives: see operators",
      "test/autograd/random-writes": "random programs: see stress",
      "test/compile/compile.test": "it counts command lists, and holds the queue",
      "test/compile/stateful": "random programs: see stress",
      "test/compile/steady-device": OWN,
      "test/compile/timed-graph": OWN,
      "test/compile/tuner": OWN,
      "test/compile/histories/": "random programs: see stress",
      "test/data/mnist": "it reads MNIST's digits, which are in no package",
      "test/io/checkpoint/folder": "it tests files, on cpu",
      "test/io/pytorch/hostile": "it tests files, on cpu",
      "test/runtime/addon-program": OWN,
      "test/runtime/abandoned": OWN,
      "test/runtime/caches": OWN,
      "test/runtime/constants": OWN,
      "test/runtime/devices": OWN,
      "test/runtime/device-list": OWN,
      "test/runtime/eager": OWN,
      "test/runtime/ended": OWN,
      "test/runtime/exhausted": OWN,
      "test/runtime/fallback": OWN,
      "test/runtime/guards": OWN,
      "test/runtime/handles": OWN,
      "test/runtime/hourglass": OWN,
      "test/runtime/lapack": OWN,
      "test/runtime/library-backend": OWN,
      "test/runtime/operator-cache": OWN,
      "test/runtime/outside-device": OWN,
      "test/runtime/read.test": "it holds the queue",
      "test/runtime/refused": OWN,
      "test/runtime/removed": OWN,
      "test/runtime/rounding": OWN,
      "test/runtime/tables": OWN,
    },
  },
  {
    name: "operators",
    about: "PyTorch's recorded cases by operation and dtype, eager, compiled, over strided inputs; derivatives; the families' own tests",
    files: ["test/golden/", "test/ops/", "test/fft/", "test/autograd/gradgradcheck"],
    except: { "test/golden/golden.test": "it tests the reader of recorded cases", "test/golden/aten.test": "it compares lists of names" },
  },
  {
    name: "models",
    about: "training steps of networks, against losses that PyTorch recorded",
    files: ["test/optim/traces"],
  },
  {
    name: "stress",
    about: "random programs, histories of arguments and writes, extreme sizes",
    files: ["test/programs/", "test/properties/", "test/autograd/random-writes", "test/compile/stateful", "test/compile/histories/"],
  },
];

/** The files of a set among those of the bundle. */
export const filesOf = ({ files, except = {} }: TestSet, all: readonly string[]): readonly string[] =>
  all.filter((file) => files.some((start) => file.startsWith(start)) && !Object.keys(except).some((start) => file.startsWith(start)));

/** The set that a file belongs to: the first one. */
export const setOf = (file: string): TestSet | undefined => SETS.find((set) => filesOf(set, [file]).length > 0);
