/** The help texts of `dxtensor conformance` and `dxtensor report`, which are shown without the package of the tests too. */

export const conformanceHelp = `npx dxtensor conformance --device NAME [OPTIONS]

Runs the library's device-generic tests on a device of any backend, each test file in a process of its own: a device that crashes or hangs fails
that file's tests, and the run continues.

  --device NAME      the device: openreg:0, dml:1, cpu
  --set NAME         only this set; may be repeated (--list names them)
  --file TEXT        only files whose path contains it; may be repeated
  --only PATTERN     only tests whose full name matches this regular expression
  --list             lists the sets with their files
  --ctrf FILE        writes the report, in the Common Test Report Format, after each file
  --resume FILE      continues the run of a report: what it has is not run again; the report is written there unless --ctrf names another file.
                     The device, its driver and all versions have to be the same
  --json             the report on standard output, nothing else
  --timeout SECONDS  for each file (default 900)
  --jobs N           files at a time (default 1)
  --help             this text

Exit status: 0 if all tests passed, 1 if some failed, 2 if nothing was run, 130 if it was stopped; the report has what was run until then.
docs/conformance.md describes the sets, the report, and the criteria for "stable", "preview" and "listed".`;

export const reportHelp = `npx dxtensor report check FILE... | criteria | schema [--json]

  check FILE...   whether each file is a report of \`dxtensor conformance\` whose numbers are those of its tests, and which level it meets
  criteria        the rates that "stable", "preview" and "listed" require
  schema          the JSON schema of results.extra.conformance
  --json          one line of JSON
  --help          this text

Exit status: 0 if all files are reports, 1 if one is none, 2 for a mistake in the command.`;
