import {globSync, readFileSync} from 'node:fs'
import {basename} from 'node:path'
import {fileURLToPath} from 'node:url'
import test from 'ava'
import {areas as loaders} from '../../api/clients/widget/text/de/areas.ts'
import {parse} from '../boundary-rules.ts'
import {findVisibleTexts} from './visible-texts.ts'

const german: Record<string, object> = Object.fromEntries(
  await Promise.all(Object.entries(loaders).map(async ([area, load]) => [area, await load()])),
)
const root = fileURLToPath(new URL('../../api/clients/widget/', import.meta.url))
const areas = globSync('text/*.ts', {cwd: root})
  .map(path => basename(path, '.ts'))
  .filter(area => !['language', 'errors'].includes(area))
  .toSorted()

const readEnglish = async (area: string) => (await import(`../../api/clients/widget/text/${area}.ts`)).t as object

type Message = [key: string, message: unknown]

const messagesOf = (catalog: object, prefix = ''): Message[] =>
  Object.entries(catalog).flatMap(([key, value]): Message[] =>
    typeof value === 'object' && value !== null ? messagesOf(value, `${prefix}${key}.`) : [[prefix + key, value]],
  )

const first = 201
const fillings = Array.from({length: 9}, (_, n) => first + n)

/** Returns the message filled with numbers, as text. Markup becomes text that contains its children. */
const fill = (message: unknown): string => {
  const text = typeof message === 'function' ? message(...fillings) : message
  return typeof text === 'string' ? text : JSON.stringify(text)
}

/** Returns the fillings that a message shows. */
const partsOf = (message: unknown) => fillings.filter(part => fill(message).includes(String(part)))

test('every area is translated, with the same messages and the same placeholders', async t => {
  t.deepEqual(
    Object.keys(german)
      .filter(area => !['errors', 'rowReasons'].includes(area))
      .toSorted(),
    areas,
  )
  for (const area of areas) {
    const english = new Map(messagesOf(await readEnglish(area)))
    const translated = new Map(messagesOf(german[area]!))
    t.deepEqual(new Set(translated.keys()).symmetricDifference(new Set(english.keys())), new Set(), area)
    for (const [key, message] of english) {
      t.deepEqual(partsOf(translated.get(key)), partsOf(message), `${area}.${key}`)
      t.not(fill(translated.get(key)).trim(), '', `${area}.${key}`)
    }
  }
})

test('a German message that is the same in English is a name or a word of both languages', async t => {
  const same = []
  for (const area of areas) {
    const english = new Map(messagesOf(await readEnglish(area)))
    for (const [key, message] of messagesOf(german[area]!))
      if (/\p{L}{3,} \p{L}{3,}/u.test(fill(message)) && fill(message) === fill(english.get(key))) same.push(`${area}.${key}`)
  }
  t.deepEqual(same, [])
})

const files = globSync('**/*.ts', {cwd: root}).filter(path => !path.startsWith('text/') && path !== 'imports/sample-file.ts')
/** Sample content of a library that a person edits. */
const samples = ['How we write names', 'First and last name, separated by a space', 'Ana Ruiz']

test('no file of the widget has visible text outside the catalogues', t => {
  const sources = parse(files.map(path => [path, readFileSync(root + path, 'utf8')]))
  const found = sources.flatMap(source =>
    findVisibleTexts(source).flatMap(({line, text}) => (samples.includes(text) ? [] : [`${source.path}:${line} ${text}`])),
  )
  t.deepEqual(found, [])
})

test('text in a template, in a visible attribute, in a label and in a sentence is found, but not class names, code or paths', t => {
  const hole = '$'.concat('{x}')
  const textsIn = (text: string) =>
    parse([['a.ts', text]])
      .flatMap(findVisibleTexts)
      .map(({text: found}) => found)
  t.deepEqual(textsIn(`html\`<p class="quiet row">Hello ${hole}</p>\``), ['Hello'])
  t.deepEqual(textsIn(`html\`<input aria-label="Find" type="text" /><${hole} label="Name" value=${hole} />\``), ['Find', 'Name'])
  t.deepEqual(textsIn(`a = [{value: 'x', label: 'Any'}]; b = 'Could not save'`), ['Any', 'Could not save'])
  t.deepEqual(textsIn(`c = \`Deleted ${hole} now\`; d = \`${hole} rows\``), ['Deleted {} now', '{} rows'])
  t.deepEqual(textsIn(`html\`<kbd>Esc</kbd> <code>row</code> ${hole}\`; b = 'button quiet'; c = \`/imports/${hole}\`; d = 'a.b'`), [])
})
