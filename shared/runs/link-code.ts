/** Whether the code of a row means that a link could not be set. */
export const isLinkCode = (code: string | null): boolean => code !== null && /^(LOOKUP|PARENT)_/.test(code)
