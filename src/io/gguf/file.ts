/** Reading and writing: one file of the package, which the first call of open() or save() imports. */
export { OpenGguf, openParts } from "./read.ts";
export { pendingFile } from "./write.ts";
