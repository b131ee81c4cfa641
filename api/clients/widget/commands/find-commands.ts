/** One entry of the command menu. It has an address, or an action. `also`: further words by which it is found. */
export type MenuCommand = {id: string; label: string; kind: string; also?: string; href?: string; run?: () => unknown}

const mostShown = 12

/** Finds the commands that have every word of the text, those whose label begins with it first. Without a text, it returns the first commands. */
export const findCommands = (commands: readonly MenuCommand[], text: string): MenuCommand[] => {
  const wanted = fold(text).trim()
  const words = wanted.split(/\s+/).filter(Boolean)
  const found = commands.filter(command => words.every(word => textOf(command).includes(word)))
  const rankOf = ({label}: MenuCommand) => (fold(label).startsWith(wanted) ? 0 : words.every(word => fold(label).includes(word)) ? 1 : 2)
  return (words.length ? found.toSorted((a, b) => rankOf(a) - rankOf(b)) : found).slice(0, mostShown)
}

const textOf = ({label, kind, also = ''}: MenuCommand) => fold(`${label} ${kind} ${also}`)

/** Ignores case and accents. */
const fold = (text: string) =>
  text
    .normalize('NFD')
    .replaceAll(/\p{Diacritic}/gu, '')
    .toLowerCase()
