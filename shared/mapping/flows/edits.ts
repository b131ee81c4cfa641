import {z} from 'zod'
import type {DiscoveredModule} from '../../crm/discovered.ts'
import {conversionTypeOf} from './field-types.ts'
import type {Flow} from './flow.ts'
import {splitMappings} from './patch.ts'
import {type FlowIssue, issue} from './value-issues.ts'

/**
 * What happens to a value that a person edited in the CRM since it was last written. `ask`: the row waits until a user answers the run's
 * question.
 */
export const OnEdited = z.enum(['overwrite', 'keep', 'ask'])
export type OnEdited = z.infer<typeof OnEdited>

/** Field types whose CRM values can be compared with values of a file. */
export const COMPARABLE_TYPES: ReadonlySet<string> = new Set([
  'text',
  'email',
  'phone',
  'website',
  'textarea',
  'boolean',
  'picklist',
  'multiselectpicklist',
  'integer',
  'double',
  'percent',
  'currency',
  'bigint',
  'long',
  'date',
  'datetime',
  'time',
  'lookup',
  'ownerlookup',
  'userlookup',
])

/** Fields that are not listed are overwritten. `onUnknown`: what happens to values without a mark. */
export const SnapshotEdits = z.object({
  fields: z.record(z.string(), z.enum(['keep', 'ask'])),
  onUnknown: z.enum(['write', 'keep']),
})
export type SnapshotEdits = z.infer<typeof SnapshotEdits>

/** `usual` applies if neither the module nor the org has a setting. */
export type EditSettings = {org: OnEdited | null; modules: ReadonlyMap<string, OnEdited>; usual: OnEdited}

/**
 * Decides per field what happens to edited values. The first setting of these applies: mapping, flow's match, module, org, `usual`. Undefined if
 * every value is overwritten.
 */
export const resolveEdits = (
  flow: Flow,
  {fields}: DiscoveredModule,
  {org, modules, usual}: EditSettings,
): {edits: SnapshotEdits} | undefined => {
  if (!keepsEdits(flow)) return undefined
  const general = flow.match?.onEdited ?? modules.get(flow.module) ?? org ?? usual
  const types = new Map(fields.map(field => [field.apiName, conversionTypeOf(field)]))
  const chosen = new Map(splitMappings(flow.fields).written.map(({field, onEdited}) => [field, onEdited ?? general]))
  if (flow.parent) chosen.set(flow.parent.field, general)
  const kept = [...chosen].flatMap(([field, choice]) =>
    choice !== 'overwrite' && COMPARABLE_TYPES.has(types.get(field) ?? '') ? [[field, choice] as const] : [],
  )
  return kept.length > 0 ? {edits: {fields: Object.fromEntries(kept), onUnknown: flow.match?.onUnknown ?? 'write'}} : undefined
}

/** Whether the flow updates records that people may have edited. Subform rows are replaced as a whole, so they keep no edited values. */
const keepsEdits = ({match, subform}: Flow) => match?.onOne === 'update' && !subform

/** Lists the mappings whose `onEdited` would have no effect. */
export const editIssues = (flow: Flow, module: DiscoveredModule | undefined): FlowIssue[] =>
  flow.fields.flatMap(({field, onEdited, patch}, at) => {
    if (!onEdited) return []
    const place = (message: string) => [issue(['fields', at, 'onEdited'], message)]
    if (!keepsEdits(flow)) return place('Edited values are kept only where a matched record is updated. Set `match.onOne` to `update`')
    if (patch) return place(`${field} is written after the rows, without a comparison. Leave out \`onEdited\` or \`patch\``)
    const found = module?.fields.find(({apiName}) => apiName === field)
    return !found || COMPARABLE_TYPES.has(conversionTypeOf(found)) || onEdited === 'overwrite'
      ? []
      : place(`Values of ${field} cannot be compared with the file's. Leave out \`onEdited\``)
  })
