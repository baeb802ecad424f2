/** What PyTorch's CPU gives in bfloat16, from compiled functions. */
import { bfloat16Tests } from "./bfloat16-suite.ts";

bfloat16Tests({ compiled: true });
