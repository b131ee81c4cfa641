import {createHash} from 'node:crypto'
import type {Json} from '../http.ts'
import {badFile} from './failure.ts'
import {formatJson} from './stable-json.ts'

/** The configuration of an org: the registry, libraries with source, and shared templates. */
export type Configuration = {registry: Json; libraries: Json[]; templates: Json[]}
/** Configuration as files: text by relative path, with `/` separators. */
export type Files = Map<string, string>

export const hashOf = (text: string) => createHash('sha256').update(text).digest('hex')

/** Whether the path is a configuration file. Other files in the directory are ignored. */
export const isOurs = (path: string) =>
  /^(settings|writing)\.json$|^(modules|fields|templates)\/[^/\\]+\.json$|^libraries\/(?!\.\.?\/)[^/\\]+\/(manifest\.json|source\.js)$/.test(
    path,
  )

export const withLineFeeds = (text: string) => text.replaceAll('\r\n', '\n')

export const isOfRegistry = (path: string) => /^(settings|writing)\.json$|^(modules|fields)\//.test(path)

export const filesOf = ({registry, libraries, templates}: Configuration): Files => {
  const names = slugsOf(templates.map(({name}) => name))
  return new Map([
    ['settings.json', formatJson(registry.settings)],
    ['writing.json', formatJson(registry.writing)],
    ...registry.modules.map((module: Json) => [`modules/${module.key}.json`, formatJson(module)]),
    ...Object.entries(registry.fields).map(([key, set]) => [`fields/${key}.json`, formatJson(set)]),
    ...libraries.flatMap(({namespace, manifest, source}) => [
      [`libraries/${namespace}/manifest.json`, formatJson(manifest)],
      [`libraries/${namespace}/source.js`, withLineFeeds(source)],
    ]),
    ...templates.map((template, at) => [`templates/${names[at]}.json`, formatJson(template)]),
  ] as [string, string][])
}

/** Returns the file names of templates. Templates with the same slug, or with an empty one, get a hash suffix. */
export const slugsOf = (names: readonly string[]): string[] => {
  const slugs = names.map(slugOf)
  return slugs.map((slug, at) =>
    slugs.indexOf(slug) === slugs.lastIndexOf(slug) && slug !== '' ? slug : `${slug || 'template'}-${hashOf(names[at]!).slice(0, 8)}`,
  )
}

const slugOf = (name: string) =>
  name
    .normalize('NFKD')
    .replaceAll(/\p{M}/gu, '')
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-+|-+$/g, '')
    .slice(0, 60)

/**
 * Builds the API's bundle from the files. `registry`: whether to include the registry. `wanted`: the paths of the library and template
 * files to include.
 */
export const bundleOf = (files: Files, {registry, wanted}: {registry: boolean; wanted: ReadonlySet<string>}): Json => {
  const below = (folder: string) => [...files.keys()].filter(path => path.startsWith(`${folder}/`)).sort()
  const namespaces = [
    ...new Set(
      below('libraries')
        .filter(path => wanted.has(path))
        .map(path => path.split('/')[1]!),
    ),
  ]
  const templates = below('templates').filter(path => wanted.has(path))
  return {
    ...(registry && {registry: registryOf(files, below)}),
    ...(namespaces.length > 0 && {libraries: namespaces.map(namespace => libraryOf(files, namespace))}),
    ...(templates.length > 0 && {templates: templates.map(path => templateIn(files, path))}),
  }
}

const registryOf = (files: Files, below: (folder: string) => string[]) => {
  const nameOf = (path: string) => path.replace(/^.*\/|\.json$/g, '')
  const modules = below('modules').map(path => jsonIn(files, path))
  const fields = below('fields').map(path => [nameOf(path), jsonIn(files, path)])
  return {
    settings: jsonIn(files, 'settings.json'),
    writing: files.has('writing.json') ? jsonIn(files, 'writing.json') : {},
    modules: modules.toSorted((one, other) => one.order - other.order),
    fields: Object.fromEntries(fields.filter(([, set]) => !Array.isArray(set) || set.length > 0)),
  }
}

const libraryOf = (files: Files, namespace: string) => {
  const source = files.get(`libraries/${namespace}/source.js`)
  if (source === undefined)
    throw badFile(`libraries/${namespace}/source.js is missing`, 'Put manifest.json and source.js into the directory of the library')
  const manifest = jsonIn(files, `libraries/${namespace}/manifest.json`)
  if (manifest?.namespace === namespace) return {manifest, source}
  throw badFile(
    `libraries/${namespace}/manifest.json has the namespace ${manifest?.namespace ?? '(nothing)'}`,
    'Give the directory and the namespace the same name, because --prune would delete the library under its other name',
  )
}

const RESTORE = 'Restore it from the repository, or download everything again: lading config pull --force'

const jsonIn = (files: Files, path: string): Json => {
  const text = files.get(path)
  if (text === undefined) throw badFile(`${path} is missing`, RESTORE)
  try {
    return JSON.parse(text)
  } catch (error) {
    throw badFile(`${path} is not JSON: ${(error as Error).message}`, `Fix it. ${RESTORE}`)
  }
}

/** Reads a template and checks that its name matches the file name, because changing only one of them would create a second template. */
const templateIn = (files: Files, path: string): Json => {
  const template = jsonIn(files, path)
  const name = String(template?.name ?? '')
  const [slug] = slugsOf([name])
  const names = [slug, `${slug}-${hashOf(name).slice(0, 8)}`].map(one => `templates/${one}.json`)
  if (names.includes(path)) return template
  throw badFile(
    `${path} holds a template named ${name || '(nothing)'}`,
    `Rename the file to ${names[0]}, or restore the name of the template`,
  )
}

/** Whether the deleted file of a template was only renamed. A template can have two file names. */
export const isRenamed = (path: string, {here, there}: {here: Files; there: Files}): boolean => {
  const isTemplate = (one: string) => one.startsWith('templates/')
  if (!isTemplate(path) || here.has(path) || !there.has(path)) return false
  const {name} = jsonIn(there, path)
  return [...here.keys()].some(other => isTemplate(other) && jsonIn(here, other)?.name === name)
}

/** Whether the directory has a file of the library to which `path` belongs. A library is pushed and deleted with all its files. */
export const isOfKeptLibrary = (path: string, here: Files): boolean => {
  const [folder, namespace] = path.split('/')
  return folder === 'libraries' && [...here.keys()].some(other => other.startsWith(`libraries/${namespace}/`))
}

/**
 * Adds `verify: off` to templates whose file no longer has `verify`, and an empty contract to those whose file no longer has `contract`. Without
 * them, the server would keep the earlier values.
 */
export const stateRemoved = (bundle: Json, {templates}: Configuration): Json => {
  if (!bundle.templates) return bundle
  const before = new Map(templates.map(({name, verify, contract}) => [name, {verify, contract}]))
  const removedOf = ({verify, contract}: Json) => ({...(verify && {verify: 'off'}), ...(contract && {contract: {sources: []}})})
  return {...bundle, templates: bundle.templates.map((one: Json) => ({...removedOf(before.get(one.name) ?? {}), ...one}))}
}

/** Hashes by path, as of the last pull or push. */
export type Base = Record<string, string>
export type Merge = {take: string[]; drop: string[]; keep: string[]; conflicts: string[]}

/**
 * Merges three versions of the files. A file that changed only on the server is taken, and one that changed only here is kept. If both sides
 * changed a file to different texts, the file is a conflict.
 */
export const mergeFiles = ({base, here, there}: {base: Base; here: Files; there: Files}): Merge => {
  const merge: Merge = {take: [], drop: [], keep: [], conflicts: []}
  for (const path of [...new Set([...Object.keys(base), ...here.keys(), ...there.keys()])].sort()) {
    const [mine, theirs] = [here, there].map(files => (files.has(path) ? hashOf(files.get(path)!) : undefined))
    if (mine === theirs) continue
    if (mine === base[path]) merge[theirs === undefined ? 'drop' : 'take'].push(path)
    else merge[theirs === base[path] ? 'keep' : 'conflicts'].push(path)
  }
  return merge
}
