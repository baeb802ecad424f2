/** PyTorch's recorded results, from compiled functions that are called three times, once with other data. Part 3 of 4. */
import { goldenTests } from "./suite.ts";

goldenTests({ compiled: true }, 3, 1000);
