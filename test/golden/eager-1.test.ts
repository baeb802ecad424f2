/** PyTorch's recorded results: values, views, gradients, in-place forms and refusals of every operation. Part 1 of 4. */
import { goldenTests } from "./suite.ts";

goldenTests({}, 1, 1000);
