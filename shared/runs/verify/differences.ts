import type {Db} from '../../../sql/database.ts'
import {listSegments, type Segment, VERIFY_LIST} from '../../../sql/segments.ts'
import {listFieldCounts} from '../../../sql/verify-results.ts'
import type {Config} from '../../config.ts'
import {readCursor, writeCursor} from '../../security/cursor.ts'
import type {Storage} from '../../storage/storage.ts'
import {describeVerify} from '../describe-verify.ts'
import type {FoundRun} from '../find.ts'
import {assertKept, assertStillKept} from '../kept.ts'
import type {RunNames} from '../names.ts'
import {itemsOf, readLines} from '../segment.ts'
import type {Difference} from './difference.ts'
import {findVerifySeal} from './verify-seal.ts'

export type DifferenceDeps = {db: Parameters<typeof findVerifySeal>[0]['db']; storage: Storage; config: Pick<Config, 'SECRETS_KEYS'>}
/** `withRead`: whether the differences contain the values that the CRM held. */
export type DifferenceOptions = {withRead: boolean}
type Page = DifferenceOptions & {limit: number; cursor?: string | undefined}

const segmentsPerLook = 100

/** Returns the counts of a run's verification, and one page of the differing values in the order in which they were found. */
export const readVerify = async (deps: DifferenceDeps, {run, names}: FoundRun, {limit, cursor, withRead}: Page) => {
  const keys = deps.config.SECRETS_KEYS
  const list = `verify ${run.id}`
  const after = Number(readCursor(keys, list, cursor) ?? 0)
  assertKept(run)
  const fields = (await listFieldCounts(deps.db, run.no)).map(({flow, as_sent: asSent, ...counts}) => ({
    flowId: names.flows.find(({no}) => no === flow)?.id ?? null,
    asSent,
    ...counts,
  }))
  const page: Difference[] = []
  for await (const {differences} of readDifferences(deps, run, after)) {
    page.push(...differences)
    if (page.length > limit) break
  }
  if (page.length <= limit) await assertStillKept(deps.db, run.no)
  return {
    verify: describeVerify(run),
    fields,
    differences: page.slice(0, limit).map(difference => ({...describeDifference(difference, names), ...(!withRead && {read: null})})),
    nextCursor: page.length > limit ? writeCursor(keys, list, after + limit) : null,
  }
}

/** Yields the differing values after the line number `after`. Yields nothing if the run's key was deleted. */
export async function* readDifferences(
  {db, storage, config}: DifferenceDeps,
  run: FoundRun['run'],
  after = 0,
): AsyncGenerator<{differences: Difference[]}> {
  const seal = await findVerifySeal({db, ring: config.SECRETS_KEYS}, run)
  if (!seal) return
  for (let from = after + 1, segments: readonly Segment[] = []; ; from = segments.at(-1)!.last + 1) {
    segments = await listSegments(db as Db, {run: run.no, list: VERIFY_LIST, from, limit: segmentsPerLook})
    for (const segment of segments) {
      const items = itemsOf<Difference>(await readLines(storage, segment, seal.unseal))
      yield {differences: items.slice(Math.max(0, after + 1 - segment.first))}
    }
    if (segments.length < segmentsPerLook) return
  }
}

const describeDifference = ({row, key, flow, module, recordId, phase, field, result, sent, read}: Difference, names: RunNames) => ({
  rowNumber: row || null,
  rowKey: key,
  flowId: names.flows.find(({no}) => no === flow)?.id ?? null,
  module: names.modules.find(({no}) => no === module)?.apiName ?? '',
  recordId,
  phase,
  field,
  result,
  sent: textOf(sent),
  read: textOf(read),
})

/** Returns a value as text: a link by its id, a list by its items. Null for an empty value. */
export const textOf = (value: unknown): string | null => {
  if (value === null || value === undefined || value === '') return null
  if (Array.isArray(value)) return value.map(item => textOf(item) ?? '').join(';')
  if (typeof value === 'object') return 'id' in value ? String(value.id) : JSON.stringify(value)
  return String(value)
}
