import { expect, it } from "vitest";
import { embeddingBackward } from "../../../src/shader/kernels/scatter.ts";
import { launch, numbers } from "./support.ts";

it("adds rows by index; indices outside are left out", () => {
  const [rows, columns, count] = [6, 5, 40];
  const dy = numbers(count * columns, 1).map(Math.round);
  const index = numbers(count, 2, 7).map(Math.trunc);
  const expected = new Array<number>(rows * columns).fill(0);
  index.forEach((row, i) => {
    for (let c = 0; c < columns; c++) if (row >= 0 && row < rows) expected[row * columns + c]! += dy[i * columns + c]!;
  });
  const given = {
    dy: { shape: [count, columns], values: dy },
    index: { shape: [count], values: index },
    dweight: { shape: [rows, columns] },
  };
  expect(launch(embeddingBackward(), given).dweight).toEqual(expected);
});
