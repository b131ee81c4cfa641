/** Folds text for search, which ignores case and treats blanks and some punctuation alike. */
export const foldText = (text: string): string => text.toLowerCase().replace(/[{}[\]^:\-/!?*_@\s]+/g, ' ')

export const digitsOf = (text: string): string => text.replace(/\D/g, '')
