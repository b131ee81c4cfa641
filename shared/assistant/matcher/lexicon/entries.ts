/** The languages of the CRM's labels, and Swedish. A word that several languages share is listed under each of them. */
export const LANGUAGES = ['en', 'de', 'fr', 'es', 'it', 'pt', 'nl', 'pl', 'sv'] as const
export type Language = (typeof LANGUAGES)[number]

/**
 * Phrases by meaning and language, separated by commas, in any spelling that `readWords` normalises. A key is one meaning (`zip`), or
 * several joined by `+`. The prefix `~` marks an owner or kind (`~billing`), `@` the subject (`@company`). With a `?` in a key, the other
 * columns decide the meaning. Written from general knowledge; never copied from the evaluation set (test/evaluation/README.md).
 */
export type Entries = Record<string, Partial<Record<Language, string>>>
