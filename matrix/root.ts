/** Where things lie. */
import { at } from "../scripts/tools/project.ts";

export { at, cacheFolder, root } from "../scripts/tools/project.ts";

/** Folders of the runs. */
export const runsFolder = (): string => process.env["DXTENSOR_MATRIX_FOLDER"] || at("test-results", "matrix");
