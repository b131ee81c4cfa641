import {createHash} from 'node:crypto'
import type {Call} from './client.ts'
import {type Org, ok, readLog, untilEnded} from './importing.ts'
import {finalsOf} from './oracle.ts'

/** Makes a dry run of the import and seals its plan. */
export const makePlan = async ({call}: Pick<Org, 'call'>, path: string, body: object = {}) => {
  const {run} = await ok(call('POST', `${path}/runs`, {dryRun: true, ...body}), 202)
  const ended = await untilEnded(call, `${path}/runs/${run.id}`)
  const {plan} = await ok(call('POST', `${path}/runs/${run.id}/seal`), 200)
  return {run: ended, plan, log: await readLog(call, `${path}/runs/${run.id}`)}
}

/** Applies the plan of a dry run and returns the ended run. */
export const applyPlan = async (call: Call, path: string, planOf: string, body: object = {}) => {
  const {run} = await ok(call('POST', `${path}/runs`, {planOf, ...body}), 202)
  return untilEnded(call, `${path}/runs/${run.id}`)
}

/** Lists the numbers of the rows whose final log entry passes. */
export const rowsOf = (log: any[], is: (entry: any) => boolean): number[] =>
  [...finalsOf(log).values()]
    .filter(is)
    .map(({rowNumber}) => rowNumber)
    .sort((a, b) => a - b)

/** Returns a function that is true with the probability `share`. Equal seeds and texts give equal results. */
export const choices =
  (seed: number) =>
  (what: string, share: number): boolean =>
    createHash('sha256').update(`${seed} ${what}`).digest().readUInt32BE() / 2 ** 32 < share
