import {assertWritable} from '../shared/crm/connectors/writing.ts'
import {CrmError, refusalOf} from '../shared/crm/error.ts'
import {Refusal} from '../shared/errors.ts'
import {runDoctor} from '../shared/jobs.ts'
import {findConnector} from '../sql/connectors.ts'
import {type DoctorReport, keepDoctorReport} from '../sql/doctor-reports.ts'
import {setJobProgress} from '../sql/jobs.ts'
import {isOpenOrg} from '../sql/orgs.ts'
import {type Work, worker} from './worker.ts'

/** Executes one doctor at a time. A doctor makes its calls one after another. */
export default worker(runDoctor, {concurrency: 1}, async ({org, connector, write}, work) => {
  if (!(await findConnector(work.db, {org, id: connector}))) throw new Refusal('CONNECTION_NOT_FOUND', 'No such connection')
  if (!(await isOpenOrg(work.db, org))) throw new Refusal('ORG_CLOSED', 'This org is closed')
  const report = await runProbesOf(work, {org, connector, write})
  await work.db.transaction(tx => keepDoctorReport(tx, {connector, report}))
  const count = (verdict: string) => report.probes.filter(probe => probe.verdict === verdict).length
  return {expected: count('expected'), different: count('different'), unknown: count('unknown'), credits: report.credits}
})

type ProbeTarget = {org: string; connector: string; write: boolean}

/** Runs the probes. If an administrator pauses writes, a doctor with writing probes stops before the next probe. */
const runProbesOf = async ({crm, db, job, signal}: Work, {org, connector, write}: ProbeTarget): Promise<DoctorReport> => {
  const onProgress = async (done: number, total: number) => {
    if (write) await assertWritable(db, {org, connector})
    await setJobProgress(db, {id: job.id, done, total, unit: 'probes'})
  }
  try {
    return await (await crm.open(connector)).runProbes({write, signal, onProgress})
  } catch (error) {
    if (signal.aborted) throw new Refusal('UNAVAILABLE', 'The worker is shutting down. Run the doctor again')
    if (error instanceof CrmError) throw refusalOf(error)
    throw error
  }
}
