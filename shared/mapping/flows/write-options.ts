import {z} from 'zod'
import type {DiscoveredField, DiscoveredModule} from '../../crm/discovered.ts'
import type {Flow} from './flow.ts'
import {type Patch, splitMappings} from './patch.ts'
import {type FlowIssue, issue} from './value-issues.ts'

/** Maximum number of characters of a tag's name. Source: zoho.com/crm/developer/docs/api/v7/add-tags.html. */
const longestTag = 25
const mostTags = 10

export const writeOptions = {
  automations: z
    .boolean()
    .optional()
    .describe('Whether the writes start the workflows, approvals and blueprints of the CRM. Default: false'),
  layout: z
    .string()
    .min(1)
    .max(100)
    .nullish()
    .describe('Id of the layout of created and updated records. The CRM drops fields that are not on it. Null: the layout is not named'),
  assignmentRule: z
    .string()
    .min(1)
    .max(100)
    .nullish()
    .describe('Id of the assignment rule that chooses the owner of created records. Null: none'),
  tags: z
    .array(z.string().trim().min(1).max(longestTag))
    .max(mostTags)
    .refine(tags => new Set(tags.map(tag => tag.toLowerCase())).size === tags.length, 'Name each tag once')
    .optional()
    .describe(`Names of tags that written records get, at most ${mostTags}. The records keep their other tags`),
}

export const routeOptions = {
  matchBy: z
    .enum(['query', 'snapshot', 'auto'])
    .optional()
    .describe('How rows find their records in runs that are started without `match`, such as those of schedules. Default: `query`'),
  writeBy: z
    .enum(['records', 'bulk', 'auto'])
    .optional()
    .describe(
      'How records are written in runs that are started without `write`, such as those of schedules. `bulk` and `auto` need `automations: true`, because it is not known whether bulk jobs run automations. Default: `records`',
    ),
}

type OptionFlow = Pick<Flow, 'fields' | 'match' | 'parent' | 'subform' | 'automations' | 'layout' | 'assignmentRule' | 'tags' | 'writeBy'>
type Layout = NonNullable<DiscoveredModule['layouts']>[number]

export const optionIssues = (flow: OptionFlow, module: DiscoveredModule | undefined): FlowIssue[] => {
  if (!module) return []
  const consent = consentIssues(flow)
  if (consent.length > 0) return consent
  const named = namedOptions(flow)
  if (module.hasWriteOptions === false) return named.map(name => issue([name], `This destination has no ${WORDS[name]}. Leave ${name} out`))
  if (flow.subform)
    return named
      .filter(name => name !== 'automations')
      .map(name => issue([name], `Rows of a subform have no ${WORDS[name]}. Set ${name} on the flow of their parents`))
  return [...layoutIssues(flow, module), ...ruleIssues(flow, module)]
}

/** A bulk job may or may not run automations, so its flow must allow automations. */
const consentIssues = ({writeBy, automations}: OptionFlow): FlowIssue[] =>
  (writeBy === 'bulk' || writeBy === 'auto') && !automations
    ? [issue(['writeBy'], 'Bulk jobs may run the automations of the CRM. Set automations: true, or write by record calls')]
    : []

const WORDS = {automations: 'automations', layout: 'layouts', assignmentRule: 'assignment rules', tags: 'tags'} as const

const namedOptions = ({automations, layout, assignmentRule, tags}: OptionFlow): (keyof typeof WORDS)[] => [
  ...(automations ? (['automations'] as const) : []),
  ...(layout != null ? (['layout'] as const) : []),
  ...(assignmentRule != null ? (['assignmentRule'] as const) : []),
  ...(tags?.length ? (['tags'] as const) : []),
]

const READ_AGAIN = 'Read the CRM again: POST /orgs/{org}/discovery/run'

const layoutIssues = (flow: OptionFlow, module: DiscoveredModule): FlowIssue[] => {
  if (flow.layout == null) return []
  const layout = findLayout(flow, module)
  if (!layout) {
    const known = module.layouts?.map(({id, name}) => `${name} (${id})`).join(', ')
    return [issue(['layout'], `${module.apiName} has no active layout ${flow.layout}. ${known ? `Choose one of ${known}` : READ_AGAIN}`)]
  }
  const isDropped = (name: string) => findDropped([name], layout, module).length > 0
  const lost = (flow.match?.by ?? []).flatMap((name, at) =>
    isDropped(name)
      ? [
          issue(
            ['match', 'by', at],
            `The layout ${layout.name} has no field ${name}, so no later row finds the record. Match by another field`,
          ),
        ]
      : [],
  )
  return flow.parent && isDropped(flow.parent.field)
    ? [...lost, issue(['parent', 'field'], `The layout ${layout.name} has no field ${flow.parent.field}, so the CRM drops the link`)]
    : lost
}

const ruleIssues = ({assignmentRule, fields}: OptionFlow, {apiName, assignmentRules}: DiscoveredModule): FlowIssue[] => {
  if (assignmentRule == null) return []
  if (!assignmentRules)
    return [
      issue(
        ['assignmentRule'],
        `The assignment rules of ${apiName} could not be read. Connect the CRM again and accept every scope, then run the discovery`,
      ),
    ]
  const owner = fields.findIndex(({field, mode, patch}) => field === 'Owner' && mode !== 'skip' && !patch)
  if (owner >= 0) return [issue(['assignmentRule'], 'The assignment rule chooses the owner. Remove the rule or the mapping of Owner')]
  if (assignmentRules.some(({id}) => id === assignmentRule)) return []
  const known = assignmentRules.map(({id, name}) => `${name} (${id})`).join(', ')
  return [
    issue(['assignmentRule'], `${apiName} has no assignment rule ${assignmentRule}. ${known ? `Choose one of ${known}` : 'Leave it out'}`),
  ]
}

/** `drops`: the mapped fields that the CRM would drop. `requires`: the fields that a create must fill. */
export type LayoutLimits = {name: string; drops: string[]; requires: string[]}

/** Returns null if the flow names no known layout. */
export const findLayoutLimits = (flow: OptionFlow, module: DiscoveredModule | undefined): LayoutLimits | null => {
  const layout = module && findLayout(flow, module)
  if (!layout) return null
  const {written, patched} = splitMappings(flow.fields)
  const mapped = [...written, ...patched.filter(({patch}) => !reachesUnwritten(patch!))].map(({field}) => field)
  const isFilledByPerson = ({apiName, creatable, readOnly, type, subform}: DiscoveredField) =>
    layout.required.includes(apiName) && creatable && !readOnly && type !== 'ownerlookup' && type !== 'boolean' && !subform
  return {
    name: layout.name,
    drops: findDropped(mapped, layout, module),
    requires: module.fields.filter(isFilledByPerson).map(({apiName}) => apiName),
  }
}

/** Whether a patch also goes to records that the flow did not write. Their layouts are unknown. */
const reachesUnwritten = ({when}: Patch) => when.includes('exists') || when.includes('skipped')

const findLayout = ({layout}: Pick<OptionFlow, 'layout'>, {layouts = []}: DiscoveredModule): Layout | undefined =>
  layouts.find(({id}) => id === layout)

/** Layouts do not list the owner, tags and subforms, which the CRM stores anyway. */
const findDropped = (names: string[], layout: Layout, {fields}: DiscoveredModule) =>
  names.filter(name => {
    const field = fields.find(({apiName}) => apiName === name)
    return field && !field.subform && !UNLISTED.has(name) && !layout.fields.includes(name)
  })

const UNLISTED = new Set(['Owner', 'Tag'])

/** Lists the mappings whose values a run leaves out because the flow's layout lacks the field. Such mappings do not prevent a run. */
export const optionWarnings = (flows: Flow[], modules: ReadonlyMap<string, DiscoveredModule>): FlowIssue[] =>
  flows.flatMap((flow, at) => {
    const limits = findLayoutLimits(flow, modules.get(flow.module))
    return (limits?.drops ?? []).map(name =>
      issue(
        [at, 'fields', flow.fields.findIndex(({field}) => field === name), 'field'],
        `The layout ${limits!.name} has no field ${name}, so the values are not written. Choose another layout, or add the field to it in the CRM`,
      ),
    )
  })
