/** Registers openreg: for programs that are bundled, or that turned autoload off. */
import { backend as dx } from "dxtensor";
import { backend } from "./backend.ts";

dx.register(backend);

export { backend, faults, type Faults } from "./backend.ts";
