// Replaces "vitest" in bundled tests: vitest's own runner, assertions and spies, without its server, its workers and its files.
import { getCurrentTest } from "@vitest/runner";
import {
  addCustomEqualityTesters,
  ASYMMETRIC_MATCHERS_OBJECT,
  chai,
  customMatchers,
  getState,
  GLOBAL_EXPECT,
  JestAsymmetricMatchers,
  JestChaiExpect,
  JestExtend,
  setState,
  type Assertion,
  type ExpectStatic,
  type MatcherState,
  type MatchersObject,
} from "@vitest/expect";
import { clearAllMocks, fn, isMockFunction, resetAllMocks, restoreAllMocks, spyOn } from "@vitest/spy";

export { afterAll, afterEach, beforeAll, beforeEach, describe, it, onTestFailed, onTestFinished, suite, test } from "@vitest/runner";

chai.use(JestExtend);
chai.use(JestChaiExpect);
chai.use(JestAsymmetricMatchers);

/** What asymmetric matchers add to the assertions. */
type Asymmetric = Omit<ExpectStatic, "extend" | "getState" | "setState" | keyof Chai.ExpectStatic>;

/** With what the plugin JestExtend has given it. */
const extensible = chai.expect as typeof chai.expect & { extend(to: ExpectStatic, matchers: MatchersObject): void };

const atFirst = { assertionCalls: 0, isExpectingAssertions: false, expectedAssertionsNumber: null };

function makeExpect() {
  const check = <T>(value: T, message?: string): Assertion<T> => {
    setState({ assertionCalls: getState(expect).assertionCalls + 1 }, expect);
    // With the methods that the plugins above have given it.
    const assertion = chai.expect(value, message) as Assertion<T>;
    const test = getCurrentTest();
    if (test !== undefined) chai.util.flag(assertion, "vitest-test", test);
    return assertion;
  };
  const own = {
    getState: () => getState(expect),
    setState: (state: Partial<MatcherState>) => setState(state, expect),
    extend: (matchers: MatchersObject) => extensible.extend(expect, matchers),
    addEqualityTesters: addCustomEqualityTesters,
    assert: chai.assert,
    soft: <T>(value: T, message?: string): Assertion<T> => {
      const assertion = check(value, message);
      chai.util.flag(assertion, "soft", true);
      return assertion;
    },
    unreachable: (message?: string) => chai.assert.fail(`expected${message === undefined ? "" : ` "${message}"`} not to be reached`),
  };
  const asymmetric: Asymmetric = Reflect.get(globalThis, ASYMMETRIC_MATCHERS_OBJECT);
  const expect: ExpectStatic & typeof own = Object.assign(check, chai.expect, asymmetric, own);
  chai.util.addMethod(expect, "assertions", (count: number) => setState({ expectedAssertionsNumber: count }, expect));
  chai.util.addMethod(expect, "hasAssertions", () => setState({ isExpectingAssertions: true }, expect));
  setState(atFirst, expect);
  Reflect.set(globalThis, GLOBAL_EXPECT, expect);
  expect.extend(customMatchers);
  return expect;
}

export const expect = makeExpect();

/** Called by the runner around each test: what expect.assertions() and hasAssertions() ask for. */
export function beginAssertions(): void {
  setState(atFirst, expect);
}

export function endAssertions(): void {
  const { assertionCalls, isExpectingAssertions, expectedAssertionsNumber } = getState(expect);
  if (expectedAssertionsNumber !== null && assertionCalls !== expectedAssertionsNumber)
    throw new Error(`expected ${expectedAssertionsNumber} assertions, but got ${assertionCalls}`);
  if (isExpectingAssertions && assertionCalls === 0) throw new Error("expected any number of assertions, but got none");
}

/** What stubs stand for, by name; undefined: nothing. */
type Stubbed = Map<string, unknown>;
const environment: Stubbed = new Map();
const globals: Stubbed = new Map();

/** Puts back what a map of stubs remembers. */
function putBack(stubs: Stubbed, target: object): void {
  for (const [name, value] of stubs) {
    if (value === undefined) Reflect.deleteProperty(target, name);
    else Reflect.set(target, name, value);
  }
  stubs.clear();
}

export const vi = {
  fn,
  spyOn,
  isMockFunction,
  clearAllMocks,
  resetAllMocks,
  restoreAllMocks,
  stubEnv(name: string, value: string | boolean | undefined) {
    if (!environment.has(name)) environment.set(name, process.env[name]);
    if (value === undefined) delete process.env[name];
    else process.env[name] = String(value);
    return vi;
  },
  unstubAllEnvs() {
    putBack(environment, process.env);
    return vi;
  },
  stubGlobal(name: string, value: unknown) {
    if (!globals.has(name)) globals.set(name, Reflect.get(globalThis, name));
    Reflect.set(globalThis, name, value);
    return vi;
  },
  unstubAllGlobals() {
    putBack(globals, globalThis);
    return vi;
  },
};

/** Types were checked where the tests were compiled: each method of it does nothing. */
const nothing: unknown = new Proxy(() => nothing, { get: (_, key) => (key === "then" ? undefined : nothing) });
export const expectTypeOf = (): unknown => nothing;
