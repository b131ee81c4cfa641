import type {CrmRecord} from '../../../shared/crm/crm.ts'
import type {PlanKind, StepFacts} from '../../../shared/runs/sealed-plan/plan-step.ts'
import {shortHash} from '../../../shared/security/short-hash.ts'
import {listMakers} from '../../../sql/chain-rows.ts'
import type {Context} from '../context.ts'
import {isPlannedId} from '../dry-run/planned-ids.ts'
import {readById} from '../match/read-by-id.ts'
import type {CompiledFlow, ImportRow} from '../model.ts'
import type {Op} from '../settle/verdict.ts'

export type TargetRecords = ReadonlyMap<string, CrmRecord>

/** Whether the destination says when a record was last changed. If not, a dry run makes no plan that can be sealed. */
export const knowsChanges = ({run}: Pick<Context, 'run'>): boolean => run.connectorKind === 'zoho'

/** Reads when the targets were last changed. Costs one CRM call per hundred records. */
export const readTargets = (ctx: Context, flow: Pick<CompiledFlow, 'module'>, targets: (string | null)[]): Promise<TargetRecords> => {
  const ids = [...new Set(targets.filter(target => target !== null && !isPlannedId(target)))] as string[]
  return readById(ctx, flow, {ids, fields: ['Modified_Time']})
}

/**
 * Describes operations as steps of a plan. Records that the chain created have placeholder ids, so that a dry run and the run that applies its
 * plan describe the same operation alike.
 */
export const describeSteps = async (
  ctx: Context,
  kind: PlanKind,
  ops: Op[],
  records: TargetRecords,
): Promise<Map<ImportRow, StepFacts>> => {
  const nested = ops.flatMap(({row}) => (row.nested ?? []).flatMap(({rows}) => rows))
  const ids = [...ops.map(({row}) => row), ...nested].flatMap(({payload}) => Object.values(payload).flatMap(listLinks))
  const nameOf = await nameMakers(ctx, [...ids, ...ops.flatMap(({target}) => target ?? [])])
  return new Map(
    ops.map(({row, target}) => [
      row,
      {
        kind,
        target: target === null ? null : nameOf(target),
        valuesHash: hashValues(row, nameOf),
        modifiedAt: changedAt(records.get(target ?? '')),
      },
    ]),
  )
}

export const describeNested = async (ctx: Context, parent: ImportRow, rows: ImportRow[]): Promise<Map<ImportRow, StepFacts>> => {
  const target = `row:${parent.key}`
  const nameOf = await nameMakers(
    ctx,
    rows.flatMap(({payload}) => Object.values(payload).flatMap(listLinks)),
  )
  return new Map(rows.map(row => [row, {kind: 'nested', target, valuesHash: hashValues(row, nameOf), modifiedAt: null}]))
}

/** Returns the record's last change as an ISO 8601 time in UTC. Null: the time is unknown. */
export const changedAt = (record: CrmRecord | undefined): string | null => {
  const at = Date.parse(String(record?.Modified_Time))
  return Number.isNaN(at) ? null : new Date(at).toISOString()
}

type NameRecord = (id: string) => string

/** Returns a function that replaces the id of a record that the chain created or claimed by a placeholder id with the row key. */
const nameMakers = async ({db, chain, retried, run, snapshot}: Context, ids: string[]): Promise<NameRecord> => {
  const records = [...new Set(ids)].filter(id => !isPlannedId(id))
  // A dry run creates no records, so it has ids to replace only if it continues a chain.
  if (records.length === 0 || (run.dryRun && retried === null)) return id => id
  const modules = snapshot.modules.map(({no}) => no)
  const makers = await listMakers(db, {chains: [chain, retried ?? chain], modules, records})
  const names = new Map(makers.map(({recordId, key}) => [recordId, `row:${key}`]))
  return id => names.get(id) ?? id
}

/** Returns a hash of the values that the row and its nested rows write. The order of the fields does not matter. */
const hashValues = ({payload, nested = []}: Pick<ImportRow, 'payload' | 'nested'>, nameOf: NameRecord): string => {
  const fieldsOf = (values: ImportRow['payload']) =>
    Object.entries(values)
      .sort(byName)
      .map(([field, value]) => [field, nameLinks(value, nameOf)])
  const rows = nested.map(({flow, rows}) => [flow.no, rows.map(one => fieldsOf(one.payload))])
  return shortHash(JSON.stringify([fieldsOf(payload), rows])).toString('base64url')
}

const byName = ([one]: [string, unknown], [other]: [string, unknown]) => (one < other ? -1 : 1)

const isLink = (value: unknown): value is {id: unknown} => typeof value === 'object' && value !== null && 'id' in value

const listLinks = (value: unknown): string[] => (isLink(value) ? [String(value.id)] : [])

const nameLinks = (value: unknown, nameOf: NameRecord) => (isLink(value) ? {...value, id: nameOf(String(value.id))} : value)
