/** PyTorch's bfloat16 results on the CPU, compared with calls on views with an offset and gaps. Part 3 of 3. */
import { bfloat16Tests } from "./bfloat16-suite.ts";

bfloat16Tests({ strided: true }, 3);
