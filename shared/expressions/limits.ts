/** Limits of one expression, one row and one sandbox. Characters are UTF-16 units. */
export const LIMITS = {
  sourceChars: 10_000,
  sourceDepth: 250,
  expressions: 1000,
  /** The time limit for all expressions of one row. A thread that does not answer is ended after at most twice this time. */
  rowMilliseconds: 150,
  loadMilliseconds: 2000,
  /** The time limit for all examples of a library. A user waits until the library is published, and other callers wait for the sandbox. */
  examplesMilliseconds: 5000,
  memoryBytes: 32 * 1024 * 1024,
  stackBytes: 256 * 1024,
  crossingRows: 500,
  /**
   * Maximum characters of one transfer of rows into the sandbox. A larger row is transferred alone, up to `rowChars`. A transfer also ends after
   * the row with which its answer reaches this length.
   */
  crossingChars: 1_000_000,
  rowChars: 2_000_000,
  contextChars: 100_000,
  /** Maximum length of one result, as text or as JSON. */
  resultChars: 131_072,
  resultDepth: 32,
  messageChars: 500,
  libraryChars: 256_000,
  libraryFunctions: 200,
  functionExamples: 20,
  /** Maximum start time of a thread, long enough for a loaded machine. After this time, the sandbox is unavailable. */
  startMilliseconds: 10_000,
} as const
