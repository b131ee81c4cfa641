import {assertUnchanged, prepareImport, startRun} from './bench-import.ts'
import {type Deployment, startDeployment} from './deployment.ts'
import {medianOf} from './median.ts'
import {fileOf, plain} from './rows.ts'

const rounds = 3
const rows = 20_000
const latencyMs = 400
const crmOrg = 'example'

type Unchanged = 'skip' | 'write'

/**
 * Measures an import of matched rows that change nothing, with unchanged records skipped ÷ with each record updated: CRM credits by the
 * simulator's count, and seconds at 400 ms per call. The results are the medians of three rounds.
 */
export const measureReimport = async () => {
  const crm = ['test/simulators/crm.ts', '--control', '--latency', `${latencyMs}`, '--no-bodies', '--journal', '10']
  const deployment = await startDeployment('reimport', {crm, env: {CRM_LAG_SECONDS: '1'}})
  try {
    await postCredits(deployment, {allowance: 1_000_000})
    const csv = fileOf(rows, 'R-')
    await deployment.runImport({csv, flow: flowOf('write')})
    const measured: Record<Unchanged, Cost[]> = {skip: [], write: []}
    for (let round = 0; round < rounds; round++)
      for (const unchanged of ['write', 'skip'] as const) measured[unchanged].push(await importAgain(deployment, csv, unchanged))
    const ratio = (of: (cost: Cost) => number) => medianOf(measured.skip.map(of)) / medianOf(measured.write.map(of))
    return {reimportUnchangedCredits: ratio(({credits}) => credits), reimportUnchangedTime: ratio(({seconds}) => seconds)}
  } finally {
    await deployment.stop()
  }
}

const flowOf = (unchanged: Unchanged) => ({...plain, match: {by: ['Account_Number'], onOne: 'update', onMany: 'skip', unchanged}})

type Cost = {credits: number; seconds: number}

const importAgain = async (deployment: Deployment, csv: Buffer, unchanged: Unchanged): Promise<Cost> => {
  const before = await readSpent(deployment)
  const prepared = await prepareImport(deployment.places[0], {csv, flow: flowOf(unchanged)})
  const [ended] = await deployment.ended([await startRun(prepared)])
  await assertUnchanged(prepared, ended!.id, unchanged === 'skip' ? rows : 0)
  return {credits: (await readSpent(deployment)) - before, seconds: ended!.seconds}
}

const readSpent = async ({crmUrl}: Deployment): Promise<number> => {
  const answer = await fetch(`${crmUrl}/__sim/credits?org=${crmOrg}`)
  return ((await answer.json()) as {used: number}).used
}

const postCredits = ({crmUrl}: Deployment, change: object) =>
  fetch(`${crmUrl}/__sim/credits`, {method: 'POST', body: JSON.stringify({org: crmOrg, ...change})})
