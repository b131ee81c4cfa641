import {prepareImport, startRun} from './bench-import.ts'
import {type Deployment, startDeployment} from './deployment.ts'
import {readSpent, setAllowance} from './matched-import.ts'
import {medianOf} from './median.ts'
import {fileOf, plain} from './rows.ts'

const rounds = 3
const rows = 100_000
const latencyMs = 400
const flow = {...plain, match: {by: ['Account_Number'], onOne: 'update', onMany: 'skip', unchanged: 'write'}}

/**
 * Measures an import of matched rows that all change, with every row read back ÷ without: credits, and seconds. Each is the median of three rounds,
 * because the stand-in takes more processor time in later imports. The edition of the CRM org is known, as it is at the latest a day after the
 * connection. So reads have slots besides those of the large calls.
 */
export const measureVerifyCost = async () => {
  const crm = ['test/simulators/crm.ts', '--control', '--latency', `${latencyMs}`, '--no-bodies', '--journal', '10']
  const deployment = await startDeployment('verify-cost', {crm, env: {CRM_LAG_SECONDS: '1'}, beside: ['credits']})
  try {
    await setAllowance(deployment)
    const [{client, org, connectorId}] = deployment.places
    await client.call('POST', `/orgs/${org}/connectors/${connectorId}/credits/check`)
    await deployment.runImport({csv: fileOf(rows, 'V-'), flow})
    const ratios: {credits: number; seconds: number}[] = []
    for (let round = 0; round < rounds; round++) {
      const off = await updateAll(deployment, {verify: 'off', round})
      const all = await updateAll(deployment, {verify: 'all', round})
      ratios.push({credits: all.credits / off.credits, seconds: all.seconds / off.seconds})
    }
    return {
      verifyCostCredits: medianOf(ratios.map(({credits}) => credits)),
      verifyCostTime: medianOf(ratios.map(({seconds}) => seconds)),
    }
  } finally {
    await deployment.stop()
  }
}

const updateAll = async (deployment: Deployment, {verify, round}: {verify: 'off' | 'all'; round: number}) => {
  const csv = Buffer.from(fileOf(rows, 'V-').toString().replaceAll('City ', `City ${verify} ${round} `))
  const before = await readSpent(deployment)
  const prepared = await prepareImport(deployment.places[0], {csv, flow})
  const [ended] = await deployment.ended([await startRun(prepared, {verify})])
  const {run} = await prepared.place.client.call<{run: {verify: {rows: number; coerced: number; changed: number}}}>(
    'GET',
    `${prepared.path}/runs/${ended!.id}`,
  )
  const expected = verify === 'all' ? rows : 0
  if (run.verify.rows !== expected || run.verify.coerced + run.verify.changed > 0)
    throw new Error(`The run verified ${JSON.stringify(run.verify)} instead of ${expected} rows`)
  return {credits: (await readSpent(deployment)) - before, seconds: ended!.seconds}
}
