import {z} from 'zod'
import {impersonationRefused} from '../../shared/accounts/impersonation.ts'
import {type Code, Refusal} from '../../shared/errors.ts'
import {forecastImport as job} from '../../shared/jobs.ts'
import {type Queue, readJob} from '../../shared/queue.ts'
import {Forecast} from '../../shared/runs/forecast/forecast.ts'
import {readForecast} from '../../shared/runs/forecast/read.ts'
import {requestForecast} from '../../shared/runs/forecast/request.ts'
import type {MemberCaller} from '../access.ts'
import {waitForEnd} from '../job-response.ts'
import {tool} from './tool.ts'

const mostSeconds = 30

export const forecastImport = tool({
  name: 'forecast_import',
  title: 'Forecast an import',
  description:
    'Forecasts the CRM credits and the time that a run of an import would take, and whether the CRM quota of the day suffices. It reads the files of the import, calls no CRM and starts no run.',
  input: z.strictObject({import: z.string().max(100).describe('The id of the import')}),
  output: z.object({
    forecast: Forecast.nullable().describe('Null: not ready yet. Call the tool again'),
    madeAt: z.string().nullable().describe('When the forecast was made'),
    isReady: z.boolean(),
  }),
  async run({db, queue, caller: {org, staffView}, request}, {import: importId}, signal) {
    const {stale, due, ...last} = await readForecast(db, {org, importId})
    if (!due || (staffView && stale === false)) return {...last, isReady: true}
    assertMayStart(staffView)
    const id = await db.transaction(tx => requestForecast(tx, queue, {org, importId}))
    if (id === null) throw new Refusal('BUSY', 'The same job has just ended. Call the tool again')
    const waiter = {...request, signal: AbortSignal.any([request.signal, signal])}
    await waitForEnd({queue, request: waiter}, {id, name: job.name, seconds: mostSeconds})
    await assertNotFailed(queue, id)
    const {forecast, madeAt, due: isOld} = await readForecast(db, {org, importId})
    return isOld ? {forecast: null, madeAt: null, isReady: false} : {forecast, madeAt, isReady: true}
  },
})

/** Refuses staff views. A read-only view may start no job, and a tool does not record what a view with `write` does. */
const assertMayStart = (staffView: MemberCaller['staffView']) => {
  if (staffView?.write) throw impersonationRefused()
  if (staffView) throw new Refusal('IMPERSONATION_READ_ONLY', 'This staff view is read-only, so it cannot start a forecast')
}

/** Throws the error of the job if it was refused or failed, because calling the tool again would not help. */
const assertNotFailed = async (queue: Queue, id: string) => {
  const failure = (await readJob(queue, {name: job.name, id}))?.error
  if (!failure) return
  const {error, code, ...extra} = failure
  throw new Refusal(code as Code, error, extra)
}
