/** Converts a value to JSON that Postgres stores. Postgres accepts neither NUL nor lone surrogates, which files and answers of a CRM may contain. */
export const storable = (value: object): string =>
  JSON.stringify(value).replace(/\\\\|\\u0000|\\ud[89a-f][0-9a-f]{2}/g, found => (found === '\\\\' ? found : '\ufffd'))
