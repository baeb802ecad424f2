// @ts-nocheck: what it reads (a parser's tree, facts in JSON, a test runner's tasks) has no types here.
// Stands for "vitest" in bundled tests: vitest's own runner, assertions and spies, without its server, its workers and its files.
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
} from "@vitest/expect";
import { clearAllMocks, fn, isMockFunction, resetAllMocks, restoreAllMocks, spyOn } from "@vitest/spy";

export { afterAll, afterEach, beforeAll, beforeEach, describe, it, onTestFailed, onTestFinished, suite, test } from "@vitest/runner";

chai.use(JestExtend);
chai.use(JestChaiExpect);
chai.use(JestAsymmetricMatchers);

function makeExpect() {
  const expect = (value, message) => {
    setState({ assertionCalls: getState(expect).assertionCalls + 1 }, expect);
    const assertion = chai.expect(value, message);
    const test = getCurrentTest();
    return test === undefined ? assertion : assertion.withTest(test);
  };
  Object.assign(expect, chai.expect, globalThis[ASYMMETRIC_MATCHERS_OBJECT]);
  expect.getState = () => getState(expect);
  expect.setState = (state) => setState(state, expect);
  expect.extend = (matchers) => chai.expect.extend(expect, matchers);
  expect.addEqualityTesters = addCustomEqualityTesters;
  expect.assert = chai.assert;
  expect.soft = (...args) => expect(...args).withContext({ soft: true });
  expect.unreachable = (message) => chai.assert.fail(`expected${message === undefined ? "" : ` "${message}"`} not to be reached`);
  chai.util.addMethod(expect, "assertions", (count) => setState({ expectedAssertionsNumber: count }, expect));
  chai.util.addMethod(expect, "hasAssertions", () => setState({ isExpectingAssertions: true }, expect));
  setState({ assertionCalls: 0, isExpectingAssertions: false, expectedAssertionsNumber: null }, expect);
  globalThis[GLOBAL_EXPECT] = expect;
  expect.extend(customMatchers);
  return expect;
}

export const expect = makeExpect();

/** Called by the runner around each test: what expect.assertions() and hasAssertions() ask for. */
export function beginAssertions() {
  setState({ assertionCalls: 0, isExpectingAssertions: false, expectedAssertionsNumber: null }, expect);
}

export function endAssertions() {
  const { assertionCalls, isExpectingAssertions, expectedAssertionsNumber } = getState(expect);
  if (expectedAssertionsNumber !== null && assertionCalls !== expectedAssertionsNumber)
    throw new Error(`expected ${expectedAssertionsNumber} assertions, but got ${assertionCalls}`);
  if (isExpectingAssertions && assertionCalls === 0) throw new Error("expected any number of assertions, but got none");
}

const environment = new Map();
const globals = new Map();

/** Puts back what a map of stubs remembers, undefined as absent. */
function putBack(stubs, target) {
  for (const [name, value] of stubs) {
    if (value === undefined) delete target[name];
    else target[name] = value;
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
  stubEnv(name, value) {
    if (!environment.has(name)) environment.set(name, process.env[name]);
    if (value === undefined) delete process.env[name];
    else process.env[name] = String(value);
    return vi;
  },
  unstubAllEnvs() {
    putBack(environment, process.env);
    return vi;
  },
  stubGlobal(name, value) {
    if (!globals.has(name)) globals.set(name, globalThis[name]);
    globalThis[name] = value;
    return vi;
  },
  unstubAllGlobals() {
    putBack(globals, globalThis);
    return vi;
  },
};
