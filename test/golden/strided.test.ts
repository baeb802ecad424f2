/** PyTorch's recorded results, with operands that are views with an offset and gaps. */
import { goldenTests } from "./suite.ts";

goldenTests({ strided: true }, 4000);
