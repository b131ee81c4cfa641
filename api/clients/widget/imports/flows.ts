import {t} from '../text/mapping.ts'
import {type Field, isFillable, type Module} from './fields.ts'
import type {Flow, Mapping, Source} from './import.ts'
import {entriesOf, fold} from './value-entries.ts'

export const newFlowId = (flows: readonly Flow[], module: string): string => {
  const plain =
    module
      .toLowerCase()
      .replaceAll(/[^a-z0-9_-]/g, '_')
      .slice(0, 50) || 'flow'
  const taken = new Set(flows.map(({id}) => id))
  for (let n = 1; ; n++) {
    const id = n === 1 ? plain : `${plain}_${n}`
    if (!taken.has(id)) return id
  }
}

/** Adds a flow before the first flow whose module comes later in the order of the org, or at the end. */
export const placeFlow = (flows: Flow[], flow: Flow, modules: readonly Module[]): Flow[] => {
  const orderOf = ({module}: Flow) => modules.find(({apiName}) => apiName === module)?.order ?? null
  const order = orderOf(flow)
  const at = order === null ? -1 : flows.findIndex(one => (orderOf(one) ?? 0) > order)
  return at < 0 ? [...flows, flow] : flows.toSpliced(at, 0, flow)
}

/** Adds to edited flows the mappings that the API added to the flows as they were sent before the edit. */
export const addCompleted = (edited: Flow[], {sent, completed}: {sent: Flow[]; completed: Flow[]}): Flow[] =>
  edited.map(flow => {
    const known = [...flow.fields, ...(sent.find(({id}) => id === flow.id)?.fields ?? [])].map(({field}) => field)
    const added = completed.find(({id}) => id === flow.id)?.fields.filter(({field}) => !known.includes(field)) ?? []
    return added.length > 0 ? {...flow, fields: [...flow.fields, ...added]} : flow
  })

export const putMapping = (flow: Flow, mapping: Mapping): Flow => {
  const at = flow.fields.findIndex(({field}) => field === mapping.field)
  return {...flow, fields: at < 0 ? [...flow.fields, mapping] : flow.fields.with(at, mapping)}
}

/** Removes the mapping of a field, and the field from the match fields. */
export const dropMapping = (flow: Flow, field: string): Flow => {
  const rest = {...flow, fields: flow.fields.filter(one => one.field !== field)}
  if (!flow.match) return rest
  return withMatchFields(
    rest,
    flow.match.by.filter(name => name !== field),
  )
}

/** Sets the match fields. If `by` is empty, `match` is removed; the module's default match then applies, if there is one. */
export const withMatchFields = ({match, ...flow}: Flow, by: string[]): Flow => {
  if (by.length === 0) return flow
  return {...flow, match: {onOne: 'update', onMany: 'ask', ...match, by}}
}

/**
 * Whether the flow or the module's settings say what happens to existing records. A subform flow needs no decision, because its parent flow has
 * one.
 */
export const isMatchDecided = ({match, subform, module}: Flow, modules: readonly Module[]): boolean =>
  subform !== undefined || match !== undefined || Boolean(modules.find(({apiName}) => apiName === module)?.match)

/** Returns the required fields that neither a mapping nor the link to a parent fills. Fields that imports cannot write are left out. */
export const missingFields = ({fields, parent}: Flow, known: readonly Field[]): Field[] => {
  const written = new Set(fields.filter(({mode}) => mode !== 'skip').map(({field}) => field))
  return known.filter(field => field.required && isFillable(field) && !written.has(field.apiName) && parent?.field !== field.apiName)
}

/** Returns the required subforms of the flow's module that no flow fills. */
export const findMissingSubforms = ({id, subform}: Flow, flows: readonly Flow[], known: readonly Field[]): Field[] => {
  const filled = new Set(flows.flatMap(flow => (flow.subform?.parentFlow === id ? [flow.subform.field] : [])))
  return subform ? [] : known.filter(field => field.required && field.creatable && field.subform && !filled.has(field.apiName))
}

/** Returns the columns that neither a mapping nor a parent key reads. An expression may still read them as part of the row. */
export const unusedColumns = ({fields, parent, subform}: Flow, {columns}: Pick<Source, 'columns'>): string[] => {
  const keys = [parent?.key?.childColumn, subform?.key?.childColumn]
  const used = new Set([...fields.map(({mode, source}) => (mode === 'skip' ? null : source)), ...keys])
  return columns.map(({name}) => name).filter(name => !used.has(name))
}

const shared = ['field', 'mode', 'empty', 'patch'] as const
const converting = ['picklist', 'format', 'zone'] as const
const mapping = ['values', 'otherwise'] as const
const keysOf: Record<Mapping['mode'], readonly (keyof Mapping)[]> = {
  column: [...shared, ...mapping, ...converting, 'source', 'transform'],
  static: [...shared, ...converting, 'staticValue'],
  expression: [...shared, ...mapping, ...converting, 'source', 'transform'],
  search: [...shared, ...mapping, 'source', 'searchField', 'searchMethod', 'searchExpression', 'onNone', 'onMany'],
  skip: ['field', 'mode'],
}

/**
 * Keeps only the properties that the mode of a mapping uses, so that values typed for another mode are not sent. The older property `map`
 * becomes `values`.
 */
const tidyMapping = (given: Mapping): Mapping => {
  const values = entriesOf(given)
  const current = {...given, values, otherwise: values && given.otherwise, picklist: given.picklist === 'map' ? null : given.picklist}
  const kept = keysOf[given.mode].flatMap(key => {
    const value = current[key]
    return value === undefined || value === null || (value === '' && key !== 'staticValue') ? [] : [[key, value]]
  })
  return Object.fromEntries(kept) as Mapping
}

export const tidyFlow = ({filter, guard, ...flow}: Flow): Flow => ({
  ...flow,
  ...(filter?.trim() && {filter}),
  ...(guard?.trim() && {guard}),
  fields: flow.fields.map(tidyMapping),
})

export type Issue = {path: (string | number)[]; message: string; line?: number; column?: number}

/** Returns the issues at or below a path. Their new paths are relative to that path. */
export const issuesAt = (issues: readonly Issue[], ...place: (string | number)[]): Issue[] =>
  issues.filter(({path}) => place.every((part, at) => path[at] === part)).map(issue => ({...issue, path: issue.path.slice(place.length)}))

/** Formats an issue. An issue in an expression begins with the position: "Line 2, column 5: …". */
export const sayIssue = ({message, line, column}: Pick<Issue, 'message' | 'line' | 'column'>): string =>
  line === undefined ? message : t.lineColumn(line, column, message)

/** Returns the distinct values of a column that are not options of the picklist. Case and outer spaces are ignored. */
export const strangeWords = (cells: readonly string[], {picklist}: Pick<Field, 'picklist'>): string[] => {
  const known = new Set(picklist.flatMap(({actual, display}) => [actual, display]).map(fold))
  const found = new Map(cells.map(cell => [fold(cell), cell.trim()]))
  return [...found].filter(([word]) => word !== '' && !known.has(word)).map(([, cell]) => cell)
}

export const sayMapping = ({mode, source, staticValue, transform, searchField}: Mapping): string => {
  switch (mode) {
    case 'column':
      return source ? (transform ? t.changedColumn : t.ofColumn)(source) : t.noColumnYet
    case 'static':
      return staticValue ? t.always(staticValue) : t.noValueYet
    case 'expression':
      return transform ? t.anExpression : t.noExpressionYet
    case 'search':
      return source ? (searchField ? t.aRecordFoundIn(source, searchField) : t.aRecordFoundByColumn(source)) : t.aRecordFoundByASearch
    default:
      return t.notWritten
  }
}

/** Returns the modules of all lookup fields that a search fills. */
export const linkedModules = (flows: Flow[], fields: ReadonlyMap<string, Field[]> | undefined): string[] =>
  flows.flatMap(flow =>
    flow.fields.flatMap(({mode, field}) => {
      const link = mode === 'search' && fields?.get(flow.module)?.find(({apiName}) => apiName === field)?.lookup
      return link ? [link.module] : []
    }),
  )
