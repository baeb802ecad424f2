/** What PyTorch's CPU gives in bfloat16, eagerly. Part 2 of 3. */
import { bfloat16Tests } from "./bfloat16-suite.ts";

bfloat16Tests({}, 2);
