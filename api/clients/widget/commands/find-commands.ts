/**
 * An entry of the command menu, with an address or an action. `also`: further words by which a search finds the entry. `leaves`: whether the
 * command removes the page without the question of the browser.
 */
export type MenuCommand = {id: string; label: string; kind: string; also?: string; href?: string; leaves?: boolean; run?: () => unknown}

const mostShown = 12

/**
 * Finds at most 12 commands that contain every word of the text. Labels that begin with the text come first. Without a text, the first commands
 * are returned.
 */
export const findCommands = (commands: readonly MenuCommand[], text: string): MenuCommand[] => {
  const wanted = fold(text).trim()
  const words = wanted.split(/\s+/).filter(Boolean)
  const found = commands.filter(command => words.every(word => textOf(command).includes(word)))
  const rankOf = ({label}: MenuCommand) => (fold(label).startsWith(wanted) ? 0 : words.every(word => fold(label).includes(word)) ? 1 : 2)
  return (words.length ? found.toSorted((a, b) => rankOf(a) - rankOf(b)) : found).slice(0, mostShown)
}

const textOf = ({label, kind, also = ''}: MenuCommand) => fold(`${label} ${kind} ${also}`)

/** Removes case and accents, so that a comparison ignores them. */
const fold = (text: string) =>
  text
    .normalize('NFD')
    .replaceAll(/\p{Diacritic}/gu, '')
    .toLowerCase()
