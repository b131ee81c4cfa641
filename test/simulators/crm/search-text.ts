/** Search is fuzzy: case, blanks and these marks make no difference. */
export const foldText = (text: string): string => text.toLowerCase().replace(/[{}[\]^:\-/!?*_@\s]+/g, ' ')

export const digitsOf = (text: string): string => text.replace(/\D/g, '')
