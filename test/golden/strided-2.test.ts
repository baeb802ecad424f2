/** PyTorch's recorded results, with operands that are views with an offset and gaps. Part 2 of 4. */
import { goldenTests } from "./suite.ts";

goldenTests({ strided: true }, 2, 1000);
