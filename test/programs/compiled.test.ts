/** PyTorch's answers to random programs of several statements, inside compile, three calls each. */
import "../device.ts";
import { programTests } from "./suite.ts";

programTests("compiled");
