/** The libraries that faulty.c is compiled to, by name: what fails in each. */
export const FAULTS = {
  symbol: ["FAULT_SYMBOL"],
  newer: ["FAULT_VERSION=2"],
  older: ["FAULT_VERSION=0"],
  initialise: ["FAULT_INITIALISE"],
  table: ["FAULT_TABLE"],
  size: ["FAULT_SIZE"],
  name: ['NAME="No Name"'],
  "fails-internal": ["RUN_STATUS=DXTENSOR_INTERNAL"],
  "fails-memory": ["RUN_STATUS=DXTENSOR_OUT_OF_MEMORY"],
  "fails-removed": ["RUN_STATUS=DXTENSOR_REMOVED"],
  "fails-timeout": ["RUN_STATUS=DXTENSOR_TIMEOUT"],
  "fails-unsupported": ["RUN_STATUS=DXTENSOR_UNSUPPORTED"],
  "fails-unknown": ["RUN_STATUS=77"],
  "fails-allocate": ["ALLOCATE_STATUS=DXTENSOR_OUT_OF_MEMORY"],
  "fails-open": ["FAULT_OPEN"],
  fan: ["RUN_STATUS=DXTENSOR_INTERNAL", 'NAME="fan"'],
} as const satisfies Readonly<Record<string, readonly string[]>>;

export type Fault = keyof typeof FAULTS;

/** The arguments of a C compiler that make a library of faulty.c. */
export const faultArguments = (
  fault: Fault,
  { source, include, output }: Readonly<Record<"source" | "include" | "output", string>>,
): string[] => [
  "-x",
  "c",
  "-std=c99",
  "-pedantic",
  "-Wall",
  "-Wextra",
  "-Werror",
  "-shared",
  "-I",
  include,
  ...FAULTS[fault].map((definition) => `-D${definition}`),
  source,
  "-o",
  output,
];
