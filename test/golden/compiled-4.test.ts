/** PyTorch's recorded results, from compiled functions that are called three times, once with other data. Part 4 of 4. */
import { goldenTests } from "./suite.ts";

goldenTests({ compiled: true }, 4, 1000);
