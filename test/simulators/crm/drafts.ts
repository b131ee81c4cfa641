import {type Refusal, refusal} from './answers.ts'
import {invalidId, Problem} from './field-checks.ts'
import type {Field} from './fields.ts'
import {findLayout, isOnLayout, isRequiredBy, type Layout} from './layouts.ts'
import type {Module} from './modules.ts'
import {named, type Org, type User, userById} from './org.ts'
import type {Rec, Values} from './store.ts'
import {planRows, type RowPlan} from './subforms.ts'

/**
 * The user, time and rules of a write. `assignee`: the owner that an assignment rule chooses for new records. `source`: the source that the
 * timeline shows; by default a person who uses the CRM's pages.
 */
export type Write = {org: Org; user: User; at: number; zone: string; assignee?: User | null; source?: string}

/** A checked record: the values to store, and the problems for which it is refused, if any. */
export type Draft = {values: Values; owner: User | null; plans: RowPlan[]; problems: Refusal[]}

/** Checks one record: layout, types and lengths, mandatory fields, then uniqueness. */
export const draftRecord = (write: Write, module: Module, input: Values, rec: Rec | null, path: string): Draft => {
  const draft: Draft = {values: input, owner: null, plans: [], problems: []}
  const failed = new Set<string>()
  const dropped: string[] = []
  const layout = readLayout(write, module, input, path, draft)
  for (const key in input) {
    const field = module.fields.get(key)
    if (field && layout && write.org.switches.layoutDrops && !isOnLayout(layout, field)) dropped.push(key)
    else if (field === undefined || !(rec ? field.updatable : field.creatable)) {
      dropped.push(key)
      if (write.org.switches.strictFields && !isSideKey(key)) fail(draft, failed, key, path, unknownKey(field))
    } else if (field.type === 'subform' || field.type === 'multiselectlookup') {
      dropped.push(key)
      const plan = planRows(write, field, input[key], rec, `${path}.${key}`, draft.problems)
      if (plan) draft.plans.push(plan)
    } else {
      keep(draft, failed, field, path)
      if (key === 'Owner') dropped.push(key)
    }
  }
  if (typeof input.Owner === 'string') draft.owner = userById(write.org, input.Owner) ?? null
  if (rec && input.$append_values) appendValues(draft, rec, input.$append_values)
  checkMandatory(draft, failed, module, {input, rec, path, layout})
  if (dropped.length > 0) draft.values = without(input, dropped)
  if (layout) draft.values = {...draft.values, Layout: layout.id}
  checkUnique(draft, failed, module, rec, path)
  return draft
}

/** Returns one problem as it is and nests several in one refusal. */
export const combine = (problems: Refusal[]): Refusal =>
  problems.length === 1 ? problems[0]! : refusal('MULTIPLE_OR_MULTI_ERRORS', {errors: problems})

export const placed = (problem: Problem, name: string, path: string): Refusal =>
  refusal(problem.code, {...problem.details, api_name: name, json_path: `${path}.${name}`}, problem.message)

const keep = (draft: Draft, failed: Set<string>, field: Field, path: string) => {
  const {name} = field
  const value = draft.values[name]
  if (value === null || value === undefined) return
  if (value === '') {
    draft.values[name] = null
    return
  }
  const kept = field.check(value)
  if (kept instanceof Problem) fail(draft, failed, name, path, kept)
  else if (kept !== value) draft.values[name] = kept
}

const fail = (draft: Draft, failed: Set<string>, name: string, path: string, problem: Problem) => {
  failed.add(name)
  draft.problems.push(placed(problem, name, path))
}

/**
 * Returns the layout that the record names, or null. An unknown layout is a problem. With the switch `layoutDrops`, the caller drops fields
 * outside the layout.
 */
const readLayout = ({org}: Write, module: Module, {Layout: named}: Values, path: string, draft: Draft): Layout | null => {
  if (named === undefined || named === null) return null
  const layout = findLayout(org, module, named)
  if (!layout) draft.problems.push(refusal('INVALID_DATA', {api_name: 'Layout', json_path: `${path}.Layout`}, invalidId))
  return layout ?? null
}

type Checked = {input: Values; rec: Rec | null; path: string; layout: Layout | null}

const checkMandatory = (draft: Draft, failed: Set<string>, module: Module, {input, rec, path, layout}: Checked) => {
  const require = (field: Field) => {
    const isMissing =
      input[field.name] === null ||
      (rec === null && input[field.name] === undefined && field.spec.default === undefined) ||
      leavesNone(draft, field, rec)
    if (!isMissing || failed.has(field.name)) return
    failed.add(field.name)
    draft.problems.push(refusal('MANDATORY_NOT_FOUND', {api_name: field.name, json_path: `${path}.${field.name}`}))
  }
  for (const field of module.mandatory) require(field)
  if (!layout || rec) return
  for (const field of module.fields.values()) if (isRequiredBy(layout, field)) require(field)
}

/** Whether the write would leave the record without a row in the field. False if the write does not change rows of the field. */
const leavesNone = ({plans}: Draft, field: Field, rec: Rec | null) => {
  const plan = plans.find(one => one.field === field)
  return plan !== undefined && (rec?.rows?.get(field.name) ?? []).length - plan.removed.length + plan.added.length === 0
}

const checkUnique = (draft: Draft, failed: Set<string>, module: Module, rec: Rec | null, path: string) => {
  for (const {name} of module.uniques) {
    const value = draft.values[name]
    if (value === null || value === undefined || failed.has(name)) continue
    if (rec && rec.values[name] === value) continue
    const index = module.store.uniques.get(name)!
    const holder = index.first(value, rec ?? undefined)
    if (holder) draft.problems.push(duplicate(module, name, path, holder, index.count(value) > 1))
  }
}

const duplicate = (module: Module, name: string, path: string, holder: Rec, more: boolean) =>
  refusal('DUPLICATE_DATA', {
    api_name: name,
    json_path: `${path}.${name}`,
    id: holder.id,
    more_records: more,
    duplicate_record: {
      id: holder.id,
      Owner: {...named(holder.owner), zuid: holder.owner.zuid},
      module: {api_name: module.name, id: module.id},
    },
  })

const appendValues = (draft: Draft, rec: Rec, asked: unknown) => {
  if (typeof asked !== 'object' || asked === null) return
  for (const [name, on] of Object.entries(asked)) {
    const [before, added] = [rec.values[name], draft.values[name]]
    if (on === true && Array.isArray(before) && Array.isArray(added)) draft.values[name] = [...new Set([...before, ...added])]
  }
}

/** Whether the CRM accepts a key that is no field: a key with a special meaning, or one that reads return. */
const isSideKey = (key: string) => key === 'id' || key === 'Layout' || key === 'Tag' || key === '_delete' || key.startsWith('$')

const unknownKey = (field: Field | undefined) =>
  new Problem({}, field ? 'the field is read only' : 'the field api name given seems to be invalid')

const without = (values: Values, dropped: string[]): Values => {
  const kept: Values = {}
  for (const key in values) if (!dropped.includes(key)) kept[key] = values[key]
  return kept
}
