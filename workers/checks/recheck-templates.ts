import {isDeepStrictEqual} from 'node:util'
import type {DiscoveredModule, DiscoveryDiff} from '../../shared/crm/discovered.ts'
import {Refusal} from '../../shared/errors.ts'
import type {CheckProblem} from '../../shared/mapping/checks/problem.ts'
import {type Flow, Flows} from '../../shared/mapping/flows/flow.ts'
import {announce} from '../../shared/notifications/announce.ts'
import {findLatestDiscovery, listDiscoveredModules} from '../../sql/discoveries.ts'
import {listChangesSince, listRecheckable, type RecheckProblem, replaceRecheck} from '../../sql/template-rechecks.ts'
import type {Work} from '../worker.ts'
import {runCheck} from './check.ts'

/**
 * The limits of one job: templates, rows of an import that is checked, and stored problems per template. They are low, because no person
 * waits for the result.
 */
const [mostTemplates, mostRows, mostProblems] = [20, 500_000, 50]

/**
 * Repeats the check of the newest import of each template that uses the connection, for the 20 templates used last. Stores the errors and warnings
 * that changes of modules or fields since that import may have caused. Leaves out an import if none of its modules and searched fields changed, if it
 * is large, or if its flows differ from the template's.
 */
export const recheckTemplates = async (work: Work, {org, connector}: {org: string; connector: string}) => {
  const answer = {templates: 0, broken: 0}
  const newest = await findLatestDiscovery(work.db, connector)
  const modules = newest ? await listDiscoveredModules(work.db, newest.id) : []
  for (const template of await listRecheckable(work.db, {org, connector, limit: mostTemplates})) {
    const changed = changedFields(await listChangesSince(work.db, {connector, since: template.madeAt}))
    const flows = rulesOf(template.flows)
    const searches = changedSearches(flows, modules, changed)
    if (template.rows > mostRows || !(searches.length > 0 || flows.some(({module}) => changed.has(module)))) continue
    if (!isDeepStrictEqual(flows, rulesOf(template.importFlows))) continue
    const checked = await checkOrSkip(work, {org, importId: template.importId})
    if (!checked) continue
    const problems = checked.problems.flatMap(problem => brokenBy(problem, changed, searches)).slice(0, mostProblems)
    await keep(work, {org, connector, template, ...checked, problems})
    answer.templates += 1
    if (problems.length > 0) answer.broken += 1
  }
  return answer
}

/**
 * Returns the flows without their files, so that they can be compared. A template's flow names its file by slot, and an import's flow names it by
 * source id.
 */
const rulesOf = (flows: readonly unknown[]) => Flows.parse(flows).map(({sourceId: _, ...flow}) => flow)

/** Returns null if the check is refused, for example because the import was deleted or its file is gone. */
const checkOrSkip = async (work: Work, ref: {org: string; importId: string}) => {
  try {
    return await runCheck(work, ref)
  } catch (error) {
    if (error instanceof Refusal) return null
    throw error
  }
}

/**
 * The changed fields by module. `all`: the module was added or removed, or more than its labels changed. Then any problem of the module may come
 * from that change.
 */
type ChangedFields = Map<string, {all: boolean; fields: Set<string>}>

const changedFields = (diffs: readonly DiscoveryDiff[]): ChangedFields => {
  const changed: ChangedFields = new Map()
  const of = (module: string) => {
    const known = changed.get(module) ?? {all: false, fields: new Set<string>()}
    changed.set(module, known)
    return known
  }
  for (const {added, removed, changed: modules} of diffs) {
    for (const module of [...added, ...removed]) of(module).all = true
    for (const {module, changes, fields} of modules) {
      const known = of(module)
      if (changes.some(({what}) => !['label', 'singular'].includes(what))) known.all = true
      for (const name of [...fields.added, ...fields.removed, ...fields.changed.map(({field}) => field)]) known.fields.add(name)
    }
  }
  return changed
}

/** Names a mapping with the mode `search`: the id of its flow, and the lookup field that it fills. */
type Search = {flow: string; field: string}

/** Lists the search mappings whose searched module or field changed. */
const changedSearches = (flows: Pick<Flow, 'id' | 'module' | 'fields'>[], modules: readonly DiscoveredModule[], changed: ChangedFields) =>
  flows.flatMap(({id, module, fields}) => {
    const known = modules.find(({apiName}) => apiName === module)
    return fields.flatMap(({mode, field, searchField}): Search[] => {
      const target = mode === 'search' ? known?.fields.find(({apiName}) => apiName === field)?.lookup?.module : undefined
      const change = target === undefined ? undefined : changed.get(target)
      const searched = searchField ?? modules.find(({apiName}) => apiName === target)?.namingField
      return change && (change.all || change.fields.has(searched ?? '')) ? [{flow: id, field}] : []
    })
  })

/** Kinds of problems of a whole flow that a change in the CRM can cause. Other kinds come from the file, its rows or an administrator. */
const FLOW_KINDS = new Set(['module_missing', 'read_only', 'required', 'option_missing', 'flow', 'parent_flow'])

const brokenBy = (
  {severity, kind, flow, module, field, count, rows, fix}: CheckProblem,
  changed: ChangedFields,
  searches: Search[],
): RecheckProblem[] => {
  if (module === null || severity === 'info') return []
  const known = changed.get(module)
  const isOwn = known && (field === null ? FLOW_KINDS.has(kind) : known.all || known.fields.has(field))
  const isSearch = kind === 'flow' && searches.some(one => one.flow === flow && one.field === field)
  if (!isOwn && !isSearch) return []
  return [{severity, kind, flow, module, field, rows: rows.length > 0 ? count : null, fix}]
}

type KeepInput = {
  org: string
  connector: string
  template: {id: string; version: number; importId: string}
  discovery: string
  rows: number
  problems: RecheckProblem[]
}

/** Stores the result, and announces its problems in the same transaction unless the previous result had the same problems. */
const keep = ({db}: Work, {org, connector, template, discovery, rows, problems}: KeepInput) =>
  db.transaction(async tx => {
    const isNew = await replaceRecheck(tx, {template, discovery, importId: template.importId, rows, problems})
    if (!isNew || problems.length === 0) return
    const affected = Math.max(0, ...problems.map(({rows: count}) => count ?? 0))
    const about = {template: template.id, connection: connector, discovery, import: template.importId, problems: problems.length}
    await announce(tx, {org, kind: 'template.broken', schedule: null, about: {...about, rows, affectedRows: affected}})
  })
