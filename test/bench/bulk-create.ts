import {discover} from '../stack/journey.ts'
import {assertWhole, prepareImport, startRun} from './bench-import.ts'
import {type Deployment, startDeployment} from './deployment.ts'
import type {MeasureOptions} from './figures.ts'
import {post, readSpent, setAllowance, setSwitches} from './matched-import.ts'
import {assertRecords, readEnds} from './route-state.ts'
import {fileOf, plain} from './rows.ts'

const usualRows = 200_000
const crmOrg = 'example'
const field = {name: 'Import_Key', type: 'text', length: 40, unique: true}
const flow = {...plain, automations: true}

/**
 * Measures the CRM credits of creates with an idempotency field, by bulk jobs ÷ by record calls. The CRM is compared with both files, and each row
 * must be created once on both routes. Simulated jobs end at once, so each is polled once. A job of a minute costs five more
 * polls, a credit each.
 */
export const measureBulkCreate = async ({rows = usualRows}: MeasureOptions) => {
  const crm = ['test/simulators/crm.ts', '--control', '--no-bodies', '--journal', '10']
  const deployment = await startDeployment('bulk-create', {crm, env: {CRM_LAG_SECONDS: '1'}})
  try {
    await setAllowance(deployment)
    await setSwitches(deployment, {bulkSeconds: 0, bulkRowMs: 0})
    await useIdempotencyField(deployment)
    const files = [fileOf(rows, 'A-'), fileOf(rows, 'B-')]
    const byRecords = await createAll(deployment, files[0]!, 'records')
    const byJobs = await createAll(deployment, files[1]!, 'bulk')
    await assertRecords(deployment, flow, files)
    return {bulkCreateCredits: byJobs / byRecords}
  } finally {
    await deployment.stop()
  }
}

const useIdempotencyField = async ({crmUrl, places: [{client, org, connectorId}]}: Deployment) => {
  await post(crmUrl, 'fields', {org: crmOrg, module: flow.module, field})
  await discover(client, org, connectorId)
  await client.call('PATCH', `/orgs/${org}/config/modules/${flow.module}`, {body: {idempotencyField: field.name}})
}

/** Creates a record for each row, and returns the credits. */
const createAll = async (deployment: Deployment, csv: Buffer, write: 'records' | 'bulk') => {
  const before = await readSpent(deployment)
  const prepared = await prepareImport(deployment.places[0], {csv, flow})
  const [ended] = await deployment.ended([await startRun(prepared, {write})])
  const credits = (await readSpent(deployment)) - before
  await assertWhole(prepared, ended!.id)
  const {ends} = await readEnds(prepared, ended!.id)
  if (Object.keys(ends).length !== 1) throw new Error(`The rows ended as ${JSON.stringify(ends)}`)
  return credits
}
