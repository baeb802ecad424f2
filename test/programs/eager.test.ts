/** PyTorch's answers to random programs of several statements, statement by statement. */
import "../device.ts";
import { programTests } from "./suite.ts";

programTests("eager");
