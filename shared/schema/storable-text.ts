/** Returns the first `most` characters of a text as Postgres can store them: without NUL and without half of a character at the cut. */
export const storableText = (text: string, most: number): string => text.slice(0, most).replaceAll('\0', '\ufffd').toWellFormed()
