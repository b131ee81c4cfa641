import {waitForOpenCreates} from '../../../shared/runs/record-claims/open-creates.ts'
import {claimRecords, listHeldElsewhere} from '../../../sql/record-claims.ts'
import {markAnswered} from '../../../sql/sends.ts'
import type {Context} from '../context.ts'
import type {CompiledFlow, ImportRow} from '../model.ts'
import {overSecondsOf} from '../send/admission.ts'
import type {RowMatch} from './match-lost-creates.ts'

/**
 * Waits up to `seconds` for creates of other runs that are in flight in this module of the CRM org. One of them may have made the record
 * that a row is about to claim. Returns false if a create is still neither answered nor past its deadline. `wait` throws if the pass must
 * end.
 */
export const waitForOtherRuns = (
  ctx: Context,
  {module}: Pick<CompiledFlow, 'module'>,
  wait: (ms: number) => Promise<void>,
  seconds = overSecondsOf(ctx),
): Promise<boolean> => {
  const query = {...crmOrgOf(ctx), run: ctx.run.no, module: module.apiName}
  return waitForOpenCreates(ctx.db, query, {seconds, maxPauseMs: 1_000, wait})
}

/**
 * Returns those of the records that rows of other chains created or claimed. Searches runs that overlap this chain in time, in all orgs of
 * this deployment that write to the CRM org.
 */
export const findHeldElsewhere = async (ctx: Context, {module}: Pick<CompiledFlow, 'module'>, records: string[]): Promise<Set<string>> => {
  if (records.length === 0) return new Set()
  return new Set(await listHeldElsewhere(ctx.db, {...crmOrgOf(ctx), chain: ctx.chain, module: module.apiName, records}))
}

/** Claims each matched record for its row. A row whose record another chain claimed first becomes unclear. */
export const claimForRows = async (ctx: Context, flow: CompiledFlow, matches: Map<ImportRow, RowMatch>): Promise<void> => {
  const claims = [...matches].flatMap(([{key}, match]) => (match.is === 'equal' ? [{key, recordId: match.recordId}] : []))
  const granted = await claim(ctx, flow, claims)
  for (const [row, match] of matches)
    if (match.is === 'equal' && !granted.has(match.recordId))
      matches.set(row, {
        is: 'unclear',
        message: `Record ${match.recordId} matches this row, but another import has claimed it. Check it in the CRM`,
      })
}

/** Shows other runs that the CRM answered these batches, and which records they created. Other runs then need not wait for the settlement. */
export const publishAnswer = async (
  ctx: Context,
  flow: CompiledFlow,
  {batches, listMade}: {batches: number[]; listMade: () => Claim[]},
): Promise<void> => {
  await claim(ctx, flow, listMade())
  await markAnswered(ctx.hot, {run: ctx.run.no, batches})
}

export type Claim = {key: string; recordId: string}

/** Returns the ids of the records that the rows may claim. */
export const claim = async (ctx: Context, {module}: CompiledFlow, claims: Claim[]): Promise<Set<string>> => {
  if (claims.length === 0) return new Set()
  return new Set(await claimRecords(ctx.db, {...crmOrgOf(ctx), run: ctx.run.no, chain: ctx.chain, module: module.no, claims}))
}

const crmOrgOf = ({connection: {connector}}: Pick<Context, 'connection'>) => ({dc: connector.dc, crmOrgId: connector.crmOrgId})
