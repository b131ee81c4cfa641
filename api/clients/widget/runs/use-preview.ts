import {useEffect, useRef} from 'preact/hooks'
import {useCheck} from '../imports/check-job.ts'
import type {LoadedImport} from '../imports/known.ts'
import {type Doing, useDoing} from '../state/load.ts'
import {client, inOrg, may} from '../state/session.ts'
import {isCurrentPreview, newestPreview, previewsOf, readByFlows} from './choose.ts'
import {isPartial, isUnderWay, type Run} from './run.ts'

/** The maximum number of rows for which a dry run starts automatically. A dry run uses CRM quota. */
const mostAutomatic = 10_000
/** The wait after an edit, so that edits in quick succession are checked together. */
const settleMs = 1_500

export type Preview = {
  check: ReturnType<typeof useCheck> & {isStale: boolean}
  dryRun: Doing<[]>
  /** The newest dry run over all rows that has ended. */
  ended: Run | null
  active: Run | null
  isBusy: boolean
  /** Whether `ended` is missing, out of date or partial, so that a new dry run would show more. */
  isStale: boolean
  isLarge: boolean
}

/**
 * Keeps the check and the dry run of an import current. For operators, both start automatically when they are missing or out of date. A dry run
 * of a large import starts only on request.
 */
export const usePreview = (loadedImport: LoadedImport): Preview => {
  const {import: found, checks, again} = loadedImport
  const check = useCheck(loadedImport)
  const dryRun = useDoing(async () => {
    await client.post(inOrg(`/imports/${found.id}/runs`), {dryRun: true})
    await again()
  })
  const active = previewsOf(loadedImport).find(isUnderWay) ?? null
  const ended = newestPreview(loadedImport)
  const isCheckStale = !checks || checks.checks.endedAt === null || checks.checks.stale
  const isOutdated = ended === null || !isCurrentPreview(loadedImport, ended)
  const isStale = isOutdated || isPartial(ended)
  const rows = readByFlows(loadedImport).reduce((sum, {rows, struck}) => sum + rows - struck, 0)
  const isLarge = rows > mostAutomatic && isStale
  const version = JSON.stringify([
    found.version,
    found.flows,
    found.sources.map(({id, reader, cleaning, choices}) => [id, reader, cleaning, choices]),
  ])
  // Each version of the import starts at most one check and one dry run, so that a failing check or dry run does not repeat endlessly.
  const begun = useRef({check: '', dryRun: ''})
  const mayBegin = may('operator') && found.state !== 'running'
  useEffect(() => {
    if (!mayBegin) return
    const wantsCheck = isCheckStale && !check.isBusy && begun.current.check !== version
    // A stopped dry run is repeated only on request, because the cause of the stop may remain.
    const wantsDryRun = isOutdated && !isLarge && !active && !dryRun.isBusy && begun.current.dryRun !== version
    if (!wantsCheck && !wantsDryRun) return
    const isFirst = begun.current.check === '' && begun.current.dryRun === ''
    const timer = setTimeout(
      () => {
        if (wantsCheck) {
          begun.current.check = version
          check.start.run()
        }
        if (wantsDryRun) {
          begun.current.dryRun = version
          dryRun.run()
        }
      },
      isFirst ? 0 : settleMs,
    )
    return () => clearTimeout(timer)
  }, [version, mayBegin, isCheckStale, isOutdated, isLarge, check.isBusy, active?.id, dryRun.isBusy])
  return {
    check: {...check, isStale: isCheckStale},
    dryRun,
    ended,
    active,
    isBusy: check.isBusy || dryRun.isBusy || active !== null,
    isStale,
    isLarge,
  }
}
