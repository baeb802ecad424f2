/** Bytes into lines: characters may be cut between two pieces. */
import { StringDecoder } from "node:string_decoder";
import { Writable } from "node:stream";
import { stripVTControlCharacters } from "node:util";

/** A stream that hands each line on without its end and without colours. The rest is handed on by end(). */
export function lineStream(onLine: (line: string) => void): Writable {
  const decoder = new StringDecoder("utf8");
  let rest = "";
  const take = (text: string): void => {
    const lines = (rest + text).split(/\r?\n/);
    rest = lines.pop() ?? "";
    for (const line of lines) onLine(stripVTControlCharacters(line));
  };
  return new Writable({
    write(chunk: Buffer, _encoding, done) {
      take(decoder.write(chunk));
      done();
    },
    final(done) {
      take(decoder.end());
      if (rest !== "") onLine(stripVTControlCharacters(rest));
      rest = "";
      done();
    },
  });
}
