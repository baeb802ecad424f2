/** vitest's types, but an expectation of a promise has only `resolves` and `rejects`: a promise is always truthy, so other matchers say nothing. */
import type { Assertion, ExpectStatic } from "../../node_modules/vitest/dist/index.js";
export * from "../../node_modules/vitest/dist/index.js";

type IsAny<T> = 0 extends 1 & T ? true : false;
type Expectation<T> =
  IsAny<T> extends true ? Assertion<T> : T extends PromiseLike<unknown> ? Pick<Assertion<T>, "resolves" | "rejects"> : Assertion<T>;

interface Expect extends Omit<ExpectStatic, never> {
  <T>(actual: T, message?: string): Expectation<T>;
}
export declare const expect: Expect;
