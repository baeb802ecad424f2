/** The errors of PyTorch's files. */
import { FormatError, UnsupportedError } from "../../core/errors.ts";

/** For a file that breaks its format's rules. */
export const damaged = (source: string, expected: string, received: string, hint?: string): FormatError =>
  new FormatError("pytorch.load", source, expected, received.slice(0, 200), hint);

const HINT = "Save what it holds in PyTorch: torch.save(model.state_dict(), …).";

/** For what a file may hold and this library does not read: a class or a function, by its full name. */
export const unknown = (source: string, name: string, hint = HINT): UnsupportedError =>
  new UnsupportedError({
    operation: "pytorch.load",
    argument: source,
    expected: "made of tensors, numbers, texts, bytes, lists, dicts and sets",
    received: name.slice(0, 200),
    hint,
  });
