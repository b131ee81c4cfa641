/** A part of a date format: a token in its upper-case spelling, or a literal text. `word`: the literal is a word outside brackets. */
export type FormatPart = {token: string | null; text: string; word: boolean}

export declare const readFormat: (format: string) => FormatPart[]
