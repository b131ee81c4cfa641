import {type Deployment, startDeployment} from './deployment.ts'
import {medianOf} from './median.ts'
import {fileOf, plain} from './rows.ts'

const rounds = 5
const slots = 10
const latencyMs = 400
const rowsPerBatch = 100
const batches = 300

/**
 * Measures how much of its concurrency an import uses while it has rows to send: time in flight at the stand-in ÷ (10 slots × wall time), at 400
 * ms per call. The time counts from the arrival of the first full batch to that of the last. The result is the median of five runs in one
 * service.
 */
export const measureSlotUse = async () => {
  const crm = ['test/simulators/crm.ts', '--control', '--latency', `${latencyMs}`, '--no-bodies', '--journal', '10000']
  const deployment = await startDeployment('slots', {crm: [...crm, '--switch', 'credits=false'], env: {CRM_SLOTS: `${slots}`}})
  try {
    const uses: number[] = []
    for (let round = 0; round < rounds; round++) {
      await fetch(`${deployment.crmUrl}/__sim/journal`, {method: 'DELETE'})
      await deployment.runImport({csv: fileOf(batches * rowsPerBatch, `${round}-`), flow: plain})
      uses.push(useOf(await listWrites(deployment)))
    }
    return {slotUse: medianOf(uses)}
  } finally {
    await deployment.stop()
  }
}

type Call = {from: number; to: number}

/** Returns the write calls of the stand-in's journal, which notes each call when it ends. */
const listWrites = async ({crmUrl}: Deployment): Promise<Call[]> => {
  const answer = await fetch(`${crmUrl}/__sim/journal?method=POST&module=Accounts`)
  const entries = (await answer.json()) as {at: string; ms: number}[]
  return entries.map(({at, ms}) => ({from: Date.parse(at) - ms, to: Date.parse(at)}))
}

const useOf = (calls: Call[]) => {
  if (calls.length !== batches) throw new Error(`${calls.length} calls instead of ${batches} full batches`)
  const [start, end] = [Math.min(...calls.map(({from}) => from)), Math.max(...calls.map(({from}) => from))]
  const inFlight = calls.reduce((sum, {from, to}) => sum + Math.min(to, end) - from, 0)
  return inFlight / (slots * (end - start))
}
