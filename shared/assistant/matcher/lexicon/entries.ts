/** The languages of the CRM's labels, and Swedish. A word that several languages share is listed under each of them. */
export const LANGUAGES = ['en', 'de', 'fr', 'es', 'it', 'pt', 'nl', 'pl', 'sv'] as const
export type Language = (typeof LANGUAGES)[number]

/**
 * Phrases by meaning and language, separated by commas, in any spelling that `readWords` normalises. In a key, `+` joins several meanings
 * (`zip+~billing`), `~` marks an owner or kind, and `@` marks the subject (`@company`). If a key contains `?`, the other columns decide the meaning.
 * Written from general knowledge; never copied from the evaluation set (test/evaluation/README.md).
 */
export type Entries = Record<string, Partial<Record<Language, string>>>
