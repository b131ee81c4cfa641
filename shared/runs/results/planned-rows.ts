import type {Db} from '../../../sql/database.ts'
import {listSegments, PLAN_LIST, type Segment} from '../../../sql/segments.ts'
import type {Storage} from '../../storage/storage.ts'
import {itemsOf, readLines} from '../segment.ts'
import type {PlannedValues} from './planned-values.ts'

type PlannedRowsDeps = {db: Db; storage: Storage}
type Span = {least: number; most: number}

/** How many segments one reader keeps in memory. */
const mostOpen = 8
/** How many row spans the process caches. */
const mostSpans = 20_000
const readAtOnce = 8
const segmentsPerLook = 500

/** The first and last row of segments, by storage key. A segment never changes, so a cached span stays valid. */
const spans = new Map<string, Span>()

/** Opens the planned values of a dry run for reading row ranges in any order. If a step was planned twice, the later values are returned. */
export const openPlannedRows = (deps: PlannedRowsDeps, run: number) => {
  const open = new Map<string, PlannedValues[]>()
  let listed: Promise<Segment[]> | null = null
  const read = async (segment: Segment): Promise<PlannedValues[]> => {
    const known = open.get(segment.key)
    if (known) return known
    const values = itemsOf<PlannedValues>(await readLines(deps.storage, segment))
    remember(spans, segment.key, spanOf(values), mostSpans)
    remember(open, segment.key, values, mostOpen)
    return values
  }
  return {
    async between({from, to}: {from: number; to: number}): Promise<PlannedValues[]> {
      listed ??= listAll(deps, run)
      const latest = new Map<string, PlannedValues>()
      const wanted = (await listed).filter(({key}) => overlaps(spans.get(key), {from, to}))
      for (let at = 0; at < wanted.length; at += readAtOnce) {
        for (const values of await Promise.all(wanted.slice(at, at + readAtOnce).map(read))) {
          for (const one of values) if (one.row >= from && one.row <= to) latest.set(`${one.row} ${one.flow} ${one.phase}`, one)
        }
      }
      return [...latest.values()]
    },
  }
}

const overlaps = (span: Span | undefined, {from, to}: {from: number; to: number}) => !span || (span.least <= to && span.most >= from)

const spanOf = (values: PlannedValues[]): Span =>
  values.reduce(({least, most}, {row}) => ({least: Math.min(least, row), most: Math.max(most, row)}), {
    least: Number.POSITIVE_INFINITY,
    most: 0,
  })

const remember = <V>(map: Map<string, V>, key: string, value: V, most: number) => {
  map.set(key, value)
  if (map.size > most) map.delete(map.keys().next().value!)
}

const listAll = async ({db}: PlannedRowsDeps, run: number): Promise<Segment[]> => {
  const all: Segment[] = []
  for (let from = 1; ; from = all.at(-1)!.last + 1) {
    const page = await listSegments(db, {run, list: PLAN_LIST, from, limit: segmentsPerLook})
    all.push(...page)
    if (page.length < segmentsPerLook) return all
  }
}
