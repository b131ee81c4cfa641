/** A parsed form before its schema applies: texts, lists and nested keys. */
export type Raw = string | Raw[] | {[name: string]: Raw}

/** `a[b][0][c]=x&expand[]=y`: nested by brackets; keys 0, 1, 2… make a list, and `[]` appends to one. */
export const readForm = (text: string): Record<string, Raw> => {
  const root: Branch = new Map()
  for (const [name, value] of new URLSearchParams(text)) place(root, pathOf(name), value)
  return listed(root) as Record<string, Raw>
}

type Branch = Map<string, Branch | string>

const pathOf = (name: string): string[] => {
  const [head = '', ...rest] = name.split('[')
  return [head, ...rest.map(part => part.replace(/\]$/, ''))]
}

const place = (branch: Branch, path: string[], value: string) => {
  const [first = '', ...rest] = path
  const name = first === '' ? String(branch.size) : first
  if (rest.length === 0) return void branch.set(name, value)
  const below = branch.get(name)
  const next: Branch = below instanceof Map ? below : new Map()
  branch.set(name, next)
  place(next, rest, value)
}

const listed = (branch: Branch): Raw => {
  const entries = [...branch].map(([name, value]) => [name, typeof value === 'string' ? value : listed(value)] as const)
  const isList = entries.length > 0 && entries.every(([name], index) => name === String(index))
  return isList ? entries.map(([, value]) => value) : Object.fromEntries(entries)
}
