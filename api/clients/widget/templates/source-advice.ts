const advice: Record<string, string> = {
  NOT_FOUND: 'Check the address or path. Dates in it are filled with the current date.',
  SIGN_IN_REFUSED: 'Check the user and the credentials.',
  HOST_REFUSED: 'Use another address, or ask the operator of this service to allow it.',
  ADDRESS_REFUSED: 'Use a public address, or ask the operator of this service to allow this one.',
  HOST_KEY: 'Ask the operator of the server for the right fingerprint.',
  REDIRECTED: 'Enter the address to which the server redirects.',
  UNREACHABLE: 'Check that the server is reachable from the internet, then try again.',
  TIMED_OUT: 'Try again later. If it happens again, ask the operator of the server.',
  NOT_A_TABLE: 'The server sent something else than a table, often a sign-in page. Check the address and the credentials.',
  FILE_NO_ROWS: 'The schedule skips a file without rows.',
  FILE_EMPTY: 'Check that the file is complete when the schedule fetches it.',
  TOO_LARGE: 'Split the file, or choose a plan with a higher limit.',
}

/** Returns what a person can do about a file that could not be fetched or read. */
export const adviceOf = (code: string): string => advice[code] ?? 'Correct the file source below, save, and test again.'
