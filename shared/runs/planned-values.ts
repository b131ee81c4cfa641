import type {Db} from '../../sql/database.ts'
import {listSegments, PLAN_LIST, type Segment} from '../../sql/segments.ts'
import {openSorting} from '../imports/row-sort.ts'
import type {Storage} from '../storage.ts'
import {itemsOf, readLines} from './segment.ts'

/** What a dry run would write to one record of one row: each field with what the record has and what it would get, where that differs. */
export type PlannedValues = {row: number; flow: number; phase: 'write' | 'patch'; changes: [field: string, old: string, now: string][]}

const segmentsPerLook = 100

type Kept = PlannedValues & {piece: number}
type Of = {run: number; flows: ReadonlySet<number>}

/** In the order of the rows, each once: of a step planned again by another owner of the run, as that one planned it. */
export async function* readPlannedValues({db, storage}: {db: Db; storage: Storage}, {run, flows}: Of): AsyncGenerator<PlannedValues[]> {
  const sorting = openSorting<Kept>({compare, sizeOf})
  try {
    for (let from = 1, segments: readonly Segment[] = []; ; from = segments.at(-1)!.last + 1) {
      segments = await listSegments(db, {run, list: PLAN_LIST, from, limit: segmentsPerLook})
      for (const segment of segments) {
        const values = itemsOf<PlannedValues>(await readLines(storage, segment)).filter(({flow}) => flows.has(flow))
        await sorting.add(values.map(one => ({...one, piece: segment.first})))
      }
      if (segments.length < segmentsPerLook) break
    }
    let last: Kept | null = null
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
const compare = (a: Kept, b: Kept) => a.row - b.row || a.flow - b.flow || phaseNo(a) - phaseNo(b) || b.piece - a.piece
const sizeOf = ({changes}: Kept) => changes.reduce((sum, texts) => sum + texts.reduce((size, {length}) => size + length + 16, 0), 200)
