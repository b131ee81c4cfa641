import type {LoadedImport} from '../imports/known.ts'
import {place} from '../state/place.ts'
import {filterIn, sourceWith} from './rows-query.ts'
import {isUnderWay, type Run} from './run.ts'
import type {Source, Tally} from './use-tally.ts'

/** Returns the newest 20 dry runs and the newest 200 other runs of the import, which `ImportFrame` has loaded. Newest first. */
export const runsOf = ({runs}: LoadedImport): Run[] => runs as unknown as Run[]

/**
 * Returns the id of the run to show: the run that the URL names, else the active run, else the newest. `dryRun` selects dry runs or other runs,
 * unless the URL names a run. Leaves out dry runs of undos and runs that were not started. Null if there is no run.
 */
export const chooseRun = (loadedImport: LoadedImport, {dryRun}: {dryRun: boolean}): string | null => {
  const named = place.value.query.get('run')
  if (named) return named
  const mine = runsOf(loadedImport).filter(run => run.dryRun === dryRun && run.state !== 'authorised' && !(dryRun && run.undoOf))
  return (mine.find(isUnderWay) ?? mine[0])?.id ?? null
}

/** Returns the newest ended dry run over all rows, or null. */
export const newestPreview = (loadedImport: LoadedImport): Run | null =>
  previewsOf(loadedImport).find(({endedAt}) => endedAt !== null) ?? null

/**
 * Whether a dry run still shows what a run over all rows would do. A run that ended after the dry run may have written the rows. A later dry run of
 * some rows does not make it outdated.
 */
export const isCurrentPreview = (loadedImport: LoadedImport, {id, stale}: Run): boolean =>
  stale === false &&
  newestPreview(loadedImport)?.id === id &&
  runsOf(loadedImport).find(run => run.endedAt !== null && !(run.dryRun && run.rows !== null && !run.retryOf && !run.undoOf))?.id === id

/** Returns the dry runs over all rows of the import, newest first. Dry runs of retries and undos are left out. */
export const previewsOf = (loadedImport: LoadedImport): Run[] =>
  runsOf(loadedImport).filter(run => run.dryRun && run.rows === null && run.retryOf === null && !run.undoOf)

/** Returns, for each flow with a file, the rows of the file and how many of them are excluded. */
export const readByFlows = ({import: {flows, sources}}: LoadedImport): {rows: number; struck: number}[] =>
  flows.flatMap(({sourceId}) => {
    const source = sources.find(({id}) => id === sourceId)
    return source ? [{rows: source.rows, struck: source.struck?.count ?? 0}] : []
  })

/**
 * Returns the file whose rows to show: the file that the URL names, else the first file with matching rows, else the first file. Undefined if there
 * is only one file.
 */
export const chooseSource = ({sources, groups}: Pick<Tally, 'sources' | 'groups'>): Source | undefined => {
  if (sources.length < 2) return undefined
  const filter = filterIn(place.value.query)
  const id = filter.source ?? sourceWith(groups, filter)
  return sources.find(source => source.id === id) ?? sources[0]
}
