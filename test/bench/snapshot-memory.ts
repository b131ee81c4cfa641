import {assertUnchanged, prepareImport, startRun} from './bench-import.ts'
import {startDeployment} from './deployment.ts'
import type {MeasureOptions} from './figures.ts'
import {exportPrefix} from './generated-exports.ts'
import {peakMemoryMbOf} from './process-use.ts'
import {fileOf, plain} from './rows.ts'

const usualRecords = 5_000_000
const fileRows = 20_000
const flow = {...plain, match: {by: ['Account_Number'], onOne: 'update', onMany: 'skip', unchanged: 'skip'}}

/** Measures the memory of an imports worker that matches a file against an export of `rows` records, with eleven compared fields each. */
export const measureSnapshotMemory = async ({rows: records = usualRecords}: MeasureOptions) => {
  const crm = ['test/bench/idle-crm.ts', '--exports', `${records}`]
  const deployment = await startDeployment('snapshot-memory', {crm, env: {CRM_LAG_SECONDS: '1'}, standsStillMs: 1_800_000})
  try {
    const [place] = deployment.places
    await deployment.query('insert into crm_module_sizes (connector_id, module, records) values ($1, $2, $3)', [
      place.connectorId,
      flow.module,
      records,
    ])
    const prepared = await prepareImport(place, {csv: fileOf(fileRows, exportPrefix), flow})
    const [ended] = await deployment.ended([await startRun(prepared, {match: 'snapshot'})])
    await assertUnchanged(prepared, ended!.id, fileRows)
    return {snapshotMemoryMb: peakMemoryMbOf(deployment.pidOf('imports')), snapshotMemorySeconds: ended!.seconds}
  } finally {
    await deployment.stop()
  }
}
