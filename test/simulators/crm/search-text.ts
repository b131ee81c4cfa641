/** Folds text for search, which ignores case and treats blanks and these characters alike. */
export const foldText = (text: string): string => text.toLowerCase().replace(/[{}[\]^:\-/!?*_@\s]+/g, ' ')

export const digitsOf = (text: string): string => text.replace(/\D/g, '')
