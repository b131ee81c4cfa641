import {readFile, stat} from 'node:fs/promises'
import {dirname, join} from 'node:path'
import type {Command} from 'commander'
import {addExamples} from '../cli/examples.ts'
import {badFile, usage} from '../cli/failure.ts'
import {readJsonFile} from '../cli/inputs.ts'
import {wholeNumber} from '../cli/options.ts'
import {clean, count} from '../cli/phrases.ts'
import type {Cli} from '../cli/session.ts'
import {type Json, readPages} from '../http.ts'

export default (cli: Cli, program: Command) => {
  const libraries = program
    .command('libraries')
    .summary('list and publish helper libraries')
    .description('A library has JavaScript functions for expressions: a manifest.json and a source.js.')
    .addHelpText(
      'after',
      '\nExamples:\n  lading libraries\n  lading libraries publish libraries/names\n  lading libraries show names --source > source.js\n  lading libraries restore names 3',
    )
    .action(() => list(cli))
  libraries
    .command('list')
    .summary('list libraries')
    .action(() => list(cli))
  libraries
    .command('show')
    .summary('show the functions and versions of a library')
    .argument('<namespace>')
    .option('--source', 'print only the source')
    .action((namespace: string, options: {source?: boolean}) => show(cli, namespace, Boolean(options.source)))
  libraries
    .command('publish')
    .summary('publish the next version of a library')
    .description(
      'The server loads the library and runs its examples before publishing. Identical source creates no version. Requires the admin role.',
    )
    .argument('<file>', 'a directory, a source.js beside its manifest.json, or a JSON file with both')
    .addHelpText(
      'after',
      '\nA library first published with an API token is managed by the repository, any other by people. Only that side can publish it.',
    )
    .action((file: string) => publish(cli, file))
  libraries
    .command('restore')
    .summary('publish an earlier version again')
    .argument('<namespace>')
    .argument('<version>', 'number of the version: lading libraries show NAME', wholeNumber)
    .action((namespace: string, version: number) => restore(cli, namespace, version))
  libraries
    .command('delete')
    .summary('delete a library')
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
    {head: 'MANAGED BY'},
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
    throw usage(`The manifest of ${given} has no namespace`, 'Add the name for expressions: {"namespace": "names", …}')
  const {client, path} = await open()
  const {library: now} = await client.put(path(`libraries/${encodeURIComponent(namespace)}`), library)
  out.answer({library: now}, `Published ${now.namespace} ${now.version} (v${now.versionNumber})`)
}

const readLibrary = async (given: string): Promise<Json> => {
  const found = await stat(given).catch(() => null)
  if (!found) throw badFile(`File not found: ${given}`)
  if (given.endsWith('.json') && !given.endsWith('manifest.json')) return readJsonFile(given)
  const folder = found.isDirectory() ? given : dirname(given)
  const source = found.isDirectory() || given.endsWith('.json') ? join(folder, 'source.js') : given
  const text = await readFile(source, 'utf8').catch(() => {
    throw badFile(`Could not read ${source}`, 'Put manifest.json and source.js into one directory')
  })
  return {manifest: await readJsonFile(join(folder, 'manifest.json')), source: text}
}

const restore = async ({out, open}: Cli, namespace: string, version: number) => {
  const {client, path} = await open()
  const {library} = await client.post(path(`libraries/${encodeURIComponent(namespace)}/versions/${version}/restore`))
  out.answer({library}, `Restored v${version} of ${library.namespace} as v${library.versionNumber}`)
}

const remove = async ({out, open}: Cli, namespace: string) => {
  const {client, path} = await open()
  const {library} = await client.delete(path(`libraries/${encodeURIComponent(namespace)}`))
  out.answer({library}, `Deleted ${library.namespace}`)
}
