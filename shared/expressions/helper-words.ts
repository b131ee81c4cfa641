import {readdirSync, readFileSync} from 'node:fs'
import {HELPERS} from './names.ts'

let words: Record<string, string> | null = null

/** The description of a helper is the comment above it, which begins with the helper's call. */
export const helperWords = (): Record<string, string> => {
  words ??= readWords()
  return words
}

/** Returns every helper with its call, such as `trim(text)`, and what it does. */
export const describeHelpers = (): {name: string; call: string; description: string}[] =>
  Object.entries(helperWords()).map(([name, text]) => {
    const [, call = name, description = text] = /^`([^`]+)`: (.*)$/s.exec(text) ?? []
    return {name, call, description}
  })

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
