import {readdirSync, readFileSync} from 'node:fs'
import {HELPERS} from './names.ts'

let words: Record<string, string> | null = null

/** What every helper does, by its name: the comment above it, which begins with its call. */
export const helperWords = (): Record<string, string> => {
  words ??= readWords()
  return words
}

const readWords = () => {
  const folder = new URL('inside/helpers/', import.meta.url)
  const source = readdirSync(folder)
    .filter(name => name.endsWith('.js'))
    .map(name => readFileSync(new URL(name, folder), 'utf8'))
    .join('\n')
  const found = [...source.matchAll(/\/\*\*((?:(?!\*\/)[\s\S])*)\*\/\nexport const (\w+) = /g)]
  const byName = new Map(found.map(([, comment, name]) => [name!, comment!.replaceAll(/\n \* ?/g, ' ').trim()]))
  return Object.fromEntries(HELPERS.map(name => [name, byName.get(name) ?? '']))
}
