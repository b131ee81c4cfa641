import {assertUnchanged, prepareImport, startRun} from './bench-import.ts'
import {type Deployment, startDeployment} from './deployment.ts'
import {fileOf, plain} from './rows.ts'

const rows = 60_000
const latencyMs = 400
const crmOrg = 'example'
const flow = {...plain, match: {by: ['Account_Number'], onOne: 'update', onMany: 'skip', unchanged: 'skip'}}

/** Measures an import of matched rows that change nothing, matched against an export of the module ÷ by queries. One round each. */
export const measureMatchedImport = async () => {
  const crm = ['test/simulators/crm.ts', '--control', '--latency', `${latencyMs}`, '--no-bodies', '--journal', '10']
  const deployment = await startDeployment('matched-import', {crm, env: {CRM_LAG_SECONDS: '1'}})
  try {
    await setAllowance(deployment)
    const csv = fileOf(rows, 'S-')
    await deployment.runImport({csv, flow})
    const queried = await importAgain(deployment, csv, {})
    const exported = await importAgain(deployment, csv, {match: 'snapshot'})
    return {snapshotMatchCredits: exported.credits / queried.credits, snapshotMatchSeconds: exported.seconds}
  } finally {
    await deployment.stop()
  }
}

export const setAllowance = ({crmUrl}: Deployment) =>
  fetch(`${crmUrl}/__sim/credits`, {method: 'POST', body: JSON.stringify({org: crmOrg, allowance: 1_000_000})})

const importAgain = async (deployment: Deployment, csv: Buffer, body: {match?: 'snapshot'}) => {
  const before = await readSpent(deployment)
  const prepared = await prepareImport(deployment.places[0], {csv, flow})
  const [ended] = await deployment.ended([await startRun(prepared, body)])
  await assertUnchanged(prepared, ended!.id, rows)
  return {credits: (await readSpent(deployment)) - before, seconds: ended!.seconds}
}

export const readSpent = async ({crmUrl}: Deployment): Promise<number> => {
  const answer = await fetch(`${crmUrl}/__sim/credits?org=${crmOrg}`)
  return ((await answer.json()) as {used: number}).used
}
