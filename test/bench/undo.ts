import {assertUnchanged, prepareImport, startRun} from './bench-import.ts'
import {type Deployment, startDeployment} from './deployment.ts'
import {medianOf} from './median.ts'
import {fileOf, plain} from './rows.ts'

const [slots, latencyMs] = [10, 400]
const [rounds, rowsWithImages] = [3, 20_000]
const rowsToUndo = 100_000

const flow = {...plain, match: {by: ['Account_Number'], onOne: 'update', onMany: 'skip', unchanged: 'write'}}
/** Returns a file of the same records with other values in one field. */
const changed = (rows: number, round: number) => Buffer.from(fileOf(rows, 'U-').toString().replaceAll('City ', `City ${round} `))

/**
 * Measures what before images cost: an import of matched rows that all change, with undo on ÷ off (seconds). Then undoes an import of updates.
 * Measures the time in flight at the stand-in ÷ (slots × wall time), from the first restore to the last, reads included.
 */
export const measureUndo = async () => {
  const crm = ['test/simulators/crm.ts', '--control', '--latency', `${latencyMs}`, '--no-bodies', '--journal', '10000']
  const env = {CRM_SLOTS: `${slots}`, CRM_LAG_SECONDS: '1'}
  const deployment = await startDeployment('undo', {crm: [...crm, '--switch', 'credits=false'], env})
  try {
    await deployment.runImport({csv: fileOf(rowsToUndo, 'U-'), flow})
    const seconds = {on: [] as number[], off: [] as number[]}
    for (let round = 1; round <= rounds; round++)
      for (const undo of ['off', 'on'] as const) {
        await setUndo(deployment, undo)
        seconds[undo].push((await update(deployment, changed(rowsWithImages, 2 * round + (undo === 'on' ? 1 : 0)))).seconds)
      }
    const {path, run} = await update(deployment, changed(rowsToUndo, 1))
    await fetch(`${deployment.crmUrl}/__sim/journal`, {method: 'DELETE'})
    const {client} = deployment.places[0]
    const begun = await client.call<{run: {id: string}}>('POST', `${path}/runs/${run}/undo`, {body: {}})
    await deployment.ended([begun.run.id])
    await assertRestored(deployment, `${path}/runs/${begun.run.id}`)
    return {undoImagesCost: medianOf(seconds.on) / medianOf(seconds.off), undoSlots: useOf(await listCalls(deployment))}
  } finally {
    await deployment.stop()
  }
}

const setUndo = ({places: [{client, org}]}: Deployment, undo: 'on' | 'off') =>
  client.call('PATCH', `/orgs/${org}/config/settings`, {body: {undo: undo === 'on' ? null : 'off'}})

const update = async (deployment: Deployment, csv: Buffer) => {
  // Earlier runs count as ended an hour ago, because a run that follows another within the CRM's lag reads each record by id.
  await deployment.query(`update runs set ended_at = ended_at - interval '1 hour' where state = 'ended'`)
  const prepared = await prepareImport(deployment.places[0], {csv, flow})
  const run = await startRun(prepared)
  const [ended] = await deployment.ended([run])
  await assertUnchanged(prepared, run, 0)
  return {path: prepared.path, run, seconds: ended!.seconds}
}

const assertRestored = async ({places: [{client}]}: Deployment, path: string) => {
  const {run} = await client.call<{run: {undo: {restored: number}}}>('GET', path)
  if (run.undo.restored !== rowsToUndo) throw new Error(`${run.undo.restored} of ${rowsToUndo} rows were restored`)
}

type Call = {from: number; to: number; method: string}

const listCalls = async ({crmUrl}: Deployment): Promise<Call[]> => {
  const answer = await fetch(`${crmUrl}/__sim/journal?module=Accounts`)
  const entries = (await answer.json()) as {at: string; ms: number; method: string}[]
  return entries.map(({at, ms, method}) => ({from: Date.parse(at) - ms, to: Date.parse(at), method}))
}

const useOf = (calls: Call[]) => {
  const writes = calls.filter(({method}) => method === 'PUT').map(({from}) => from)
  const [start, end] = [Math.min(...writes), Math.max(...writes)]
  const inFlight = calls.reduce((sum, {from, to}) => sum + Math.max(0, Math.min(to, end) - Math.max(from, start)), 0)
  return inFlight / (slots * (end - start))
}
