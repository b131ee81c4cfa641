import {readFile, stat} from 'node:fs/promises'
import {dirname, join} from 'node:path'
import type {Command} from 'commander'
import {addExamples} from '../cli/examples.ts'
import {badFile, usage} from '../cli/failure.ts'
import {readJsonFile} from '../cli/inputs.ts'
import {wholeNumber} from '../cli/options.ts'
import type {Cli} from '../cli/session.ts'
import {clean, count} from '../cli/words.ts'
import {type Json, readPages} from '../http.ts'

export default (cli: Cli, program: Command) => {
  const libraries = program
    .command('libraries')
    .summary('list and publish libraries of functions')
    .description('A library is JavaScript functions that expressions call: a manifest.json and a source.js.')
    .addHelpText(
      'after',
      '\nExamples:\n  lading libraries\n  lading libraries publish libraries/names\n  lading libraries show names --source > source.js\n  lading libraries restore names 3',
    )
    .action(() => list(cli))
  libraries
    .command('list')
    .summary('list them')
    .action(() => list(cli))
  libraries
    .command('show')
    .summary('show one: its functions and versions')
    .argument('<namespace>')
    .option('--source', 'print its source alone')
    .action((namespace: string, options: {source?: boolean}) => show(cli, namespace, Boolean(options.source)))
  libraries
    .command('publish')
    .summary('publish one, as its next version')
    .description(
      'Loads it there, runs its examples, and refuses what does not hold. What is there already makes no version. Administrators may.',
    )
    .argument('<file>', 'a directory or a source.js with a manifest.json beside it, or a JSON file with both')
    .addHelpText(
      'after',
      '\nWhat an API token publishes first belongs to the repository, what a person publishes to people; each is refused the other.',
    )
    .action((file: string) => publish(cli, file))
  libraries
    .command('restore')
    .summary('publish an earlier version again')
    .argument('<namespace>')
    .argument('<version>', 'its number: lading libraries show NAME', wholeNumber)
    .action((namespace: string, version: number) => restore(cli, namespace, version))
  libraries
    .command('delete')
    .summary('delete one')
    .argument('<namespace>')
    .action((namespace: string) => remove(cli, namespace))
  addExamples(libraries, EXAMPLES)
}

const EXAMPLES = {
  list: 'list',
  show: 'show names --source > source.js',
  publish: 'publish libraries/names',
  restore: 'restore names 3',
  delete: 'delete names',
}

const list = async ({out, open}: Cli) => {
  const {client, path} = await open()
  const {libraries} = await client.get(path('libraries'))
  const rows = libraries.map((one: Json) => [
    one.namespace,
    one.version,
    `v${one.versionNumber}`,
    count(one.manifest.functions.length),
    one.managedBy === 'sdk' ? 'repository' : 'people',
    out.time(one.updatedAt),
  ])
  const heads = [
    {head: 'NAME', keep: true},
    {head: 'VERSION'},
    {head: 'NUMBER'},
    {head: 'FUNCTIONS', right: true},
    {head: 'OF'},
    {head: 'CHANGED'},
  ]
  out.answer({libraries}, () =>
    rows.length ? out.table(heads, rows) : 'There are no libraries yet. Publish one: lading libraries publish DIRECTORY',
  )
}

const show = async ({out, open}: Cli, namespace: string, source: boolean) => {
  const {client, path} = await open()
  const at = path(`libraries/${encodeURIComponent(namespace)}`)
  const {library} = await client.get(at)
  if (source && !out.json) return void out.out.write(library.source)
  const versions = await Array.fromAsync(readPages(client, `${at}/versions`, 'versions'))
  const functions = library.manifest.functions.map(
    ({name, parameters, description}: Json) =>
      `  ${clean(`${name}(${parameters.map((one: Json) => `${one.name}${one.optional ? '?' : ''}`).join(', ')}): ${description}`)}`,
  )
  out.answer({library, versions}, [
    `${out.style('bold', library.namespace)}  ${library.version} (v${library.versionNumber})  ${clean(library.manifest.description)}`,
    ...functions,
    'Versions:',
    ...versions.map(
      ({versionNumber, publishedAt, publishedBy, version}: Json) =>
        `  v${versionNumber}  ${version ?? ''}  ${out.time(publishedAt)}  ${clean(publishedBy)}`,
    ),
  ])
}

const publish = async ({out, open}: Cli, given: string) => {
  const library = await readLibrary(given)
  const {namespace} = library.manifest ?? {}
  if (typeof namespace !== 'string')
    throw usage(`The manifest of ${given} names no namespace`, 'It is what expressions call it by: {"namespace": "names", …}')
  const {client, path} = await open()
  const {library: now} = await client.put(path(`libraries/${encodeURIComponent(namespace)}`), library)
  out.answer({library: now}, `${now.namespace} ${now.version} is published (v${now.versionNumber})`)
}

const readLibrary = async (given: string): Promise<Json> => {
  const found = await stat(given).catch(() => null)
  if (!found) throw badFile(`There is no file ${given}`)
  if (given.endsWith('.json') && !given.endsWith('manifest.json')) return readJsonFile(given)
  const folder = found.isDirectory() ? given : dirname(given)
  const source = found.isDirectory() || given.endsWith('.json') ? join(folder, 'source.js') : given
  const text = await readFile(source, 'utf8').catch(() => {
    throw badFile(`${source} cannot be read`, 'A library is a manifest.json and a source.js in one directory')
  })
  return {manifest: await readJsonFile(join(folder, 'manifest.json')), source: text}
}

const restore = async ({out, open}: Cli, namespace: string, version: number) => {
  const {client, path} = await open()
  const {library} = await client.post(path(`libraries/${encodeURIComponent(namespace)}/versions/${version}/restore`))
  out.answer({library}, `${library.namespace} is as v${version} was, now v${library.versionNumber}`)
}

const remove = async ({out, open}: Cli, namespace: string) => {
  const {client, path} = await open()
  const {library} = await client.delete(path(`libraries/${encodeURIComponent(namespace)}`))
  out.answer({library}, `${library.namespace} is deleted`)
}
