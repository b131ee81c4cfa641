import {z} from 'zod'
import type {DiscoveredModule} from '../crm/discovered.ts'

const Mapping = z.strictObject({
  field: z.string().min(1),
  mode: z.enum(['column', 'static', 'skip']),
  source: z.string().nullish(),
  staticValue: z.string().nullish(),
  /** What an empty cell means: leave the field alone, or clear it. The cell `\N` always clears. */
  empty: z.enum(['leave', 'clear']).default('leave'),
})
export type Mapping = z.output<typeof Mapping>

const Match = z.strictObject({
  by: z.array(z.string().min(1)).min(1).max(5),
  onOne: z.enum(['update', 'skip', 'create']).default('update'),
  onMany: z.enum(['ask', 'first', 'skip']).default('ask'),
})
export type Match = z.output<typeof Match>

/** Writes one module from one source. */
export const Flow = z.strictObject({
  id: z.string().regex(/^[A-Za-z0-9_-]{1,64}$/, 'Letters, digits, _ and -, at most 64'),
  sourceId: z.string(),
  module: z.string(),
  match: Match.optional(),
  fields: z.array(Mapping).min(1).max(500),
})
export type Flow = z.output<typeof Flow>

export const Flows = z.array(Flow).min(1).max(50)

export type Issue = {path: (string | number)[]; message: string}
type Known = {sources: {id: string; columns: string[]}[]; modules: Map<string, DiscoveredModule>}

/** What of the flows does not fit the files and the newest discovery: one issue a place, empty when everything does. */
export const findIssues = (flows: Flow[], known: Known): Issue[] => [
  ...repeated(flows.map(({id}) => id)).map(at => ({path: [at, 'id'], message: 'Another flow has this id'})),
  ...flows.flatMap((flow, at) => issuesOf(flow, known).map(({path, message}) => ({path: [at, ...path], message}))),
]

const issuesOf = (flow: Flow, {sources, modules}: Known): Issue[] => {
  const source = sources.find(({id}) => id === flow.sourceId)
  const module = modules.get(flow.module)
  if (!source) return [{path: ['sourceId'], message: `The import has no source ${flow.sourceId}`}]
  if (!module) return [{path: ['module'], message: `The connection's discovery has no module ${flow.module}`}]
  if (!module.creatable) return [{path: ['module'], message: `${flow.module} cannot be written directly`}]
  return [...mappingIssues(flow, source.columns, module), ...matchIssues(flow, module), ...requiredIssues(flow, module)]
}

const mappingIssues = ({fields}: Flow, columns: string[], module: DiscoveredModule): Issue[] => [
  ...repeated(fields.map(({field}) => field)).map(at => ({path: ['fields', at, 'field'], message: 'Another mapping writes this field'})),
  ...fields.flatMap((mapping, at) => {
    const path = ['fields', at]
    const field = module.fields.find(({apiName}) => apiName === mapping.field)
    if (!field) return [{path: [...path, 'field'], message: `${module.apiName} has no field ${mapping.field}`}]
    if (mapping.mode === 'skip') return []
    if (!field.creatable || field.readOnly) return [{path: [...path, 'field'], message: `${mapping.field} is read only`}]
    if (UNSUPPORTED.has(field.type))
      return [{path: [...path, 'field'], message: `${mapping.field} is of type ${field.type}, which a column cannot fill`}]
    if (mapping.mode === 'static')
      return mapping.staticValue == null ? [{path: [...path, 'staticValue'], message: 'A static mapping needs a value'}] : []
    if (mapping.source == null) return [{path: [...path, 'source'], message: 'A column mapping needs a source column'}]
    return columns.includes(mapping.source) ? [] : [{path: [...path, 'source'], message: `The file has no column "${mapping.source}"`}]
  }),
]

const UNSUPPORTED = new Set(['subform', 'multiselectlookup', 'multiuserlookup', 'fileupload', 'imageupload', 'profileimage'])

const matchIssues = ({match, fields}: Flow, module: DiscoveredModule): Issue[] =>
  (match?.by ?? []).flatMap((name, at) => {
    const path = ['match', 'by', at]
    if (!module.fields.some(({apiName}) => apiName === name)) return [{path, message: `${module.apiName} has no field ${name}`}]
    return fields.some(({field, mode}) => field === name && mode !== 'skip')
      ? []
      : [{path, message: `${name} is matched by and not mapped`}]
  })

const requiredIssues = ({fields}: Flow, module: DiscoveredModule): Issue[] => {
  const mapped = new Set(fields.filter(({mode}) => mode !== 'skip').map(({field}) => field))
  return module.fields
    .filter(({required, creatable, readOnly, apiName}) => required && creatable && !readOnly && !mapped.has(apiName))
    .map(({apiName}) => ({path: ['fields'], message: `${module.apiName} cannot be created without ${apiName}`}))
}

const repeated = (names: string[]) => names.flatMap((name, at) => (names.indexOf(name) < at ? [at] : []))
