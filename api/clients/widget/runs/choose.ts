import type {Known} from '../imports/known.ts'
import {place} from '../state/place.ts'
import {filterIn, sourceWith} from './rows-query.ts'
import {isUnderWay, type Run} from './run.ts'
import type {Source, Tally} from './use-tally.ts'

/** The runs of an import as far as its frame has read them: the newest 20. */
export const runsOf = ({runs}: Known): Run[] => (runs ?? []) as unknown as Run[]

/** The run a page shows: the one its address names, else the one under way, else the newest. */
export const chooseRun = (known: Known, {dryRun}: {dryRun: boolean}): string | null => {
  const named = place.value.query.get('run')
  if (named) return named
  const mine = runsOf(known).filter(run => run.dryRun === dryRun && run.state !== 'authorised')
  return (mine.find(isUnderWay) ?? mine[0])?.id ?? null
}

/** By flow the file it reads, as a run would now. */
export const readByFlows = ({import: {flows, sources}}: Known): {rows: number; struck: number}[] =>
  flows.flatMap(({sourceId}) => {
    const source = sources.find(({id}) => id === sourceId)
    return source ? [{rows: source.rows, struck: source.struck?.count ?? 0}] : []
  })

/** The file whose rows a page shows: the one its address names, else the first with rows that fit. Undefined where the run read but one. */
export const chooseSource = ({sources, groups}: Pick<Tally, 'sources' | 'groups'>): Source | undefined => {
  if (sources.length < 2) return undefined
  const filter = filterIn(place.value.query)
  const id = filter.source ?? sourceWith(groups, filter)
  return sources.find(source => source.id === id) ?? sources[0]
}
