/** PyTorch's recorded results, from compiled functions that are called three times, once with other data. Part 1 of 4. */
import { goldenTests } from "./suite.ts";

goldenTests({ compiled: true }, 1, 1000);
