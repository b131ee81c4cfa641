/** `*` matches within a segment, `**` across segments; segments end at a slash or a dot. */
export const matches = (glob: string, text: string): boolean => {
  const source = glob
    .split(/(\*\*|\*)/)
    .map(part => (part === '**' ? '.*' : part === '*' ? '[^/.]*' : part.replace(/[.+?^${}()|[\]\\]/g, '\\$&')))
    .join('')
  return new RegExp(`^${source}$`).test(text)
}
