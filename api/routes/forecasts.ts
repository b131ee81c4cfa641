import {z} from 'zod'
import {forecastImport} from '../../shared/jobs.ts'
import {Forecast} from '../../shared/runs/forecast/forecast.ts'
import {readForecast} from '../../shared/runs/forecast/read.ts'
import {requestForecast} from '../../shared/runs/forecast/request.ts'
import {Answer, JobWith, Moment} from '../answers/common.ts'
import {job} from '../answers/examples.ts'
import {answerJob} from '../job-response.ts'
import {OfImport} from '../params.ts'
import {route} from '../route.ts'

const ForecastAnswer = Forecast.meta({id: 'Forecast', description: 'What a run of the import would cost at the CRM'})

const QueuedForecast = Answer({job: JobWith(ForecastAnswer).describe('The job of the forecast')})

const LastForecast = Answer({
  forecast: ForecastAnswer.nullable().describe('The last forecast. Null: none was made'),
  madeAt: Moment('When it was made').nullable().describe('When it was made. Null: none was'),
  stale: z.boolean().nullable().describe("Whether files, flows, settings, answers or the CRM's fields changed since. Null: none was made"),
  due: z
    .boolean()
    .describe('Whether a new forecast may differ: none was made, it is stale or older than five minutes, or a dry run has ended since'),
})

const credits = {min: 270, max: 290}
const seconds = {p50: 8.4, p95: 25.2}
const forecast = {
  credits: {...credits, byKind: {query: {min: 6, max: 22}, create: {min: 120, max: 120}, update: {min: 0, max: 144}}},
  seconds,
  finishesAt: '2026-03-01T08:30:00.000Z',
  pausesAtRow: null,
  basis: 'last_run',
  quota: {remaining: 49_000, allowance: 50_000, isEnough: true},
  routes: [{match: 'query', write: 'records', credits, seconds, blockedBy: null}],
}

export default [
  route({
    method: 'post',
    path: '/orgs/:org/imports/:id/forecast',
    operationId: 'forecastImport',
    tag: 'Checks',
    access: {role: 'operator'},
    summary: 'Forecast the cost of a run',
    description: `Reads all rows as a run would, without calling the CRM. The result says how many API credits of the CRM and how much time a run would take. A dry run
makes the forecast narrower. If a forecast is already running, its job is returned.`,
    answers: {200: QueuedForecast, 202: QueuedForecast},
    refusals: ['IMPORT_NOT_FOUND', 'FILE_GONE', 'NOT_READY', 'NO_DISCOVERY', 'BUSY'],
    example: {answer: {job: job('import.forecast')}},
    params: OfImport,
    async handle(input) {
      const {db, queue, caller, params} = input
      const job = await db.transaction(tx => requestForecast(tx, queue, {org: caller.org, importId: params.id}))
      return answerJob(input, job, forecastImport.name)
    },
  }),
  route({
    method: 'get',
    path: '/orgs/:org/imports/:id/forecast',
    operationId: 'readForecast',
    tag: 'Checks',
    access: {role: 'operator'},
    summary: 'Read the last forecast',
    answers: {200: LastForecast},
    refusals: ['IMPORT_NOT_FOUND'],
    example: {answer: {forecast, madeAt: '2026-03-01T08:30:00.000Z', stale: false, due: false}},
    params: OfImport,
    handle: ({db, caller: {org}, params: {id}}) => readForecast(db, {org, importId: id}),
  }),
]
