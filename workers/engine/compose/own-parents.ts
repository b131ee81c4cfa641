import type {SnapshotLookup} from '../../../shared/mapping/flows/lookups.ts'
import {rulesAt, rulesOf} from '../../../shared/mapping/flows/rules.ts'
import type {SnapshotFlow, SnapshotSource} from '../../../shared/mapping/flows/snapshot.ts'
import type {Rules} from '../../../shared/mapping/flows/value.ts'
import {type MappedValue, mapValue, type ValueMap, valueMapOf} from '../../../shared/mapping/flows/value-map.ts'
import {findRecordsOf} from '../../../sql/chain-rows.ts'
import {findParentRows, keepParentKeys} from '../../../sql/parent-keys.ts'
import {listEnds, OUTCOMES} from '../../../sql/run-log.ts'
import type {LookupAnswer} from '../../../sql/run-lookups.ts'
import type {Context} from '../context.ts'
import type {CompiledFlow, FlowField, PendingLink} from '../model.ts'
import {readChunks} from '../read/read-rows.ts'
import {answerOf, digestOf, readSearchText} from './lookups.ts'
import {describeEnd} from './parents.ts'

/**
 * The result for a value that the search did not find, but that rows of an earlier flow have. `answer`: the records of these rows. `why`: the reason
 * why the first of these rows has no record, if none of them has one.
 */
export type OwnParent = {answer: LookupAnswer} | {why: string}

/** An earlier flow that writes the searched module and fills the searched field from a column. */
type ParentFlow = {
  no: number
  id: string
  moduleNo: number
  source: SnapshotSource
  column: number
  field: FlowField
  values: ValueMap | undefined
  rules: Rules
}

/**
 * Finds the rows that have the values of these links, in the first earlier flow that fills the searched field. A search misses the record
 * of a row if the record was not written, or if the CRM does not show it yet. Reads the file of the earlier flow, so pass only values for
 * which a search found nothing.
 */
export const findOwnParents = async (ctx: Context, flow: CompiledFlow, wants: PendingLink[]): Promise<Map<PendingLink, OwnParent>> => {
  const found = new Map<PendingLink, OwnParent>()
  for (const [lookup, mine] of Map.groupBy(wants, ({link}) => link.lookup)) {
    const parent = findParentFlow(ctx, flow, lookup)
    const keyed = mine.flatMap(want => (want.digest === null ? [] : [{want, hash: Buffer.from(want.digest, 'latin1')}]))
    if (!parent || keyed.length === 0) continue
    await indexOnce(ctx, parent, lookup)
    const rows = await findParentRows(ctx.hot, {run: ctx.run.no, flow: indexNo(lookup), hashes: keyed.map(({hash}) => hash)})
    const numbers = Map.groupBy(rows, ({hash}) => hash.toString('latin1'))
    const records = await readRecords(
      ctx,
      parent,
      rows.map(({number}) => number),
    )
    for (const {want} of keyed) {
      const own = (numbers.get(want.digest!) ?? []).map(({number}) => number)
      if (own.length === 0) continue
      const ids = own.flatMap(number => records.get(number) ?? [])
      if (ids.length > 0) found.set(want, {answer: answerOf(ids)})
      else found.set(want, {why: await describeParent(ctx, parent, lookup, own[0]!)})
    }
  }
  return found
}

const findParentFlow = ({snapshot}: Context, {no}: CompiledFlow, {module, field}: SnapshotLookup): ParentFlow | null => {
  const at = snapshot.flows.findIndex(flow => flow.no === no)
  for (const {flow, ...numbers} of snapshot.flows.slice(0, at)) {
    const mapping = flow.subform || flow.module !== module ? undefined : findColumnMapping(flow, field.apiName)
    const source = snapshot.sources.find(one => one.no === numbers.sourceNo)!
    if (mapping?.source == null) continue
    const rules = rulesOf(mapping, source.readings?.[mapping.source] ?? {})
    const written = snapshot.modules.find(one => one.no === numbers.moduleNo)!.fields.find(({apiName}) => apiName === field.apiName)!
    const filled = {column: source.columns.indexOf(mapping.source), field: written, values: valueMapOf(mapping), rules}
    return {no: numbers.no, id: flow.id, moduleNo: numbers.moduleNo, source, ...filled}
  }
  return null
}

const findColumnMapping = ({fields}: SnapshotFlow['flow'], name: string) =>
  fields.find(({field, mode, transform, patch}) => field === name && mode === 'column' && !transform && !patch)

/** Lookups have negative numbers in the index of parent keys, where flows have positive ones. */
const indexNo = ({no}: SnapshotLookup) => -no

const indexed = new WeakMap<object, Map<number, Promise<void>>>()

/**
 * Indexes the column of the parent flow in the database, once per lookup and owner of the run. A new owner indexes the column again, which
 * changes nothing.
 */
const indexOnce = (ctx: Context, parent: ParentFlow, lookup: SnapshotLookup): Promise<void> => {
  const mine = indexed.get(ctx.lookups) ?? new Map<number, Promise<void>>()
  indexed.set(ctx.lookups, mine)
  const index = mine.get(lookup.no) ?? indexColumn(ctx, parent, lookup)
  mine.set(lookup.no, index)
  return index
}

const indexColumn = async (ctx: Context, {source, column, field, values, rules}: ParentFlow, lookup: SnapshotLookup) => {
  for await (const rows of readChunks(ctx, {source})) {
    ctx.signal.throwIfAborted()
    const keyed = rows.flatMap(row => {
      const {struck, ragged, rowNumber: number, cells} = row
      const cell = cells[column] ?? ''
      const {value, isMapped}: MappedValue = values ? mapValue(cell, field, values) : {value: cell}
      const read = readSearchText(String(value), lookup, isMapped ? {...rules, reading: undefined} : rulesAt(rules, row, column))
      const digest = struck === undefined && !ragged && read.ok ? digestOf(String(read.value), lookup) : null
      return digest === null ? [] : [{hash: Buffer.from(digest, 'latin1'), number}]
    })
    const [hashes, numbers] = [keyed.map(({hash}) => hash), keyed.map(({number}) => number)]
    if (keyed.length) await keepParentKeys(ctx.hot, {run: ctx.run.no, flow: indexNo(lookup), hashes, numbers})
  }
}

const readRecords = async ({hot, chain, retried}: Context, {id, moduleNo}: ParentFlow, numbers: number[]) => {
  const keyed = new Map(numbers.map(number => [`${id}.${number}`, number]))
  if (keyed.size === 0) return new Map<number, string>()
  const found = await findRecordsOf(hot, {chain, before: retried ?? chain, module: moduleNo, keys: [...keyed.keys()]})
  return new Map(found.map(({key, recordId}) => [keyed.get(key)!, recordId]))
}

const describeParent = async ({db, run}: Context, {no, id}: ParentFlow, {field}: SnapshotLookup, number: number): Promise<string> => {
  const [end] = await listEnds(db, {run: run.no, flow: no, numbers: [number]})
  const why = describeEnd(end && {outcome: OUTCOMES[end.outcome]!, code: end.code})
  return `Row ${number} of flow ${id} has this ${field.apiName}. It ${why} and has no record`
}
