/** PyTorch's answers to random programs of several statements, inside compile with all leaves and results outside of the function, three calls each. */
import "../device.ts";
import { programTests } from "./suite.ts";

programTests("around");
