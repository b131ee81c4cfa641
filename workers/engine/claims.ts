import {waitForOpenCreates} from '../../shared/takes/open-creates.ts'
import {claimRecords, listHeldElsewhere} from '../../sql/record-claims.ts'
import {overSecondsOf} from './admission.ts'
import type {Context} from './context.ts'
import type {RowMatch} from './match-lost-creates.ts'
import type {Row, Track} from './row.ts'

/**
 * Waits, up to `seconds`, until the creates that are now in flight in other runs in this module of the CRM org settle: one of them may have made the record that
 * the CRM has just named. Returns whether all settled. `wait` throws if the pass ends.
 */
export const waitForOtherRuns = (
  ctx: Context,
  {module}: Pick<Track, 'module'>,
  wait: (ms: number) => Promise<void>,
  seconds = overSecondsOf(ctx),
): Promise<boolean> => {
  const query = {...crmOrgOf(ctx), run: ctx.run.no, module: module.apiName}
  return waitForOpenCreates(ctx.db, query, {seconds, maxPauseMs: 1_000, wait})
}

/** Which of these records rows of other chains made or took over, in any of our orgs. */
export const findHeldElsewhere = async (ctx: Context, {module}: Pick<Track, 'module'>, records: string[]): Promise<Set<string>> => {
  if (records.length === 0) return new Set()
  return new Set(await listHeldElsewhere(ctx.db, {...crmOrgOf(ctx), chain: ctx.chain, module: module.apiName, records}))
}

/** Claims each matched record for its row. A row whose record another chain claimed first becomes unclear. */
export const claimForRows = async (ctx: Context, track: Track, matches: Map<Row, RowMatch>): Promise<void> => {
  const claims = [...matches].flatMap(([{key}, match]) => (match.is === 'equal' ? [{key, recordId: match.recordId}] : []))
  const granted = await claim(ctx, track, claims)
  for (const [row, match] of matches)
    if (match.is === 'equal' && !granted.has(match.recordId))
      matches.set(row, {
        is: 'unclear',
        message: `Record ${match.recordId} matches this row, but another import has claimed it. Check it in the CRM`,
      })
}

/** The records granted of those asked for. */
export const claim = async (ctx: Context, {module}: Track, claims: {key: string; recordId: string}[]): Promise<Set<string>> => {
  if (claims.length === 0) return new Set()
  return new Set(await claimRecords(ctx.db, {...crmOrgOf(ctx), run: ctx.run.no, chain: ctx.chain, module: module.no, claims}))
}

const crmOrgOf = ({connection: {connector}}: Pick<Context, 'connection'>) => ({dc: connector.dc, crmOrgId: connector.crmOrgId})
