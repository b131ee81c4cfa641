import type {Command} from 'commander'
import {assertOrigin, type Origin, readFiles, readOrigin, writeFiles, writeOrigin} from '../cli/config-directory.ts'
import {
  type Base,
  bundleOf,
  type Configuration,
  type Files,
  filesOf,
  hashOf,
  isOfKeptLibrary,
  isOfRegistry,
  isRenamed,
  mergeFiles,
  stateRemoved,
} from '../cli/config-files.ts'
import {diffLines} from '../cli/diff.ts'
import {discoveryFile, pullDiscovery} from '../cli/discovery-file.ts'
import {EXIT} from '../cli/exit-codes.ts'
import {Failure, restate, usage} from '../cli/failure.ts'
import type {Output} from '../cli/output.ts'
import {clean, plural} from '../cli/phrases.ts'
import type {Cli, Session} from '../cli/session.ts'
import {type Json, readPages} from '../http.ts'

export default (cli: Cli, program: Command) => {
  const config = program
    .command('config')
    .summary('sync the configuration of the org with files')
    .description(CONFIG_ABOUT)
    .addHelpText('after', CONFIG_HELP)
  config
    .command('pull')
    .summary('download the configuration')
    .description(
      'Writes the configuration to a directory, with the modules and fields of its CRMs (discovery.json). Keeps files that only you changed. If a file was changed both here and on the server, it is reported and nothing is written.',
    )
    .argument('[directory]', 'target directory', '.')
    .option('--force', 'overwrite your changes')
    .addHelpText(
      'after',
      '\nExample:\n  lading config pull crm && git add crm && git commit\n\nNext: edit, lading config diff, lading config push',
    )
    .action((directory: string, options: {force?: boolean}) => pull(cli, directory, Boolean(options.force)))
  config
    .command('diff')
    .summary('show what push would change')
    .description('Compares the server (-) with your files (+). Exits with 0 if they are equal, with 8 if not.')
    .argument('[directory]', 'directory of the files', '.')
    .addHelpText(
      'after',
      '\nExamples:\n  lading config diff crm\n  lading config diff crm > /dev/null || echo "the configuration has changed"',
    )
    .action((directory: string) => diff(cli, directory))
  config
    .command('push')
    .summary('upload your changes')
    .description(
      'Uploads your changes, all or nothing, if the server still has the version you pulled. Requires the admin role. Exits with 8 if the configuration has changed since. Exits with 8 too if a library was skipped, because people manage it.',
    )
    .argument('[directory]', 'directory of the files', '.')
    .option('--prune', 'also delete libraries and templates whose files you deleted')
    .addHelpText(
      'after',
      '\nExample, in CI on the main branch:\n  lading config diff crm; lading config push crm\n\nIf the configuration changed after you pulled, push fails with REGISTRY_CONFLICT: pull, review, push again.',
    )
    .action((directory: string, options: {prune?: boolean}) => push(cli, directory, Boolean(options.prune)).catch(conflict))
}

const conflict = restate('REGISTRY_CONFLICT', () => ({exit: EXIT.different}))

const notPulled = (directory: string) => usage(`${directory} has no pulled configuration`, `Start with: lading config pull ${directory}`)

type There = {files: Files; version: number; etag: string; configuration: Configuration}

/**
 * Reads the configuration from the server. The registry comes first, so that a concurrent change makes the version too old, never too new.
 */
const readThere = async ({client, path}: Session): Promise<There> => {
  const registry = await client.get(path('config/registry'))
  const {libraries} = await client.get(path('libraries'), {source: true})
  const templates: Json[] = []
  for await (const {id, shared} of readPages(client, path('templates'), 'templates', {limit: 200})) {
    if (!shared) continue
    const {template} = await client.get(path(`templates/${id}`))
    const {name, description, connectorId, sources, flows, verify} = template
    const {contract} = await client.get(path(`templates/${id}/contract`))
    // The file of a template leaves out a contract without expectations and `verify: off`, so that files from earlier releases stay equal.
    const expected = contract.sources.length > 0 && {contract: {sources: contract.sources}}
    templates.push({name, description, connectorId, sources, flows, ...(verify && verify !== 'off' && {verify}), ...expected})
  }
  const configuration = {registry, libraries, templates}
  return {files: filesOf(configuration), version: registry.version, etag: `"${registry.version}"`, configuration}
}

const hashesOf = (files: Files): Base => Object.fromEntries([...files].map(([path, text]) => [path, hashOf(text)]))

const pull = async ({out, open}: Cli, directory: string, force: boolean) => {
  const session = await open()
  const origin = await readOrigin(directory)
  if (origin && !force) assertOrigin(origin, session, directory)
  const {files: there, version, etag} = await readThere(session)
  const here = await readFiles(directory)
  const merge = mergeFiles({base: origin?.files ?? {}, here, there})
  if (merge.conflicts.length > 0 && !force)
    throw new Failure(
      `${plural(merge.conflicts.length, 'file was', 'files were')} changed both here and on the server: ${merge.conflicts.join(', ')}`,
      {
        exit: EXIT.different,
        code: 'DIFFERENT',
        detail: {conflicts: merge.conflicts},
        next: 'Nothing was written. Commit or copy your version, run `lading config pull --force`, then apply your changes again',
      },
    )
  const overwritten = force ? [...merge.conflicts, ...merge.keep] : []
  const take = [...merge.take, ...overwritten.filter(path => there.has(path))]
  const drop = [...merge.drop, ...overwritten.filter(path => !there.has(path))]
  await writeFiles(directory, there, {take, drop})
  const {server, org} = session
  await writeOrigin(directory, {server, org, version, etag, files: hashesOf(there)})
  const discovered = await pullDiscovery(session, directory)
  const kept = force ? [] : merge.keep
  out.answer({version, taken: take, removed: drop, kept, discovered}, [
    `${directory} is at version ${version}: ${plural(take.length, 'file')} updated, ${drop.length} removed, ${kept.length} of yours kept`,
    ...take.map(path => `  ${path}`),
    ...drop.map(path => `  ${path} (removed)`),
    ...(discovered ? [`  ${discoveryFile}`] : []),
  ])
}

const diff = async (cli: Cli, directory: string) => {
  const session = await cli.open()
  const origin = await readOrigin(directory)
  if (origin) assertOrigin(origin, session, directory)
  const {files: there, version} = await readThere(session)
  const here = await readFiles(directory)
  if (!origin && here.size === 0) throw notPulled(directory)
  const paths = [...new Set([...here.keys(), ...there.keys()])].sort()
  const changes = paths.flatMap(path => {
    const [before, after] = [there.get(path), here.get(path)]
    if (before === after) return []
    return [
      {
        path,
        change: before === undefined ? 'added' : after === undefined ? 'removed' : 'changed',
        diff: diffLines(before ?? '', after ?? ''),
      },
    ]
  })
  if (origin && origin.version !== version)
    cli.out.note(
      `The server is at version ${version}, this directory at ${origin.version}. Run \`lading config pull\` first to see only your own changes`,
    )
  cli.out.answer({different: changes.length > 0, changes}, () =>
    changes.length ? changes.flatMap(one => showChange(cli.out, one)) : 'No differences',
  )
  if (changes.length > 0) cli.exit(EXIT.different)
}

const showChange = (out: Output, {path, change, diff: lines}: {path: string; change: string; diff: string[]}): string[] => [
  out.style('bold', `--- ${change === 'added' ? '/dev/null' : `server/${path}`}`),
  out.style('bold', `+++ ${change === 'removed' ? '/dev/null' : `local/${path}`}`),
  ...lines.map(line => {
    const shown = clean(line[0]) + line.slice(1).replaceAll(/\p{Cc}/gu, ' ')
    const text = line.startsWith(' ') ? ` ${shown}`.slice(shown.startsWith(' ') ? 1 : 0) : shown
    return line.startsWith('+')
      ? out.style('green', text)
      : line.startsWith('-')
        ? out.style('red', text)
        : line.startsWith('@@')
          ? out.style('cyan', text)
          : text
  }),
]

const push = async (cli: Cli, directory: string, prune: boolean) => {
  const session = await cli.open()
  const origin = await readOrigin(directory)
  if (!origin) throw notPulled(directory)
  assertOrigin(origin, session, directory)
  const there = await readThere(session)
  const here = await readFiles(directory)
  const {keep, conflicts} = mergeFiles({base: origin.files, here, there: there.files})
  assertTemplatesUntouched(conflicts)
  const changed = [...keep, ...conflicts].filter(path => !isRenamed(path, {here, there: there.files}))
  const removed = changed.filter(path => !here.has(path) && !isOfRegistry(path))
  const pruned = prune ? removed.filter(path => !isOfKeptLibrary(path, here)) : []
  const bundle = stateRemoved(bundleOf(here, {registry: changed.some(isOfRegistry), wanted: new Set(changed)}), there.configuration)
  if (Object.keys(bundle).length === 0 && pruned.length === 0) return sayNothing(cli.out, removed, here)
  const {body} = await session.client.call('POST', session.path('config/bundle'), {body: bundle, headers: {'if-match': origin.etag}})
  for (const warning of body.warnings) cli.out.warn(clean(warning))
  const settlePush = (told: number | undefined) => settle(session, {directory, origin, here, pushed: changed, told})
  // A refused deletion does not undo the push, so the directory gets the version of the push.
  const keepPush = (error: unknown) => settlePush(body.registryVersion).then(() => Promise.reject(error))
  const told = prune ? await pruneAll(session, pruned, there, body.registryVersion).catch(keepPush) : body.registryVersion
  const version = await settlePush(told)
  const skippedLibraries: string[] = body.skippedLibraries ?? []
  const isSkipped = (path: string) => skippedLibraries.some(name => path.startsWith(`libraries/${name}/`))
  const isLeft = (path: string) => isSkipped(path) || (removed.includes(path) && !pruned.includes(path))
  const [left, pushed] = [changed.filter(isLeft), changed.filter(path => !isLeft(path))]
  const why = (path: string) => (here.has(path) ? 'skipped: people manage this library' : `still on the server: ${howToDelete(path, here)}`)
  cli.out.answer({pushed, skipped: left, skippedLibraries, removed: pruned, warnings: body.warnings, version}, [
    `${plural(pushed.length, 'file')} pushed${left.length > 0 ? `, ${left.length} not` : ''}; the configuration is at version ${version}`,
    ...pushed.map(path => `  ${path}${here.has(path) ? '' : ' (removed)'}`),
    ...left.map(path => `  ${path} (${why(path)})`),
  ])
  if (skippedLibraries.length > 0) cli.exit(EXIT.different)
}

/**
 * Throws if a template changed both here and on the server. `If-Match` does not detect this, because the version of the registry excludes
 * templates.
 */
const assertTemplatesUntouched = (conflicts: string[]) => {
  const templates = conflicts.filter(path => path.startsWith('templates/'))
  if (templates.length === 0) return
  throw new Failure(
    `${plural(templates.length, 'template was', 'templates were')} changed both here and on the server: ${templates.join(', ')}`,
    {
      exit: EXIT.different,
      code: 'DIFFERENT',
      detail: {conflicts: templates},
      next: 'Nothing was pushed. Commit or copy your version, run `lading config pull --force`, then apply your changes again',
    },
  )
}

const sayNothing = (out: Output, removed: string[], here: Files) => {
  out.answer({pushed: [], removed: []}, [
    'Nothing to push',
    ...removed.map(path => `  ${path} was deleted here but is still on the server: ${howToDelete(path, here)}`),
  ])
}

const howToDelete = (path: string, here: Files) =>
  isOfKeptLibrary(path, here) ? 'restore it, or delete the other file of the library too and use --prune' : 'use --prune to delete it'

/** Deletes the templates and libraries whose files were deleted. Returns the new version, or undefined if it is not known. */
const pruneAll = async (
  {client, path}: Session,
  removed: string[],
  {files, configuration: {libraries}}: There,
  told: number | undefined,
): Promise<number | undefined> => {
  const names = removed.filter(file => file.startsWith('templates/')).map(file => JSON.parse(files.get(file) ?? '{}').name)
  for await (const {id, name, shared} of readPages(client, path('templates'), 'templates', {limit: 200}))
    if (shared && names.includes(name)) await client.delete(path(`templates/${id}`))
  let version = told
  for (const {namespace} of libraries) {
    if (!['manifest.json', 'source.js'].every(file => removed.includes(`libraries/${namespace}/${file}`))) continue
    const condition = version === undefined ? undefined : {'if-match': `"${version}"`}
    version = (await client.delete(path(`libraries/${encodeURIComponent(namespace)}`), condition)).registryVersion
  }
  return version
}

type Settling = {directory: string; origin: Origin; here: Files; pushed: string[]; told: number | undefined}

/**
 * After a push, replaces the pushed local files by the form in which the server stores them, and records the new version. If another member changed
 * the configuration at the same time, keeps the local files and the old version; the directory must then be pulled first. Returns the version of
 * the directory.
 */
const settle = async (session: Session, {directory, origin, here, pushed, told}: Settling): Promise<number> => {
  const {files: now, version, etag} = await readThere(session)
  const base = {...origin.files}
  const isAlone = told === version
  const take: string[] = []
  for (const path of pushed) {
    const text = now.get(path)
    // The server skipped this file: it lacks the file, or still has the version recorded before the push. The local file then still counts as
    // changed.
    if (text === undefined ? here.has(path) : hashOf(text) === base[path] && text !== here.get(path)) continue
    if (text === undefined) delete base[path]
    else if (isAlone || text === here.get(path)) base[path] = hashOf(text)
    if (isAlone && text !== undefined && text !== here.get(path)) take.push(path)
  }
  await writeFiles(directory, now, {take, drop: []})
  await writeOrigin(directory, {...origin, files: base, ...(isAlone && {version, etag})})
  return isAlone ? version : origin.version
}

const CONFIG_ABOUT =
  'The configuration of the org as files for a repository: settings, modules, field annotations, libraries and shared templates. One file each, in a stable format.'

const CONFIG_HELP = `
  settings.json  writing.json           settings of the org; connections with paused writing
  modules/KEY.json  fields/KEY.json     a module, and the annotations of its fields
  libraries/NAME/manifest.json, source.js
  templates/NAME.json                   shared templates
  .lading.json                          server, org and version; commit it too
  discovery.json                        modules and fields of the CRMs, for lading test

Examples:
  lading config pull crm
  lading config diff crm
  lading config push crm`
