/** PyTorch's bfloat16 results on the CPU, compared with compiled functions. Part 2 of 3. */
import { bfloat16Tests } from "./bfloat16-suite.ts";

bfloat16Tests({ compiled: true }, 2);
