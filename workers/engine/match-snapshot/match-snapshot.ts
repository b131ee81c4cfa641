import {setImmediate as yieldNow} from 'node:timers/promises'
import {readExportedRecords} from '../../../shared/crm/bulk/exported-records.ts'
import {CrmError, type CrmRecord} from '../../../shared/crm/crm.ts'
import type {ModuleChanges} from '../../../shared/crm/record-changes.ts'
import {deleteExports, listExportParts} from '../../../sql/match-exports.ts'
import {keepModuleSize} from '../../../sql/module-sizes.ts'
import {keepRoute} from '../../../sql/run-routes.ts'
import {type Context, withSignal} from '../context.ts'
import {mayBeStale} from '../match/unchanged-records.ts'
import type {CompiledFlow, FlowField, ImportRow} from '../model.ts'
import {lagSecondsOf} from '../send/admission.ts'
import {readUnlessRefused} from '../send/crm-retry.ts'
import {chooseMatchRoute} from './choose-match.ts'
import {ExportUnusable, exportModule} from './export-module.ts'
import {type MatchIndex, openMatchIndex, valueOfText} from './match-index.ts'
import {freshMs, openRefreshAhead} from './refresh-ahead.ts'

export type SnapshotMatches = {
  /**
   * For rows whose record the export contains, fills `matches`, and `unchanged` if records are compared. Returns these rows; none if the export may
   * be stale. The caller queries the CRM for the others, so that no create is planned from an export.
   */
  match(rows: ImportRow[]): Promise<Set<ImportRow>>
  close(): Promise<void>
}

const changesAtOnce = 1_000
/** An export may lack changes that were made up to this many ms before its request, so these changes are read too. */
export const exportMarginMs = 60_000
const mostExports = 2

/** Too many records changed since the export was requested, for example because the run wrote them and then paused. A new export has them. */
class ExportOutdated extends ExportUnusable {
  override name = 'ExportOutdated'
}

/**
 * Opens the matches of a flow against an export, and stores the route and its reason. Null if the flow has no match fields, or if queries match every
 * row because the route says so or the export failed.
 */
export const openSnapshotMatches = async (ctx: Context, flow: CompiledFlow): Promise<SnapshotMatches | null> => {
  const {db, run} = ctx
  if (flow.matchFields.length === 0) return null
  // An earlier owner chose queries, perhaps because its export failed.
  if (run.routes.some(route => route.flow === flow.no && route.match === 'query')) return null
  const place = {run: run.no, flow: flow.no}
  // A new owner continues with the export of the earlier owner.
  const hasStarted = run.matchBy !== 'query' && (await listExportParts(db, place)).length > 0
  const route = hasStarted ? null : await chooseMatchRoute(ctx, flow)
  if (route) await keepRoute(db, {...place, ...route})
  if (route?.match === 'query') return null
  for (let tried = 1; ; tried++) {
    const index = openMatchIndex(flow.matchFields, flow.comparedFields ?? [])
    try {
      const askedMs = await fillIndex(ctx, flow, index)
      return await openMatches(ctx, flow, index, askedMs)
    } catch (error) {
      index.close()
      const mayRepeat = error instanceof CrmError || error instanceof ExportOutdated
      if (!mayRepeat && !(error instanceof ExportUnusable)) throw error
      ctx.log.warn({err: error}, 'the export of a module cannot be used')
      await deleteExports(db, place)
      if (mayRepeat && tried < mostExports) continue
      await keepRoute(db, {...place, match: 'query', why: error.message})
      return null
    }
  }
}

/** Fills the index from all pages. Returns the time of the earliest request of a page, in ms since 1970. */
const fillIndex = async (ctx: Context, flow: CompiledFlow, index: MatchIndex): Promise<number> => {
  const fields = fieldsOf(flow)
  let [askedMs, records] = [Number.POSITIVE_INFINITY, 0]
  for await (const page of exportModule(
    ctx,
    flow,
    fields.map(({apiName}) => apiName),
  )) {
    askedMs = Math.min(askedMs, page.askedMs)
    try {
      for await (const piece of readExportedRecords(page.file.object, ['id', ...fields.map(({apiName}) => apiName)])) {
        ctx.signal.throwIfAborted()
        index.fill(piece.map(texts => recordOf(fields, texts)))
        records += piece.length
        await yieldNow()
      }
    } finally {
      await page.file.close()
    }
  }
  await index.finish()
  await keepModuleSize(ctx.db, {connector: ctx.connection.connector.id, module: flow.module.apiName, records})
  return askedMs
}

const fieldsOf = ({matchFields, comparedFields}: CompiledFlow): FlowField[] => [
  ...new Map([...matchFields, ...(comparedFields ?? [])].map(field => [field.apiName, field])).values(),
]

const recordOf = (fields: FlowField[], [id, ...texts]: string[]): CrmRecord => ({
  ...Object.fromEntries(fields.map((field, at) => [field.apiName, valueOfText(field, texts[at]!)])),
  id: id!,
})

/** Opens the matches, and reads the changes since the export. Throws ExportUnusable if the changes cannot be read. */
const openMatches = async (outer: Context, flow: CompiledFlow, index: MatchIndex, askedMs: number): Promise<SnapshotMatches> => {
  const closing = new AbortController()
  const ctx = withSignal(outer, closing.signal)
  const {connection, db, run, lease} = ctx
  const fields = fieldsOf(flow).map(({apiName}) => apiName)
  let isOpen = false
  let problem = null as ExportUnusable | null
  let sinceMs = askedMs - exportMarginMs

  const refresh = openRefreshAhead(async () => {
    const startedMs = Date.now()
    const query = {module: flow.module.apiName, fields, sinceMs}
    const read = await readUnlessRefused(ctx, async () => ({changes: await connection.readChanges!(query, {signal: lease.lost})}))
    if (read?.changes) {
      await putChanges(index, read.changes, lease.lost)
      sinceMs = startedMs - lagSecondsOf(ctx) * 1_000
      return
    }
    problem = read
      ? new ExportOutdated('Too many records of the module changed')
      : new ExportUnusable('The changes of the module could not be read')
    if (isOpen) await keepRoute(db, {run: run.no, flow: flow.no, match: 'query', why: problem.message})
  })
  await refresh.ensureFresh()
  if (problem) throw problem
  isOpen = true

  return {
    async match(rows) {
      const known = new Set<ImportRow>()
      const isFresh = !problem && (await refresh.ensureFresh())
      // The index may lack recent writes of another run.
      if (problem || !isFresh || (await mayBeStale(ctx, flow, freshMs / 1_000))) return known
      for (const row of rows) {
        const found = row.matchKey ? index.find(row.matchKey) : []
        if (found.length === 0) continue
        known.add(row)
        row.matches = found.map(({id}) => id)
        if (flow.comparedFields && !flow.edits && !row.waitsFor && !row.pendingLinks)
          row.unchanged = found.flatMap(record => (index.holds(record, row.payload) ? [record.id] : []))
      }
      return known
    },
    async close() {
      closing.abort()
      await refresh.idle()
      index.close()
    },
  }
}

/**
 * Puts changes into the index in steps, so that other work of the process need not wait for all of them. Deleted records come last, because
 * a changed record may have been deleted afterwards.
 */
const putChanges = async (index: MatchIndex, {records, deleted}: ModuleChanges, signal: AbortSignal): Promise<void> => {
  await inSteps(records, index.put, signal)
  await inSteps(deleted, index.remove, signal)
}

const inSteps = async <T>(items: T[], step: (some: T[]) => void, signal: AbortSignal): Promise<void> => {
  for (let from = 0; from < items.length; from += changesAtOnce) {
    step(items.slice(from, from + changesAtOnce))
    await yieldNow()
    signal.throwIfAborted()
  }
}
