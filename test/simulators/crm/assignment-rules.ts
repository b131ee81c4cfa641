import {type Answer, CallRefused, nothing, ok, refuse} from './answers.ts'
import type {Call} from './call.ts'
import type {Module} from './modules.ts'
import {named, namedId, type Org, type User, userByEmail} from './org.ts'
import {formatInstant} from './zones.ts'

/** The standard modules that can have assignment rules. Custom modules can have them too. */
const supported = ['Leads', 'Contacts', 'Accounts', 'Deals']

/** Lists the rules of a module. Source: the vendor's OpenAPI of assignment rules. */
export const listAssignmentRules = (call: Call): Answer => {
  const {org, query, user} = call
  const name = query.get('module')
  if (!name) throw new CallRefused(refuse(400, 'REQUIRED_PARAM_MISSING', {param: 'module'}))
  const module = org.modules.get(name)
  if (!module) throw new CallRefused(refuse(400, 'INVALID_MODULE', {param_name: 'module'}))
  if (!supported.includes(name) && module.spec.kind !== 'custom')
    throw new CallRefused(refuse(400, 'NOT_SUPPORTED', {param_name: 'module'}, 'Module not supported in assignment rules'))
  const rules = (module.spec.assignmentRules ?? []).map(rule => ({
    id: ruleId(org, module, rule.name),
    name: rule.name,
    api_name: rule.name.replaceAll(' ', '_'),
    description: '',
    module: {api_name: module.name, id: module.id},
    default_assignee: named(assigneeOf(org, rule.assignTo)),
    created_by: named(org.users[0]!),
    created_time: formatInstant(0, user.timeZone),
    modified_by: named(org.users[0]!),
    modified_time: formatInstant(0, user.timeZone),
  }))
  return rules.length === 0 ? nothing() : ok({assignment_rules: rules})
}

export const ruleId = (org: Org, module: Module, name: string) => namedId(org, `assignment rule ${module.name} ${name}`)

/** Returns the owner that the rule `lar_id` of a write chooses, or null if the write names no rule. Throws if the module has no such rule. */
export const readAssignee = ({org}: Call, module: Module, id: unknown): User | null => {
  if (id === undefined || id === null) return null
  const rule = (module.spec.assignmentRules ?? []).find(({name}) => ruleId(org, module, name) === id)
  if (rule) return assigneeOf(org, rule.assignTo)
  throw new CallRefused(refuse(400, 'INVALID_DATA', {api_name: 'lar_id', json_path: '$.lar_id'}, 'the id given seems to be invalid'))
}

const assigneeOf = (org: Org, email: string): User => {
  const user = userByEmail(org, email)
  if (!user) throw new TypeError(`No such user: ${email}`)
  return user
}
