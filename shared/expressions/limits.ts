/** What one expression, one row and one sandbox may cost. Characters are UTF-16 units. */
export const LIMITS = {
  /** Of one expression, and how deep its parts may nest. */
  sourceChars: 10_000,
  sourceDepth: 250,
  expressions: 1000,
  /** A row's time over all its expressions; a thread that does not answer is ended at the latest at twice this. */
  rowMilliseconds: 150,
  /** For compiling a program or loading a library. */
  loadMilliseconds: 2000,
  /** For all examples of a library together: whoever publishes waits for them, and others wait for the sandbox. */
  examplesMilliseconds: 5000,
  memoryBytes: 32 * 1024 * 1024,
  stackBytes: 256 * 1024,
  /** One crossing into the sandbox: whichever is reached first. A single larger row crosses alone, up to `rowChars`. */
  crossingRows: 500,
  crossingChars: 1_000_000,
  rowChars: 2_000_000,
  contextChars: 100_000,
  /** One result: text, or data as JSON, and how deep it nests. */
  resultChars: 131_072,
  resultDepth: 32,
  messageChars: 500,
  libraryChars: 256_000,
  libraryFunctions: 200,
  functionExamples: 20,
  /** How long a thread may take to start before the sandbox counts as unavailable; generous, for a loaded machine. */
  startMilliseconds: 10_000,
} as const
