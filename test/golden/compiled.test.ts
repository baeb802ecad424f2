/** PyTorch's recorded results, from compiled functions that are called three times, once with other data. */
import { goldenTests } from "./suite.ts";

goldenTests({ compiled: true }, 4000);
