/** Patterns of values that must never be logged: secrets of Lading, the CRM and the payment provider, and cells of a scenario's files. */
const SECRETS: Record<string, RegExp> = {
  'an API token': /\blading_\w*[0-9A-Za-z]{49}\b/,
  "a CRM's token": /\b1000\.[0-9a-f]{32}\.[0-9a-f]{32}\b/,
  'a bearer': /\bBearer [\w.~+/-]{16,}/i,
  'a client secret': /stand-in-secret/,
  "a payment provider's secret": /\b(?:sk|whsec|rk)_(?:test|live)?_?[0-9A-Za-z]{16,}/,
  "a database's password": /postgres(?:ql)?:\/\/[^\s:/@]+:[^\s@]+@/,
  'a cell of a row': /\bs\d+-\d+\b/,
}

/** Returns the names of the secrets in the line. */
export const findSecrets = (line: string): string[] =>
  Object.entries(SECRETS).flatMap(([name, pattern]) => (pattern.test(line) ? [name] : []))
