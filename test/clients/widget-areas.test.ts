import {existsSync, readFileSync} from 'node:fs'
import {dirname, join} from 'node:path'
import {fileURLToPath} from 'node:url'
import test from 'ava'
import {areas} from '../../api/clients/widget/text/de/areas.ts'

const root = fileURLToPath(new URL('../../api/clients/widget/', import.meta.url))
const read = (path: string) => readFileSync(join(root, path), 'utf8')
const namesIn = (list: string) => [...list.matchAll(/'(\w+)'/g)].map(([, name]) => name!).toSorted()

/** The areas that are loaded before every page. */
const common = namesIn(/commonAreas = \[([^\]]*)\]/.exec(read('state/language.ts'))![1]!)
/** The pages, each with its listed areas and its module. Read as text, because importing the files needs browser types. */
const pages = [
  ...read('pages.ts').matchAll(/^ {2}'?([^'\n]*?)'?: \{\s*areas: \[([^\]]*)\],\s*load: async \(\) => \(await import\('\.\/([^']+)'\)/gm),
].map(([, pattern, listed, module]) => ({pattern: pattern!, listed: namesIn(listed!), module: module!}))

/** Returns the modules that are evaluated with a module, without those that are imported later. */
const modulesOf = (start: string, found = new Set<string>()): Set<string> => {
  if (found.has(start) || !existsSync(start)) return found
  found.add(start)
  const imports = readFileSync(start, 'utf8').matchAll(/^(?:import|export) (?!type\b)[^'"]*?'(\.[^']+)'/gm)
  for (const [, path] of imports) modulesOf(join(dirname(start), path!), found)
  return found
}

/** Returns the areas whose messages are read while a module is evaluated. */
const areasOf = (path: string) => {
  const found = [...modulesOf(join(root, path))].flatMap(module =>
    [...readFileSync(module, 'utf8').matchAll(/\btranslate(?:<\w+>)?\('(\w+)'/g)].map(([, area]) => area!),
  )
  return [...new Set(found)].filter(area => !common.includes(area)).toSorted()
}

test('each page lists the areas of messages that it reads, and no other', t => {
  t.is(pages.length, read('pages.ts').match(/await import\(/g)!.length)
  for (const {pattern, listed, module} of pages) t.deepEqual(listed, areasOf(module), pattern)
})

test('the sign-in page and the command menu read no messages but the common ones', t => {
  for (const path of ['app.ts', 'commands/menu.ts']) t.deepEqual(areasOf(path), [], path)
  t.true(modulesOf(join(root, 'app.ts')).size > 20)
})

test('the embedded import loads the areas that it reads, and no other', t => {
  const [, listed] = /startLanguage\(\[([^\]]*)\]\)/.exec(read('embed/main.ts'))!
  t.deepEqual(namesIn(listed!), areasOf('embed/app.ts'))
})

test('every area of messages is read by a page', t => {
  const used = new Set([...common, ...areasOf('embed/app.ts'), ...pages.flatMap(({listed}) => listed)])
  t.deepEqual(
    Object.keys(areas).filter(area => !used.has(area)),
    [],
  )
})
