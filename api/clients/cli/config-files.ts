import {createHash} from 'node:crypto'
import type {Json} from '../http.ts'
import {badFile} from './failure.ts'
import {formatJson} from './stable-json.ts'

/** An org's configuration as its server has it: the registry, the libraries with their sources, the shared templates. */
export type Configuration = {registry: Json; libraries: Json[]; templates: Json[]}
/** The same as files: paths below the directory, with `/`, and their texts. */
export type Files = Map<string, string>

export const hashOf = (text: string) => createHash('sha256').update(text).digest('hex')

/** Where the parts lie. Whatever else is in the directory is left alone. */
export const isOurs = (path: string) =>
  /^(settings|writing)\.json$|^(modules|fields|templates)\/[^/\\]+\.json$|^libraries\/(?!\.\.?\/)[^/\\]+\/(manifest\.json|source\.js)$/.test(
    path,
  )

/** As git lays out a text where it is told so. */
export const withLineFeeds = (text: string) => text.replaceAll('\r\n', '\n')

export const isOfRegistry = (path: string) => /^(settings|writing)\.json$|^(modules|fields)\//.test(path)

/** One file a thing, in a form that is the same for the same thing. */
export const filesOf = ({registry, libraries, templates}: Configuration): Files => {
  const names = slugsOf(templates.map(({name}) => name))
  return new Map([
    ['settings.json', formatJson(registry.settings)],
    ['writing.json', formatJson(registry.writing)],
    ...registry.modules.map((module: Json) => [`modules/${module.key}.json`, formatJson(module)]),
    ...Object.entries(registry.fields).map(([key, set]) => [`fields/${key}.json`, formatJson(inOrder(set as Json[], 'apiName'))]),
    ...libraries.flatMap(({namespace, manifest, source}) => [
      [`libraries/${namespace}/manifest.json`, formatJson(manifest)],
      [`libraries/${namespace}/source.js`, withLineFeeds(source)],
    ]),
    ...templates.map((template, at) => [`templates/${names[at]}.json`, formatJson(template)]),
  ] as [string, string][])
}

const inOrder = (items: Json[], by: string) => items.toSorted((one, other) => (one[by] < other[by] ? -1 : 1))

/** File names of templates, which are known by their names: two that come to the same get a part that tells them apart. */
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

/** The files as the API's bundle takes them; of libraries and templates only those `wanted`. */
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
  if (source === undefined) throw badFile(`libraries/${namespace}/source.js is missing`, 'A library is a manifest.json and a source.js')
  return {manifest: jsonIn(files, `libraries/${namespace}/manifest.json`), source}
}

const RESTORE = 'Take it out of the repository again, or everything from the server: lading config pull --force'

const jsonIn = (files: Files, path: string): Json => {
  const text = files.get(path)
  if (text === undefined) throw badFile(`${path} is missing`, RESTORE)
  try {
    return JSON.parse(text)
  } catch (error) {
    throw badFile(`${path} is not JSON: ${(error as Error).message}`, `Put it right, or: ${RESTORE}`)
  }
}

/** It is known by its name, and so is its file: a name that was changed alone would make a second one. */
const templateIn = (files: Files, path: string): Json => {
  const template = jsonIn(files, path)
  const name = String(template?.name ?? '')
  const [slug] = slugsOf([name])
  const names = [slug, `${slug}-${hashOf(name).slice(0, 8)}`].map(one => `templates/${one}.json`)
  if (names.includes(path)) return template
  throw badFile(
    `${path} holds a template called ${name || '(nothing)'}`,
    `Templates are known by their names: call the file ${names[0]}, or the template as before`,
  )
}

/** What was last taken from the server or given to it: hashes by path. */
export type Base = Record<string, string>
export type Merge = {take: string[]; drop: string[]; keep: string[]; conflicts: string[]}

/** What a pull does with each file. Changed there alone: taken. Changed here alone: kept. On both sides, to different texts: a conflict. */
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
