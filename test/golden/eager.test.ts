/** PyTorch's recorded results: values, views, gradients, in-place forms and refusals of every operation. */
import { goldenTests } from "./suite.ts";

goldenTests({}, 4000);
