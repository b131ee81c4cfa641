import {z} from 'zod'
import type {Pool, Tx} from '../../sql/database.ts'
import {findRegistryVersion} from '../../sql/registry.ts'
import {Refusal} from '../errors.ts'
import {prepareLibraries, publishPrepared} from '../expressions/libraries/bundle.ts'
import {PublishedLibrary, type Publisher} from '../expressions/libraries/library.ts'
import {applyTemplates, prepareTemplates} from '../mapping/templates/bundle.ts'
import {BundledTemplate, type Template} from '../mapping/templates/template.ts'
import {findRepeated} from './annotation.ts'
import type {Author, Change} from './change.ts'
import {annotationsOf, diffRegistry} from './diff.ts'
import {type Registry, RegistryDocument} from './document.ts'
import {editRegistry, type RegistryEditInput} from './edit.ts'
import {assertUnmapped, listMapped} from './idempotency-field.ts'
import {fieldNames, fieldsNamedBy} from './modules.ts'
import {findModules} from './name.ts'
import {assertConnections} from './replace.ts'
import {logVersions, type VersionReply} from './version.ts'

/** Each namespace occurs once: of two libraries with the same namespace, only the second would be used. */
const Libraries = z
  .array(PublishedLibrary)
  .max(100)
  .superRefine((libraries, context) => {
    for (const at of findRepeated(libraries.map(({manifest}) => manifest.namespace)))
      context.addIssue({code: 'custom', path: [at, 'manifest', 'namespace'], message: 'Another library of the bundle has this namespace'})
  })

/** Each name occurs once, because the name identifies the template. */
const Templates = z
  .array(BundledTemplate)
  .max(200)
  .superRefine((templates, context) => {
    for (const at of findRepeated(templates.map(({name}) => name)))
      context.addIssue({code: 'custom', path: [at, 'name'], message: 'Another template of the bundle has this name'})
  })

/** The content that an org's configuration repository pushes. */
export const Bundle = z.strictObject({
  registry: RegistryDocument.optional().describe('The whole registry. Left out: unchanged'),
  libraries: Libraries.optional().describe('Libraries to publish, each the next version of its namespace; others stay unchanged'),
  templates: Templates.optional().describe('Shared templates, by name: created or replaced; others stay unchanged'),
})
export type Bundle = z.output<typeof Bundle>

/**
 * Applies the registry, then the libraries, then the templates, each in its own transactions. Only the registry is checked against the
 * condition, and templates create no version. Unknown names of modules and fields are refused before anything is written.
 */
export const applyBundle = async (
  db: Pool,
  author: Author,
  input: RegistryEditInput,
  {registry, libraries = [], templates = []}: Bundle,
): Promise<{warnings: string[]; skippedLibraries: string[]; versionReply: VersionReply}> => {
  const prepared = await prepareLibraries(db, author, libraries)
  const checked = await prepareTemplates(db, author.org, {templates, libraries: prepared.loaded, settings: registry?.settings})
  const first = await editRegistry(db, author, input, async (before, tx) => {
    assertTemplatesUnmapped(registry ?? before, templates)
    if (!registry) return {registry: before, warnings: []}
    await assertConnections(tx, author.org, registry, ['registry'])
    const warnings = await assertNamed(tx, author.org, registry)
    const also = diffRegistry(before, registry).length > 0 ? [pushed({registry, libraries, templates})] : []
    return {registry, also, warnings, whole: true, replaced: nameUnmapped(registry, templates)}
  })
  const made = [...(first.made === null ? [] : [first.made]), ...(await publishPrepared(db, author, prepared))]
  await applyTemplates(db, author as Publisher, templates)
  const versionReply = logVersions(input.condition, {made, now: await findRegistryVersion(db, author.org)})
  return {warnings: [...first.warnings, ...prepared.warnings, ...checked.warnings], skippedLibraries: prepared.skipped, versionReply}
}

/** Returns the history entry that shows that the other changes came from one bundle, with the numbers of the bundle's parts. */
const pushed = ({registry, libraries, templates}: {registry: Registry; libraries: unknown[]; templates: unknown[]}): Change => {
  const fields = Object.values(registry.fields).reduce((sum, set) => sum + set.length, 0)
  const after = {modules: registry.modules.length, fields, libraries: libraries.length, templates: templates.length}
  return {page: 'general', subject: 'bundle', before: null, after}
}

/** Refuses templates that map an idempotency field of the registry. */
const assertTemplatesUnmapped = ({modules}: Registry, templates: Template[]) => {
  for (const {connectorId, flows} of templates) {
    const own = modules.filter(one => one.connectorId === connectorId && one.idempotencyField != null)
    assertUnmapped(flows, new Map(own.map(({apiName, idempotencyField}) => [apiName, idempotencyField!])))
  }
}

/** Names the templates that map no idempotency field of the registry, whatever their connection. */
const nameUnmapped = ({modules}: Registry, templates: Template[]): string[] =>
  templates
    .filter(({flows}) =>
      modules.every(({apiName, idempotencyField: field}) => field == null || listMapped(flows, new Map([[apiName, field]])).length === 0),
    )
    .map(({name}) => name)

/** Returns warnings for names that are missing from the newest discovery. Throws for names that no discovery ever contained. */
const assertNamed = async (tx: Tx, org: string, registry: Registry): Promise<string[]> => {
  const {modules: all} = await findModules(tx, org, registry)
  const unknown: {modules: object[]; fields: object[]} = {modules: [], fields: []}
  const warnings: string[] = []
  for (const [at, module] of registry.modules.entries()) {
    const {key, apiName, connectorId} = module
    const names = await fieldNames(tx, module)
    const isThere = all.some(one => one.curated === module && one.discovered !== null)
    if (!isThere && names.removed.length === 0) unknown.modules.push({path: ['registry', 'modules', at], key, apiName, connectorId})
    else if (!isThere) warnings.push(`${apiName} is no longer in the CRM`)
    const annotated = annotationsOf(registry, key).map(({apiName: name}, n) => ({name, path: ['fields', key, n, 'apiName']}))
    const named = fieldsNamedBy(module).map(({name, path}) => ({name, path: ['modules', at, ...path]}))
    for (const {name, path} of [...annotated, ...named]) {
      if (!names.all.has(name)) unknown.fields.push({path: ['registry', ...path], module: key, apiName: name})
      else if (isThere && !names.now.has(name)) warnings.push(`${apiName}.${name} is no longer in the CRM`)
    }
  }
  if (unknown.modules.length + unknown.fields.length > 0)
    throw new Refusal(
      'UNKNOWN_FIELDS',
      'The bundle names modules or fields that the CRM does not have. Run a discovery, or correct the names',
      unknown,
    )
  return [...new Set(warnings)]
}
