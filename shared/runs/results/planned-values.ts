import type {Db} from '../../../sql/database.ts'
import {listSegments, PLAN_LIST, type Segment} from '../../../sql/segments.ts'
import type {Storage} from '../../storage/storage.ts'
import type {StepFacts} from '../sealed-plan/plan-step.ts'
import {itemsOf, readLines} from '../segment.ts'
import {openRowSort} from './row-sort.ts'

/** `changes`: the fields of one record that a dry run would change for one row. `step`: what a sealed plan stores about the row. */
export type PlannedValues = {
  row: number
  flow: number
  phase: 'write' | 'patch'
  changes: [field: string, old: string, now: string][]
  step?: StepFacts
}

const segmentsPerLook = 100

type StoredValues = PlannedValues & {piece: number}
type PlannedValuesQuery = {run: number; flows: ReadonlySet<number>}

/** Yields planned values in row order. If a step was planned again after a takeover, yields only the later values. */
export async function* readPlannedValues(
  {db, storage}: {db: Db; storage: Storage},
  {run, flows}: PlannedValuesQuery,
): AsyncGenerator<PlannedValues[]> {
  const sorting = openRowSort<StoredValues>({compare, sizeOf})
  try {
    for (let from = 1, segments: readonly Segment[] = []; ; from = segments.at(-1)!.last + 1) {
      segments = await listSegments(db, {run, list: PLAN_LIST, from, limit: segmentsPerLook})
      for (const segment of segments) {
        const values = itemsOf<PlannedValues>(await readLines(storage, segment)).filter(({flow}) => flows.has(flow))
        await sorting.add(values.map(one => ({...one, piece: segment.first})))
      }
      if (segments.length < segmentsPerLook) break
    }
    let last: StoredValues | null = null
    for await (const sorted of sorting.sorted()) {
      const fresh: PlannedValues[] = []
      for (const one of sorted) {
        if (!last || !isSame(last, one)) fresh.push(one)
        last = one
      }
      yield fresh
    }
  } finally {
    await sorting.close()
  }
}

const phaseNo = ({phase}: PlannedValues) => Number(phase === 'patch')
const isSame = (a: PlannedValues, b: PlannedValues) => a.row === b.row && a.flow === b.flow && a.phase === b.phase
const compare = (a: StoredValues, b: StoredValues) => a.row - b.row || a.flow - b.flow || phaseNo(a) - phaseNo(b) || b.piece - a.piece
const sizeOf = ({changes}: StoredValues) =>
  changes.reduce((sum, texts) => sum + texts.reduce((size, {length}) => size + length + 16, 0), 200)
