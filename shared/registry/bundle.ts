import {z} from 'zod'
import type {Pool, Tx} from '../../sql/database.ts'
import {findRegistryVersion} from '../../sql/registry.ts'
import {Refusal} from '../errors.ts'
import {prepareLibraries, publishPrepared} from '../libraries/bundle.ts'
import {PublishedLibrary, type Publisher} from '../libraries/library.ts'
import {applyTemplates, prepareTemplates} from '../templates/bundle.ts'
import {Template} from '../templates/template.ts'
import {findRepeated} from './annotation.ts'
import type {Author, Change} from './change.ts'
import {annotationsOf, diffRegistry} from './diff.ts'
import {type Registry, RegistryDocument} from './document.ts'
import {type Asked, editRegistry} from './edit.ts'
import {fieldNames, fieldsNamedBy} from './modules.ts'
import {findModules} from './name.ts'
import {assertConnections} from './replace.ts'
import {type Told, tellVersions} from './version.ts'

/** Two of one name would be two versions made by one push, the first for nobody. */
const Libraries = z
  .array(PublishedLibrary)
  .max(100)
  .superRefine((libraries, context) => {
    for (const at of findRepeated(libraries.map(({manifest}) => manifest.namespace)))
      context.addIssue({code: 'custom', path: [at, 'manifest', 'namespace'], message: 'Another library of the bundle has this namespace'})
  })

/** A template is known by its name. */
const Templates = z
  .array(Template)
  .max(200)
  .superRefine((templates, context) => {
    for (const at of findRepeated(templates.map(({name}) => name)))
      context.addIssue({code: 'custom', path: [at, 'name'], message: 'Another template of the bundle has this name'})
  })

/** What an org's configuration repository pushes. */
export const Bundle = z.strictObject({
  registry: RegistryDocument.optional().describe('The whole registry; left out, it stays as it is'),
  libraries: Libraries.optional().describe('Libraries to publish, each the next version of its namespace; those not named stay'),
  templates: Templates.optional().describe('Shared templates, by name: made anew or replaced; those not named stay'),
})
export type Bundle = z.output<typeof Bundle>

/**
 * The registry, then the libraries, then the templates. Only the first waits on the version, and templates make none. Names of modules and
 * fields that nobody has ever seen are refused before anything is written.
 */
export const applyBundle = async (
  db: Pool,
  author: Author,
  asked: Asked,
  {registry, libraries = [], templates = []}: Bundle,
): Promise<{warnings: string[]; skippedLibraries: string[]; told: Told}> => {
  const prepared = await prepareLibraries(db, author, libraries)
  const checked = await prepareTemplates(db, author.org, {templates, libraries: prepared.loaded})
  const first = await editRegistry(db, author, asked, async (before, tx) => {
    if (!registry) return {registry: before, warnings: []}
    await assertConnections(tx, author.org, registry, ['registry'])
    const warnings = await assertNamed(tx, author.org, registry)
    const also = diffRegistry(before, registry).length > 0 ? [pushed({registry, libraries, templates})] : []
    return {registry, also, warnings, whole: true}
  })
  const made = [...(first.made === null ? [] : [first.made]), ...(await publishPrepared(db, author, prepared))]
  await applyTemplates(db, author as Publisher, templates)
  const told = tellVersions(asked.condition, {made, now: await findRegistryVersion(db, author.org)})
  return {warnings: [...first.warnings, ...prepared.warnings, ...checked.warnings], skippedLibraries: prepared.skipped, told}
}

/** That it was a bundle that made the changes beside this one. */
const pushed = ({registry, libraries, templates}: {registry: Registry; libraries: unknown[]; templates: unknown[]}): Change => {
  const fields = Object.values(registry.fields).reduce((sum, set) => sum + set.length, 0)
  const after = {modules: registry.modules.length, fields, libraries: libraries.length, templates: templates.length}
  return {page: 'general', subject: 'bundle', before: null, after}
}

/** Answers what was there and is no more, which is worth a warning only. */
const assertNamed = async (tx: Tx, org: string, registry: Registry): Promise<string[]> => {
  const {modules: all} = await findModules(tx, org, registry)
  const unknown: {modules: object[]; fields: object[]} = {modules: [], fields: []}
  const warnings: string[] = []
  for (const [at, module] of registry.modules.entries()) {
    const {key, apiName, connectorId} = module
    const names = await fieldNames(tx, module)
    const isThere = all.some(one => one.curated === module && one.discovered !== null)
    if (!isThere && names.removed.length === 0) unknown.modules.push({path: ['registry', 'modules', at], key, apiName, connectorId})
    else if (!isThere) warnings.push(`${apiName} is not in the CRM any more`)
    const annotated = annotationsOf(registry, key).map(({apiName: name}, n) => ({name, path: ['fields', key, n, 'apiName']}))
    const named = fieldsNamedBy(module).map(({name, path}) => ({name, path: ['modules', at, ...path]}))
    for (const {name, path} of [...annotated, ...named]) {
      if (!names.all.has(name)) unknown.fields.push({path: ['registry', ...path], module: key, apiName: name})
      else if (isThere && !names.now.has(name)) warnings.push(`${apiName}.${name} is not in the CRM any more`)
    }
  }
  if (unknown.modules.length + unknown.fields.length > 0)
    throw new Refusal(
      'UNKNOWN_FIELDS',
      'The bundle names modules or fields the CRM does not have: run a discovery, or correct them',
      unknown,
    )
  return [...new Set(warnings)]
}
