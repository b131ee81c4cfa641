import type {Client, Json} from '../../http.ts'
import type {CaseRecords} from './case.ts'
import {type Difference, differ, show} from './difference.ts'

/** The CRM org of a case. `key`: the name of the org at the stand-in. `modules`: the modules of its discovery. */
export type CrmOrg = {crm: Client; key: string; modules: Json[]}

/**
 * Replaces all records of the stand-in with the records of the case. A text in a lookup field names an earlier record of the case. Returns a
 * difference for each record or module that cannot be written.
 */
export const writeRecords = async (org: CrmOrg, records: CaseRecords): Promise<Difference[]> => {
  await org.crm.post('/__sim/clear')
  const ids = new Map<string, string>()
  const differences: Difference[] = []
  for (const [module, list] of Object.entries(records)) {
    const described = org.modules.find(({apiName}) => apiName === module)
    if (!described) {
      differences.push(differ(`The CRM has no module ${module}, so the records of the case cannot be created`, {module}))
      continue
    }
    const filled = list.map(record => withIds(described, record, ids))
    const entries: Json[] = await org.crm.post('/__sim/records', {org: org.key, module, records: filled})
    for (const [at, {status, code, message, details}] of entries.entries()) {
      if (status === 'success') ids.set(nameKey(module, list[at]![described.namingField]), details.id)
      else differences.push(refused(module, at + 1, {code, message, details}))
    }
  }
  return differences
}

const refused = (module: string, number: number, {code, message, details}: Json): Difference => {
  const field = details?.api_name ?? details?.errors?.[0]?.details?.api_name ?? null
  return differ(`record ${number} of the case cannot be created: ${message} (${code})`, {module, field})
}

const nameKey = (module: string, name: unknown) => `${module} ${name}`

const withIds = ({fields}: Json, record: Json, ids: ReadonlyMap<string, string>): Json =>
  Object.fromEntries(
    Object.entries(record).map(([name, value]) => {
      const target = fields.find(({apiName}: Json) => apiName === name)?.lookup?.module
      const id = target && typeof value === 'string' ? ids.get(nameKey(target, value)) : undefined
      return [name, id === undefined ? value : {id}]
    }),
  )

/** Compares all records of the named modules. Only the fields that the case lists are compared. */
export const compareRecords = async ({crm, key, modules}: CrmOrg, expected: CaseRecords): Promise<Difference[]> => {
  const differences: Difference[] = []
  for (const [module, wanted] of Object.entries(expected)) {
    if (!modules.some(({apiName}) => apiName === module)) differences.push(differ(`The CRM has no module ${module}`, {module}))
    else differences.push(...compareModule(module, wanted, await crm.get('/__sim/records', {org: key, module})))
  }
  return differences
}

/** Pairs each other expected record with the most similar unpaired record. Reports differing fields and unpaired records. */
const compareModule = (module: string, wanted: Json[], found: Json[]): Difference[] => {
  const equal = pairEqual(wanted, found)
  const matched = new Set(equal.values())
  const left = new Set(found.filter(record => !equal.has(record)))
  const differences: Difference[] = []
  for (const record of wanted.filter((_, at) => !matched.has(at))) {
    const [best] = [...left].toSorted((one, other) => likeness(record, other) - likeness(record, one))
    if (!best || likeness(record, best) === 0) {
      differences.push(differ(`a record is missing: ${show(record)}`, {module}))
      continue
    }
    left.delete(best)
    for (const [field, value] of Object.entries(record))
      if (!isSame(value, best[field]))
        differences.push(differ(`${show(shown(best[field]))} instead of ${show(value)} in ${nameOf(record)}`, {module, field}))
  }
  for (const record of left) differences.push(differ(`an unexpected record: ${show(written(record))}`, {module}))
  return differences
}

/** Pairs as many expected records as possible with a record that has all their fields. Returns the position of the expected record by record. */
const pairEqual = (wanted: Json[], found: Json[]): Map<Json, number> => {
  const pairs = new Map<Json, number>()
  // Augmenting paths: an expected record may take a record that is paired already, if the other expected record can be paired with another one.
  const pair = (at: number, tried: Set<Json>): boolean =>
    found.some(other => {
      if (tried.has(other) || likeness(wanted[at], other) < Object.keys(wanted[at]).length) return false
      tried.add(other)
      if (pairs.has(other) && !pair(pairs.get(other)!, tried)) return false
      pairs.set(other, at)
      return true
    })
  for (const at of wanted.keys()) pair(at, new Set())
  return pairs
}

const likeness = (wanted: Json, found: Json) => Object.entries(wanted).filter(([field, value]) => isSame(value, found[field])).length

/** A lookup is compared by the name of its record. */
export const isSame = (wanted: unknown, found: unknown): boolean =>
  JSON.stringify(wanted ?? null) === JSON.stringify(found ?? null) || (typeof wanted === 'string' && wanted === shown(found))

const shown = (value: Json): unknown => (value && typeof value === 'object' && 'name' in value ? value.name : value)

const nameOf = (record: Json) => show(Object.values(record)[0])

const system = /^(id|\$|Owner$|Created_|Modified_|Record_Status__s$|Locked__s$|Layout$)/

const written = (record: Json) =>
  Object.fromEntries(
    Object.entries(record).flatMap(([name, value]) =>
      value === null || value === false || system.test(name) ? [] : [[name, shown(value)]],
    ),
  )
