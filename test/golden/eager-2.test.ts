/** PyTorch's recorded results: values, views, gradients, in-place forms and refusals of every operation. Part 2 of 4. */
import { goldenTests } from "./suite.ts";

goldenTests({}, 2, 1000);
