/** The languages of CRM labels, and Swedish. A word that several languages share is listed under each of them. */
export const LANGUAGES = ['en', 'de', 'fr', 'es', 'it', 'pt', 'nl', 'pl', 'sv'] as const
export type Language = (typeof LANGUAGES)[number]

/**
 * What words mean, by meaning and language: phrases, separated by commas, in any spelling `readWords` folds. A key is one thing said
 * (`zip`), or several joined by `+`: `~` marks whose or which kind (`~billing`), `@` of what it is said (`@company`), `?` that the file
 * decides. Written from knowledge of the trade; never from the evaluation set (test/evaluation/README.md).
 */
export type Entries = Record<string, Partial<Record<Language, string>>>
