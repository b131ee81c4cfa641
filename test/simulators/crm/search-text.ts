/** Search ignores case, blanks and these characters. */
export const foldText = (text: string): string => text.toLowerCase().replace(/[{}[\]^:\-/!?*_@\s]+/g, ' ')

export const digitsOf = (text: string): string => text.replace(/\D/g, '')
