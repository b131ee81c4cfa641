import {existsSync, readFileSync} from 'node:fs'
import {dirname, join} from 'node:path'
import {fileURLToPath} from 'node:url'
import test from 'ava'
import {pages} from '../../api/clients/widget/pages.ts'
import {commonAreas} from '../../api/clients/widget/state/language.ts'
import {areas} from '../../api/clients/widget/text/de/areas.ts'

const root = fileURLToPath(new URL('../../api/clients/widget/', import.meta.url))
const common: string[] = [...commonAreas]

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
  const read = [...modulesOf(join(root, path))].flatMap(module =>
    [...readFileSync(module, 'utf8').matchAll(/\btranslate(?:<\w+>)?\('(\w+)'/g)].map(([, area]) => area!),
  )
  return [...new Set(read)].filter(area => !common.includes(area)).toSorted()
}

for (const [pattern, {areas: listed, load}] of Object.entries(pages))
  test(`the page "${pattern}" lists the areas of messages that it reads, and no other`, t => {
    const [, path] = /import\('\.\/([^']+)'\)/.exec(load.toString()) ?? []
    t.deepEqual([...listed].toSorted(), areasOf(path!))
  })

test('the sign-in page and the command menu read no messages but the common ones', t => {
  for (const path of ['app.ts', 'commands/menu.ts']) t.deepEqual(areasOf(path), [], path)
  t.true(modulesOf(join(root, 'app.ts')).size > 20)
})

test('the embedded import loads the areas that it reads, and no other', t => {
  const main = readFileSync(join(root, 'embed/main.ts'), 'utf8')
  const [, listed] = /startLanguage\(\[([^\]]*)\]\)/.exec(main)!
  t.deepEqual([...listed!.matchAll(/'(\w+)'/g)].map(([, area]) => area!).toSorted(), areasOf('embed/app.ts'))
})

test('every area of messages is read by a page', t => {
  const read = new Set([...common, ...areasOf('embed/app.ts'), ...Object.values(pages).flatMap(({areas: listed}) => listed)])
  t.deepEqual(
    Object.keys(areas).filter(area => !read.has(area)),
    [],
  )
})
