// Text into lines: pieces of an output end anywhere.
import { StringDecoder } from "node:string_decoder";
import { Writable } from "node:stream";
import { stripVTControlCharacters } from "node:util";

interface LineReader {
  take(text: string): void;
  /** Hands on what came after the last line's end. */
  end(): void;
}

/** Hands each line on without its end and without colours. */
export function lineReader(onLine: (line: string) => void): LineReader {
  let rest = "";
  return {
    take(text) {
      const lines = (rest + text).split(/\r?\n/);
      rest = lines.pop() ?? "";
      for (const line of lines) onLine(stripVTControlCharacters(line));
    },
    end() {
      if (rest !== "") onLine(stripVTControlCharacters(rest));
      rest = "";
    },
  };
}

/** The same as a stream of bytes: characters may be cut between two pieces, too. */
export function lineStream(onLine: (line: string) => void): Writable {
  const decoder = new StringDecoder("utf8");
  const reader = lineReader(onLine);
  return new Writable({
    write(chunk: Buffer, _encoding, done) {
      reader.take(decoder.write(chunk));
      done();
    },
    final(done) {
      reader.take(decoder.end());
      reader.end();
      done();
    },
  });
}
