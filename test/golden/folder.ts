/** Where the recorded cases lie. */
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";

export const goldenFolder = dirname(fileURLToPath(import.meta.url));
